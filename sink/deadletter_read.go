package sink

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"
	"strings"

	"github.com/Azure/azure-sdk-for-go/sdk/storage/azblob/blob"
	"github.com/Azure/azure-sdk-for-go/sdk/storage/azblob/container"
)

// maxLine bounds a line that is taken for a letter: several times what the
// longest body comes to as base64.
const maxLine = 1 << 20

// ReadDeadLetters returns the letters of a file, in its order. A line that is no
// letter yields an error that names it, and reading goes on: one damaged line
// hides no other letter. What follows the last line break was never
// acknowledged and yields nothing unless it is whole.
func ReadDeadLetters(r io.Reader) iter.Seq2[*DeadLetter, error] {
	return func(yield func(*DeadLetter, error) bool) {
		lines := bufio.NewReaderSize(r, maxLine)
		for number := 1; ; number++ {
			line, err := lines.ReadSlice('\n')
			long := errors.Is(err, bufio.ErrBufferFull)
			for errors.Is(err, bufio.ErrBufferFull) {
				_, err = lines.ReadSlice('\n') // the rest of a line that is too long
			}
			if err != nil && !errors.Is(err, io.EOF) {
				yield(nil, fmt.Errorf("read dead letters: %w", err))
				return
			}
			ended := err != nil
			if len(bytes.TrimSpace(line)) > 0 || long {
				letter, err := parseLetter(line, long)
				if err == nil && !yield(letter, nil) {
					return
				}
				if err != nil && !ended && !yield(nil, fmt.Errorf("line %d is no dead letter: %w", number, err)) {
					return
				}
			}
			if ended {
				return
			}
		}
	}
}

func parseLetter(line []byte, long bool) (*DeadLetter, error) {
	if long {
		return nil, fmt.Errorf("it is longer than %d bytes", maxLine)
	}
	letter := new(DeadLetter)
	if err := json.Unmarshal(line, letter); err != nil {
		return nil, err
	}
	if letter.Reason == "" {
		return nil, errors.New("it has no reason")
	}
	return letter, nil
}

// ReadBlobDeadLetters returns the letters of a container that [BlobDeadLetters]
// writes to, in the order of the blobs' names, which is that of their first
// letters. An error that is no line's ends the reading.
func ReadBlobDeadLetters(ctx context.Context, c *container.Client) iter.Seq2[*DeadLetter, error] {
	return func(yield func(*DeadLetter, error) bool) {
		for name, err := range letterBlobs(ctx, c) {
			if err != nil {
				yield(nil, fmt.Errorf("list dead letters: %w", err))
				return
			}
			if !readBlob(ctx, c, name, yield) {
				return
			}
		}
	}
}

// letterBlobs lists the blobs that hold letters; the service sorts by name.
func letterBlobs(ctx context.Context, c *container.Client) iter.Seq2[string, error] {
	return func(yield func(string, error) bool) {
		for pages := c.NewListBlobsFlatPager(nil); pages.More(); {
			page, err := pages.NextPage(ctx)
			if err != nil {
				yield("", Brief(err))
				return
			}
			for _, item := range page.Segment.BlobItems {
				if strings.HasSuffix(*item.Name, ".ndjson") && !yield(*item.Name, nil) {
					return
				}
			}
		}
	}
}

// readBlob yields the letters of one blob and returns whether to go on.
func readBlob(ctx context.Context, c *container.Client, name string, yield func(*DeadLetter, error) bool) bool {
	response, err := c.NewBlobClient(name).DownloadStream(ctx, nil)
	if err != nil {
		yield(nil, fmt.Errorf("read %s: %w", name, Brief(err)))
		return false
	}
	body := response.NewRetryReader(ctx, &blob.RetryReaderOptions{})
	defer func() { _ = body.Close() }() // it was only read
	for letter, err := range ReadDeadLetters(body) {
		if err != nil {
			err = fmt.Errorf("%s: %w", name, err)
		}
		if !yield(letter, err) {
			return false
		}
	}
	return true
}
