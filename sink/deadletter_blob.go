package sink

import (
	"bytes"
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore"
	"github.com/Azure/azure-sdk-for-go/sdk/azcore/streaming"
	"github.com/Azure/azure-sdk-for-go/sdk/storage/azblob/appendblob"
	"github.com/Azure/azure-sdk-for-go/sdk/storage/azblob/blob"
	"github.com/Azure/azure-sdk-for-go/sdk/storage/azblob/bloberror"
	"github.com/Azure/azure-sdk-for-go/sdk/storage/azblob/container"
	"github.com/google/uuid"
)

// Append blobs are rolled well before the service's own limits: 50,000 blocks
// a blob, 4 MiB a block (learn.microsoft.com/azure/storage/blobs/scalability-targets).
const (
	maxBlocks    = 40_000
	maxBlobBytes = 256 << 20
	maxBlock     = 4 << 20
)

// BlobDeadLetters appends dead letters to append blobs of an Azure Storage
// container that must exist. A blob is named
//
//	2026/11/30/120000.000-<writer>.ndjson
//
// after the UTC time of its first letter and a random id of this process, so
// that replicas never share one; a new one is begun with each UTC day and when
// one is full. It is safe for concurrent use.
type BlobDeadLetters struct {
	container *container.Client
	writer    string
	now       func() time.Time

	mu     sync.Mutex // covers the blob in use; held during a request, appends have one order
	blob   *appendblob.Client
	day    string
	blocks int
	length int64
}

// NewBlobDeadLetters returns a writer into the container. No request is made
// before the first letter.
func NewBlobDeadLetters(c *container.Client, now func() time.Time) *BlobDeadLetters {
	return &BlobDeadLetters{container: c, writer: uuid.NewString()[:8], now: now}
}

// Put appends the letters and returns when the service has them. After an
// error some may be there already: putting all of them again is right, a letter
// twice is better than none.
func (b *BlobDeadLetters) Put(ctx context.Context, letters []DeadLetter) error {
	blocks, err := linesOf(letters)
	if err != nil {
		return err
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, block := range blocks {
		if err := b.append(ctx, block); err != nil {
			return fmt.Errorf("append dead letters: %w", Brief(err))
		}
	}
	return nil
}

// append writes one block to the blob in use, or to a new one.
func (b *BlobDeadLetters) append(ctx context.Context, block []byte) error {
	now := b.now().UTC()
	if b.blob == nil || b.day != now.Format(time.DateOnly) || b.blocks >= maxBlocks || b.length+int64(len(block)) > maxBlobBytes {
		if err := b.roll(ctx, now); err != nil {
			return err
		}
	}
	// The condition tells a block that was written although its answer got lost
	// from one that was not.
	at := b.length
	_, err := b.blob.AppendBlock(ctx, streaming.NopCloser(bytes.NewReader(block)), &appendblob.AppendBlockOptions{
		AppendPositionAccessConditions: &appendblob.AppendPositionAccessConditions{AppendPosition: &at},
	})
	if bloberror.HasCode(err, bloberror.AppendPositionConditionNotMet) {
		var written bool
		if written, err = b.written(ctx, at+int64(len(block))); err == nil && !written {
			err = fmt.Errorf("somebody else writes to %s", b.blob.URL())
		}
	}
	if err != nil {
		b.blob = nil // whatever it is, a fresh blob is a clean start
		return err
	}
	b.blocks++
	b.length += int64(len(block))
	return nil
}

// written tells whether the blob is exactly as long as it would be with the block.
func (b *BlobDeadLetters) written(ctx context.Context, length int64) (bool, error) {
	properties, err := b.blob.GetProperties(ctx, nil)
	if err != nil {
		return false, err
	}
	return properties.ContentLength != nil && *properties.ContentLength == length, nil
}

// roll begins a new blob.
func (b *BlobDeadLetters) roll(ctx context.Context, now time.Time) error {
	name := now.Format("2006/01/02/150405.000-") + b.writer + ".ndjson"
	client := b.container.NewAppendBlobClient(name)
	contentType, none := "application/x-ndjson", azcore.ETagAny
	_, err := client.Create(ctx, &appendblob.CreateOptions{
		HTTPHeaders:      &blob.HTTPHeaders{BlobContentType: &contentType},
		AccessConditions: &blob.AccessConditions{ModifiedAccessConditions: &blob.ModifiedAccessConditions{IfNoneMatch: &none}},
	})
	if err != nil {
		return fmt.Errorf("begin %s: %w", name, err)
	}
	b.blob, b.day, b.blocks, b.length = client, now.Format(time.DateOnly), 0, 0
	return nil
}

// linesOf encodes letters as lines, cut into blocks of at most maxBlock bytes.
// One letter is far smaller than a block: its body is capped.
func linesOf(letters []DeadLetter) ([][]byte, error) {
	var blocks [][]byte
	var block []byte
	for i := range letters {
		line, err := letters[i].line()
		if err != nil {
			return nil, err
		}
		if len(block)+len(line) > maxBlock {
			blocks, block = append(blocks, block), nil
		}
		block = append(block, line...)
	}
	return append(blocks, block), nil
}

// Check tries whether the container can be appended to, with a blob of its own
// that it removes again.
func (b *BlobDeadLetters) Check(ctx context.Context) error {
	name := "warmpath-check/" + uuid.NewString()
	client := b.container.NewAppendBlobClient(name)
	if _, err := client.Create(ctx, nil); err != nil {
		return fmt.Errorf("write %s: %w", name, Brief(err))
	}
	if _, err := client.Delete(ctx, nil); err != nil {
		return fmt.Errorf("remove %s: %w", name, Brief(err))
	}
	return nil
}
