package cases

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"time"

	"warmpath/geo"
	"warmpath/processor"
)

// Case is one message and what must become of each position in it.
type Case struct {
	Group    string                     `json:"group"`
	Name     string                     `json:"name"`
	Event    Event                      `json:"event"`
	Settings map[string]json.RawMessage `json:"settings"` // see Rules
	Expect   Outcome                    `json:"expect"`
}

// Event is the message of a case.
type Event struct {
	Body              string          `json:"body"`
	BodyBase64        []byte          `json:"bodyBase64"`
	ContentType       string          `json:"contentType"`
	ContentEncoding   string          `json:"contentEncoding"`
	SystemProperties  map[string]any  `json:"systemProperties"`
	EnqueuedAgoMillis json.RawMessage `json:"enqueuedAgoMillis"`
}

// Load reads cases, one a line; blank lines do not count. The error names the
// line that is no case.
func Load(r io.Reader) ([]Case, error) {
	text, err := io.ReadAll(r)
	if err != nil {
		return nil, fmt.Errorf("read cases: %w", err)
	}
	var cases []Case
	number := 0
	for line := range bytes.Lines(text) {
		number++
		if len(bytes.TrimSpace(line)) == 0 {
			continue
		}
		var c Case
		if err := json.Unmarshal(line, &c); err != nil {
			return nil, fmt.Errorf("read cases: line %d: %w", number, err)
		}
		cases = append(cases, c)
	}
	return cases, nil
}

// String is the case's full name.
func (c *Case) String() string {
	switch {
	case c.Group == "":
		return c.Name
	case c.Name == "":
		return c.Group
	default:
		return c.Group + "/" + c.Name
	}
}

// Bytes returns the body.
func (e *Event) Bytes() []byte {
	if e.BodyBase64 != nil {
		return e.BodyBase64
	}
	return []byte(e.Body)
}

// Enqueued returns when the hub took the message, which is received at the given
// moment; it is zero when the hub does not say.
func (e *Event) Enqueued(received time.Time) (time.Time, error) {
	ago := int64(1000)
	switch string(e.EnqueuedAgoMillis) {
	case "":
	case "null":
		return time.Time{}, nil
	default:
		if err := json.Unmarshal(e.EnqueuedAgoMillis, &ago); err != nil {
			return time.Time{}, fmt.Errorf("enqueuedAgoMillis: %w", err)
		}
	}
	return received.Add(-time.Duration(ago) * time.Millisecond), nil
}

// Message is the event as the processor sees it.
func (e *Event) Message(received time.Time) (processor.Message, error) {
	enqueued, err := e.Enqueued(received)
	if err != nil {
		return processor.Message{}, err
	}
	text := func(name string) string {
		s, _ := e.SystemProperties[name].(string)
		return s
	}
	return processor.Message{
		Event: geo.Event{
			Body:            e.Bytes(),
			ContentType:     e.ContentType,
			ContentEncoding: e.ContentEncoding,
			HubDeviceID:     text("iothub-connection-device-id"),
			ModuleID:        text("iothub-connection-module-id"),
			MessageSource:   text("iothub-message-source"),
		},
		Enqueued: enqueued,
	}, nil
}

// Run tells what becomes of the case's message under the case's settings on top
// of the given ones.
func (c *Case) Run(base Rules, received time.Time) (Outcome, error) {
	rules, err := c.Rules(base)
	if err != nil {
		return Outcome{}, err
	}
	message, err := c.Event.Message(received)
	if err != nil {
		return Outcome{}, err
	}
	previews, err := rules.Preview([]processor.Message{message}, received)
	if err != nil {
		return Outcome{}, err
	}
	return outcomeOf(previews), nil
}
