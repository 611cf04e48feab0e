package app

import (
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"iter"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore"
	"github.com/Azure/azure-sdk-for-go/sdk/azidentity"

	"warmpath/processor"
	"warmpath/sink"
)

// LetterStore says where dead letters are kept, by the settings that run has
// for it.
type LetterStore struct {
	StorageConnectionString Secret `help:"Azure Storage connection string, or file:PATH. Without it, --storage-endpoint and the process's identity are used." group:"Storage"`
	StorageEndpoint         string `help:"Blob service, such as https://fleet.blob.core.windows.net/." group:"Storage"`
	DeadLetterStore         string `help:"Where dead letters are kept: blob or file." enum:"blob,file" default:"blob" group:"Storage"`
	DeadLetterContainer     string `help:"Blob container of dead letters; it must exist." default:"deadletters" group:"Storage"`
	DeadLetterFile          string `help:"File of dead letters, one JSON object a line." default:"deadletters.ndjson" group:"Storage"`
	Cloud                   string `help:"Cloud of the process's identity." enum:"public,government,china" default:"public" group:"Running"`
}

// Validate names the setting that is wrong.
func (s *LetterStore) Validate() error {
	switch {
	case s.DeadLetterStore == "blob" && s.StorageConnectionString == "" && s.StorageEndpoint == "":
		return errors.New("--storage-connection-string and --storage-endpoint are both empty, with --dead-letter-store=blob one of them is needed")
	case s.StorageConnectionString != "" && s.StorageEndpoint != "":
		return fmt.Errorf("--storage-endpoint is %q, but --storage-connection-string is given as well: one of them is needed", s.StorageEndpoint)
	default:
		return nil
	}
}

// letterStore is the part of the service's settings that tells where dead letters
// are.
func (c *Config) letterStore() LetterStore {
	return LetterStore{
		StorageConnectionString: c.StorageConnectionString, StorageEndpoint: c.StorageEndpoint,
		DeadLetterStore: c.DeadLetterStore, DeadLetterContainer: c.DeadLetterContainer, DeadLetterFile: c.DeadLetterFile,
		Cloud: c.Cloud,
	}
}

// letter is a dead letter with its number in the store, from 1. Letters are only
// ever appended, so that a number stays until old blobs are removed.
type letter struct {
	*sink.DeadLetter
	number int
}

// letters yields all letters in the order of the store, or errors of what is no
// letter; after an error of the store itself there are no more.
func (s *LetterStore) letters(ctx context.Context) (iter.Seq2[letter, error], error) {
	read, err := s.read(ctx)
	if err != nil {
		return nil, err
	}
	return func(yield func(letter, error) bool) {
		number := 0
		for l, err := range read {
			if err == nil {
				number++
			}
			if !yield(letter{l, number}, err) {
				return
			}
		}
	}, nil
}

func (s *LetterStore) read(ctx context.Context) (iter.Seq2[*sink.DeadLetter, error], error) {
	if s.DeadLetterStore == "blob" {
		var credential azcore.TokenCredential
		if s.StorageConnectionString == "" {
			identity, err := azidentity.NewDefaultAzureCredential(&azidentity.DefaultAzureCredentialOptions{
				ClientOptions: azcore.ClientOptions{Cloud: clouds[s.Cloud]},
			})
			if err != nil {
				return nil, fmt.Errorf("find the process's identity: %w", err)
			}
			credential = identity
		}
		c := Config{StorageConnectionString: s.StorageConnectionString, StorageEndpoint: s.StorageEndpoint}
		container, err := c.blobContainer("--dead-letter-container", s.DeadLetterContainer, credential)
		if err != nil {
			return nil, err
		}
		return sink.ReadBlobDeadLetters(ctx, container), nil
	}
	return func(yield func(*sink.DeadLetter, error) bool) {
		file, err := os.Open(s.DeadLetterFile)
		if err != nil {
			yield(nil, fmt.Errorf("--dead-letter-file: %w", err))
			return
		}
		defer func() { _ = file.Close() }() // it was only read
		sink.ReadDeadLetters(file)(yield)
	}, nil
}

// Selection chooses among dead letters.
type Selection struct {
	Reason []string `help:"Only letters of these reasons." env:"-" placeholder:"REASON" group:"Selection"`
	Since  Since    `help:"Only letters of messages that the hub took since then: a time such as 2026-11-30T12:00:00Z, or how long ago, such as 24h." env:"-" placeholder:"WHEN" group:"Selection"`
}

// Since is a moment, given as a time or as how long ago it was.
type Since struct {
	at  time.Time
	ago time.Duration
}

// UnmarshalText implements [encoding.TextUnmarshaler].
func (s *Since) UnmarshalText(text []byte) error {
	if ago, err := time.ParseDuration(string(text)); err == nil && ago >= 0 {
		*s = Since{ago: ago}
		return nil
	}
	at, err := time.Parse(time.RFC3339, string(text))
	if err != nil {
		return fmt.Errorf("%q is neither a time such as 2026-11-30T12:00:00Z nor a duration such as 24h", text)
	}
	*s = Since{at: at}
	return nil
}

