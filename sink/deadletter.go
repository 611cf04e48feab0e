package sink

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"sync"
	"time"

	"warmpath/geo"
)

// MaxDeadLetterBody is how many bytes of a body a dead letter keeps.
const MaxDeadLetterBody = 64 << 10

// DeadLetter is a position that could not be written, with all that is needed
// to find it again or to send it once more. It is stored as one line of JSON.
type DeadLetter struct {
	Reason         string    `json:"reason"`
	Partition      string    `json:"partition"`
	Offset         string    `json:"offset"`
	SequenceNumber int64     `json:"sequenceNumber"`
	Index          int       `json:"index"` // of the position within its event
	EnqueuedTime   time.Time `json:"enqueuedTime"`
	DeviceID       string    `json:"deviceId,omitempty"` // where known
	Error          string    `json:"error"`
	Body           []byte    `json:"body"`                // base64, of the whole event
	Truncated      bool      `json:"truncated,omitempty"` // the body was longer than MaxDeadLetterBody

	// What the hub said of the message beside its body: without it the body of
	// some messages reads as something else, or as somebody else's.
	ContentType     string `json:"contentType,omitempty"`
	ContentEncoding string `json:"contentEncoding,omitempty"`
	HubDeviceID     string `json:"hubDeviceId,omitempty"` // of the sender
	ModuleID        string `json:"moduleId,omitempty"`    // of the sender, where it is a module
}

// Event is the message as geo decodes it. Its body is cut where Truncated says so.
func (d *DeadLetter) Event() geo.Event {
	return geo.Event{
		Body:            d.Body,
		ContentType:     d.ContentType,
		ContentEncoding: d.ContentEncoding,
		HubDeviceID:     d.HubDeviceID,
		ModuleID:        d.ModuleID,
	}
}

// KeepEvent sets what Event gives back; the body is cut to MaxDeadLetterBody.
func (d *DeadLetter) KeepEvent(e *geo.Event) {
	d.ContentType, d.ContentEncoding = e.ContentType, e.ContentEncoding
	d.HubDeviceID, d.ModuleID = e.HubDeviceID, e.ModuleID
	d.KeepBody(e.Body)
}

// KeepBody sets the body, cut to MaxDeadLetterBody.
func (d *DeadLetter) KeepBody(body []byte) {
	d.Truncated = len(body) > MaxDeadLetterBody
	d.Body = body[:min(len(body), MaxDeadLetterBody)]
}

// line is the letter as JSON with a line break.
func (d *DeadLetter) line() ([]byte, error) {
	line, err := json.Marshal(d)
	if err != nil {
		return nil, fmt.Errorf("encode dead letter: %w", err)
	}
	return append(line, '\n'), nil
}

// FileDeadLetters appends dead letters to a file. It is safe for concurrent use.
type FileDeadLetters struct {
	mu   sync.Mutex // covers file and size
	file *os.File
	size int64 // of the whole lines
}

// OpenFileDeadLetters opens or creates the file for appending. Whatever a
// crash left of an unfinished last line is cut off: it was never acknowledged.
func OpenFileDeadLetters(path string) (*FileDeadLetters, error) {
	file, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, fmt.Errorf("open dead letters: %w", err)
	}
	size, err := wholeLines(file)
	if err == nil {
		err = file.Truncate(size)
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("open dead letters %s: %w", path, err), file.Close())
	}
	return &FileDeadLetters{file: file, size: size}, nil
}

// wholeLines returns the length of the file up to its last line break.
func wholeLines(file *os.File) (int64, error) {
	info, err := file.Stat()
	if err != nil {
		return 0, err
	}
	end := info.Size()
	chunk := make([]byte, 64<<10)
	for end > 0 {
		start := max(0, end-int64(len(chunk)))
		n, err := file.ReadAt(chunk[:end-start], start)
		if err != nil {
			return 0, err
		}
		for i := n - 1; i >= 0; i-- {
			if chunk[i] == '\n' {
				return start + int64(i) + 1, nil
			}
		}
		end = start
	}
	return 0, nil
}

// Put appends the letters and returns when they are on disk. After an error
// none of them is in the file.
func (f *FileDeadLetters) Put(_ context.Context, letters []DeadLetter) error {
	var lines []byte
	for i := range letters {
		line, err := letters[i].line()
		if err != nil {
			return err
		}
		lines = append(lines, line...)
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	_, err := f.file.WriteAt(lines, f.size)
	if err == nil {
		err = f.file.Sync()
	}
	if err != nil {
		// What is half written lies beyond size: the next Put overwrites it.
		return errors.Join(fmt.Errorf("write dead letters: %w", err), f.file.Truncate(f.size))
	}
	f.size += int64(len(lines))
	return nil
}

// Close closes the file.
func (f *FileDeadLetters) Close() error { return f.file.Close() }
