package geo_test

import (
	"bufio"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"warmpath/geo"
)

// payloadCase is one line of testdata/payloads.jsonl: what a message carries
// and what must become of each position in it.
type payloadCase struct {
	Group, Name string
	Event       struct {
		Body, BodyBase64             string
		ContentType, ContentEncoding string
		SystemProperties             map[string]string
		EnqueuedAgoMillis            json.RawMessage
	}
	Settings struct{ PartitionKeyPath string }
	Expect   outcome
}

// outcome is what became of the positions of one event.
type outcome struct {
	Written      []writtenDocument
	Dropped      map[geo.Reason]int
	DeadLettered map[geo.Reason]int
	Superseded   int
}

type writtenDocument struct {
	ID, DeviceID, DeliveryID string
	Coordinates              []float64
	Properties               map[string]any
}

const maxAge = 5 * time.Minute

func loadCases(t testing.TB) []payloadCase {
	t.Helper()
	file, err := os.Open(filepath.Join("testdata", "payloads.jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	var cases []payloadCase
	lines := bufio.NewScanner(file)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		var c payloadCase
		if err := json.Unmarshal(lines.Bytes(), &c); err != nil {
			t.Fatal(err)
		}
		cases = append(cases, c)
	}
	if err := lines.Err(); err != nil {
		t.Fatal(err)
	}
	return cases
}

func (c *payloadCase) event(t testing.TB) *geo.Event {
	t.Helper()
	body := []byte(c.Event.Body)
	if c.Event.BodyBase64 != "" {
		var err error
		if body, err = base64.StdEncoding.DecodeString(c.Event.BodyBase64); err != nil {
			t.Fatal(err)
		}
	}
	return &geo.Event{
		Body:            body,
		ContentType:     c.Event.ContentType,
		ContentEncoding: c.Event.ContentEncoding,
		HubDeviceID:     c.Event.SystemProperties["iothub-connection-device-id"],
		ModuleID:        c.Event.SystemProperties["iothub-connection-module-id"],
		MessageSource:   c.Event.SystemProperties["iothub-message-source"],
	}
}

func (c *payloadCase) age() time.Duration {
	ms := int64(1000)
	if c.Event.EnqueuedAgoMillis != nil {
		_ = json.Unmarshal(c.Event.EnqueuedAgoMillis, &ms) // null is no age: the default does
	}
	return time.Duration(ms) * time.Millisecond
}

// settle gives every verdict its place and keeps the newest position of each document.
func settle(t testing.TB, items []geo.Item) outcome {
	t.Helper()
	got := outcome{Dropped: map[geo.Reason]int{}, DeadLettered: map[geo.Reason]int{}}
	type document struct{ key, id string }
	newest := map[document]geo.Order{}
	for i, item := range items {
		switch item.Reason {
		case "":
			at := geo.Order{Enqueued: 1, Sequence: 1, Index: i}
			doc := document{item.Key, item.DocumentID}
			if held, ok := newest[doc]; ok {
				got.Superseded++
				if !at.Newer(held) {
					continue
				}
			}
			newest[doc] = at
		case geo.Stale, geo.OtherSensor, geo.NotTelemetry:
			got.Dropped[item.Reason]++
		default:
			got.DeadLettered[item.Reason]++
			if item.Err == nil {
				t.Errorf("%s without a detail", item.Reason)
			}
		}
	}
	for i, item := range items {
		if item.Reason != "" || newest[document{item.Key, item.DocumentID}].Index != i {
			continue
		}
		var doc struct {
			ID, DeviceID, DeliveryID string
			Geometry                 struct{ Coordinates []float64 }
			Properties               map[string]any
		}
		body := geo.AppendDocument(nil, item.DocumentID, &item.Position, &source, 0)
		if err := json.Unmarshal(body, &doc); err != nil {
			t.Errorf("document %s: %v", body, err)
		}
		got.Written = append(got.Written, writtenDocument{doc.ID, doc.DeviceID, doc.DeliveryID, doc.Geometry.Coordinates, doc.Properties})
	}
	return got
}

// check compares what was named; what was not named must be zero.
func (want *outcome) check(got outcome) error {
	if !maps.Equal(got.Dropped, want.Dropped) || !maps.Equal(got.DeadLettered, want.DeadLettered) || got.Superseded != want.Superseded {
		return fmt.Errorf("dropped %v, dead-lettered %v, superseded %d; want %v, %v, %d",
			got.Dropped, got.DeadLettered, got.Superseded, want.Dropped, want.DeadLettered, want.Superseded)
	}
	if len(got.Written) != len(want.Written) {
		return fmt.Errorf("written %v, want %v", got.Written, want.Written)
	}
	for i, w := range want.Written {
		g := got.Written[i]
		if g.ID != w.ID || !slices.Equal(g.Coordinates, w.Coordinates) ||
			w.DeviceID != "" && g.DeviceID != w.DeviceID || w.DeliveryID != "" && g.DeliveryID != w.DeliveryID {
			return fmt.Errorf("written %v, want %v", g, w)
		}
		for name, value := range w.Properties {
			if !sameProperty(g.Properties[name], value) {
				return fmt.Errorf("%s of %s is %v, want %v", name, g.ID, g.Properties[name], value)
			}
		}
	}
	return nil
}

func sameProperty(got, want any) bool {
	switch want := want.(type) {
	case float64:
		number, ok := got.(float64)
		return ok && math.Abs(number-want) <= 1e-4
	case string:
		text, ok := got.(string)
		at, errGot := time.Parse(time.RFC3339, text)
		wantAt, errWant := time.Parse(time.RFC3339, want)
		return ok && (text == want || errGot == nil && errWant == nil && at.Equal(wantAt))
	default:
		return got == want
	}
}

// TestPayloadCases runs every payload that fleets are known to send.
func TestPayloadCases(t *testing.T) {
	cases := loadCases(t)
	if len(cases) != 89 {
		t.Errorf("%d cases, want 89", len(cases))
	}
	for _, c := range cases {
		t.Run(c.Group+"/"+c.Name, func(t *testing.T) {
			d := newDecoder(t, func(cfg *geo.Config) {
				if c.Settings.PartitionKeyPath != "" {
					cfg.KeyPath = c.Settings.PartitionKeyPath
				}
			})
			ev := c.event(t)
			decode := d.Decode
			if c.age() > maxAge {
				decode = d.DecodeStale
			}
			before := string(ev.Body)
			items := decode(nil, ev)
			if got := d.Count(ev); got != len(items) {
				t.Errorf("count is %d, want %d", got, len(items))
			}
			if string(ev.Body) != before {
				t.Error("decoding has changed the body")
			}
			if err := c.Expect.check(settle(t, items)); err != nil {
				t.Errorf("%.200s: %v", strings.ToValidUTF8(before, "."), err)
			}
		})
	}
}