// time returns the moment, zero when none was given.
func (s Since) time(now time.Time) time.Time {
	if s.ago > 0 {
		return now.Add(-s.ago)
	}
	return s.at
}

func (s *Selection) matches(l letter, now time.Time) bool {
	return (len(s.Reason) == 0 || slices.Contains(s.Reason, l.Reason)) && !l.EnqueuedTime.Before(s.Since.time(now))
}

// DeadLetterList is how dead letters are listed.
type DeadLetterList struct {
	LetterStore
	Selection
}

// List writes a table of the chosen letters to out. What is no letter is told to
// complain, and is an error in the end.
func (d *DeadLetterList) List(ctx context.Context, now time.Time, out, complain io.Writer) error {
	letters, err := d.letters(ctx)
	if err != nil {
		return err
	}
	const row = "%6v  %-24s  %-21s  %-9s  %12v  %-24s  %s\n"
	fmt.Fprintf(out, row, "number", "time", "reason", "partition", "sequence", "device", "error")
	var damaged error
	for l, err := range letters {
		if err != nil {
			damaged = errDamaged
			fmt.Fprintln(complain, "warmpath:", err)
			continue
		}
		if d.matches(l, now) {
			fmt.Fprintf(out, row, l.number, timestamp(l.EnqueuedTime), printable(l.Reason), printable(l.Partition), l.SequenceNumber,
				printable(l.DeviceID), printable(l.Error))
		}
	}
	return damaged
}

// errDamaged is the end of a reading that met what is no letter; what it was has
// been told.
var errDamaged = errors.New("not everything could be read as a dead letter")

// DeadLetterShow is how one dead letter is shown.
type DeadLetterShow struct {
	LetterStore
	Decoding
	KeyPath string `help:"Partition key path of the container: /deviceId, /deliveryId or /id." enum:"/deviceId,/deliveryId,/id" default:"/deviceId" group:"Documents"`
}

// Validate names the setting that is wrong.
func (d *DeadLetterShow) Validate() error {
	return errors.Join(d.LetterStore.Validate(), d.validateDecoding())
}

// Show writes everything about one letter, and what the settings of now would
// make of it. With raw it writes the body alone, as it came.
func (d *DeadLetterShow) Show(ctx context.Context, number int, raw bool, now time.Time, out io.Writer) error {
	letters, err := d.letters(ctx)
	if err != nil {
		return err
	}
	var damaged error
	for l, err := range letters {
		switch {
		case err != nil:
			damaged = err
		case l.number == number && raw:
			_, err := out.Write(l.Body)
			return err
		case l.number == number:
			return d.show(l, now, out)
		}
	}
	return errors.Join(fmt.Errorf("there is no dead letter %d", number), damaged)
}

func (d *DeadLetterShow) show(l letter, now time.Time, out io.Writer) error {
	field := func(name, value string) {
		if value != "" {
			fmt.Fprintf(out, "%-17s %s\n", name, printable(value))
		}
	}
	field("number", strconv.Itoa(l.number))
	field("reason", l.Reason)
	field("error", l.Error)
	field("device", l.DeviceID)
	field("time", timestamp(l.EnqueuedTime))
	field("partition", l.Partition)
	field("sequence", strconv.FormatInt(l.SequenceNumber, 10))
	field("offset", l.Offset)
	field("index", strconv.Itoa(l.Index))
	field("hub device", l.HubDeviceID)
	field("hub module", l.ModuleID)
	field("content type", l.ContentType)
	field("content encoding", l.ContentEncoding)
	body := fmt.Sprintf("%d bytes", len(l.Body))
	if l.Truncated {
		body += ", the first of a body that was longer"
	}
	field("body", body)
	fmt.Fprintf(out, "\n%s\n", readable(l.Body))

	config := processor.DefaultConfig()
	config.KeyIsID = d.KeyPath == "/id"
	reader, err := newLetterReader(d.decoding(d.KeyPath), config)
	if err != nil {
		return err
	}
	previews, err := reader.read(l, now)
	if err != nil {
		_, err = fmt.Fprintf(out, "\nnow: cannot be sent again, %v\n", err)
		return err
	}
	for i := range previews {
		line, err := verdictLine(&previews[i])
		if err != nil {
			return err
		}
		fmt.Fprintf(out, "\nnow: %s\n", line)
	}
	return nil
}

func timestamp(t time.Time) string {
	if t.IsZero() {
		return ""
	}
	return t.UTC().Format("2006-01-02T15:04:05.000Z07:00")
}

// printable is text for one field of a line: what a device has sent must not
// move a terminal's cursor.
func printable(s string) string {
	if strings.IndexFunc(s, func(r rune) bool { return r == utf8.RuneError || !unicode.IsPrint(r) }) < 0 {
		return s
	}
	quoted := strconv.Quote(s)
	return quoted[1 : len(quoted)-1]
}

// readable is a body for the eye: text line by line, anything else in hexadecimal.
func readable(body []byte) string {
	if !utf8.Valid(body) {
		return strings.TrimSuffix(hex.Dump(body), "\n")
	}
	lines := strings.Split(string(body), "\n")
	for i := range lines {
		lines[i] = printable(strings.TrimSuffix(lines[i], "\r"))
	}
	return strings.Join(lines, "\n")
}
