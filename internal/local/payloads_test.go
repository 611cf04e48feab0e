package local

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/messaging/azeventhubs/v2"

	"warmpath/internal/app"
	"warmpath/internal/cases"
	"warmpath/internal/emulator/amqp"
	"warmpath/internal/emulator/eventhubs"
	"warmpath/processor"
	"warmpath/sink"
	"warmpath/telemetry"
)

// Every payload that fleets are known to send goes the whole way: into a hub as
// AMQP with its properties and annotations, through the service, into the
// container or the dead letters. Each case has a hub partition of its own, and a
// moment of its own on the service's clock.
func TestPayloads(t *testing.T) {
	file, err := os.Open(filepath.Join("..", "..", "geo", "testdata", "payloads.jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = file.Close() }()
	all, err := cases.Load(file)
	if err != nil {
		t.Fatal(err)
	}
	if len(all) != 89 {
		t.Errorf("%d cases, want 89", len(all))
	}
	byKeyPath := map[string][]cases.Case{}
	for _, c := range all {
		rules, err := c.Rules(cases.Rules{PartitionKeyPath: "/deviceId"})
		if err != nil {
			t.Fatal(err)
		}
		byKeyPath[rules.PartitionKeyPath] = append(byKeyPath[rules.PartitionKeyPath], c)
	}
	for keyPath, group := range byKeyPath {
		// Cases share drones, and a newer position must not be in the way of an
		// older one: the oldest come first.
		slices.SortStableFunc(group, func(a, b cases.Case) int { return enqueued(t, &a, time.Time{}).Compare(enqueued(t, &b, time.Time{})) })
		for _, writer := range []string{"point", "bulk"} {
			t.Run(writer+keyPath, func(t *testing.T) {
				p := newPayloads(t, keyPath, writer, len(group))
				for i := range group {
					t.Run(group[i].String(), func(t *testing.T) { p.try(t, strconv.Itoa(i), &group[i]) })
				}
				p.letters(t)
			})
		}
	}
}

// enqueued is when the hub takes a case's message that is received at the given
// moment; one that the hub does not say counts as the moment itself.
func enqueued(t *testing.T, c *cases.Case, received time.Time) time.Time {
	t.Helper()
	at, err := c.Event.Enqueued(received)
	if err != nil {
		t.Fatal(err)
	}
	if at.IsZero() {
		return received
	}
	return at
}

// step is how far the clock goes from one case to the next: all of them must end
// before its distance to the stores' own clocks, which signatures are checked
// with, is a quarter of an hour.
const step = 5 * time.Second

// payloads is a world with a service whose clock is set for each case.
type payloads struct {
	world   *World
	service *app.App
	drain   func() telemetry.Snapshot
	clock   clock
	folder  string
	bodies  map[string][]byte // what was sent, by partition
}

// clock stands still, so that an age is exactly what a case says: or it runs, as
// the pace of bulk requests needs it.
type clock struct {
	runs  bool
	since time.Time
	ahead atomic.Int64 // nanoseconds, of the moment since or of the time that it is
}

func (c *clock) now() time.Time {
	at := c.since
	if c.runs {
		at = time.Now()
	}
	return at.Add(time.Duration(c.ahead.Load()))
}

// next sets the clock to the next case's moment, in whole milliseconds.
func (c *clock) next() time.Time {
	c.ahead.Add(int64(step))
	return c.now().Truncate(time.Millisecond)
}

func newPayloads(t *testing.T, keyPath, writer string, partitions int) *payloads {
	t.Helper()
	p := &payloads{bodies: map[string][]byte{}}
	p.clock.since, p.clock.runs = time.Now().Truncate(time.Millisecond), writer == "bulk"
	p.world = newWorld(t, func(o *Options) {
		o.KeyPath, o.Partitions, o.WriteLatency = keyPath, partitions, 0
		p.folder = o.Folder
	})
	config, err := p.world.Config(processor.Latest)
	if err != nil {
		t.Fatal(err)
	}
	config.AllowStaleDocuments, config.Linger, config.Writer = true, time.Millisecond, writer
	log := slog.New(slog.NewTextHandler(testLog{t}, &slog.HandlerOptions{Level: slog.LevelWarn}))
	p.service, err = app.New(config, "test", func(string) string { return "" }, log, p.clock.now)
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- p.service.Run(ctx) }()
	p.drain = sync.OnceValue(func() telemetry.Snapshot {
		stop()
		if err := <-ended; err != nil {
			t.Errorf("the service ended with %v", err)
		}
		return p.service.Telemetry().Ledger.Snapshot()
	})
	t.Cleanup(func() { p.drain() })
	return p
}

// try sends one case and compares what has become of it.
func (p *payloads) try(t *testing.T, partition string, c *cases.Case) {
	now := p.clock.next()
	if age := now.Sub(enqueued(t, c, now)); p.clock.runs && age == 5*time.Minute {
		now = now.Add(time.Second) // young enough until it is written
	}
	p.publish(t, partition, c, now)
	if err := p.world.WaitSettled(t.Context(), p.service.Telemetry().Ledger, 20*time.Second); err != nil {
		t.Fatal(err)
	}
	if err := c.Expect.Check(p.outcome(t, partition)); err != nil {
		t.Errorf("%v\nevent %.300q", err, c.Event.Bytes())
	}
}

// publish puts the case's message into the hub's partition.
func (p *payloads) publish(t *testing.T, partition string, c *cases.Case, now time.Time) {
	t.Helper()
	enqueued, err := c.Event.Enqueued(now)
	if err != nil {
		t.Fatal(err)
	}
	if enqueued.IsZero() {
		p.world.Hub.Control(eventhubs.OpTransfer, func(call *eventhubs.Call) (eventhubs.Verdict, bool) {
			return eventhubs.Verdict{Action: eventhubs.Replace, Event: withoutEnqueuedTime(t, call.Event)}, true
		})
	}
	p.bodies[partition] = c.Event.Bytes()
	_, err = p.world.Hub.Publish(Hub, partition, eventhubs.Event{
		Body:         p.bodies[partition],
		Properties:   amqp.Properties{ContentType: c.Event.ContentType, ContentEncoding: c.Event.ContentEncoding},
		Annotations:  c.Event.SystemProperties,
		EnqueuedTime: enqueued,
	})
	if err != nil {
		t.Fatal(err)
	}
}

// withoutEnqueuedTime is a message that lacks the annotation.
func withoutEnqueuedTime(t *testing.T, message []byte) []byte {
	sections, err := amqp.SplitMessage(message)
	if err != nil {
		t.Error(err)
		return nil
	}
	annotations, err := amqp.DecodeMap(sections.Annotations)
	if err != nil {
		t.Error(err)
		return nil
	}
	w := amqp.OpenMapSection(nil, amqp.SectionAnnotations)
	for _, entry := range annotations {
		if name := entry.Key.(amqp.Symbol); name != "x-opt-enqueued-time" {
			w.Symbol(name, entry.Value)
		}
	}
	return append(w.Close(), sections.Bare...)
}

// outcome reads from ledger and container what has become of a partition's
// positions.
func (p *payloads) outcome(t *testing.T, partition string) cases.Outcome {
	t.Helper()
	snapshot := p.service.Telemetry().Ledger.Snapshot()
	if err := snapshot.Balance(); err != nil {
		t.Error(err)
	}
	o := cases.Outcome{Dropped: map[string]int{}, DeadLettered: map[string]int{}}
	for _, row := range snapshot.Partitions {
		if row.Partition != partition {
			continue
		}
		for reason, n := range row.Dropped {
			o.Dropped[reason] = int(n)
		}
		for reason, n := range row.DeadLettered {
			o.DeadLettered[reason] = int(n)
		}
		o.Superseded = int(row.Superseded)
		o.Written = p.documents(t, partition)
		if row.Written != int64(len(o.Written)) {
			t.Errorf("%d positions are counted as written, %d documents are there", row.Written, len(o.Written))
		}
	}
	return o
}

// documents returns what the container holds of a partition, in the order of the
// body.
func (p *payloads) documents(t *testing.T, partition string) []json.RawMessage {
	t.Helper()
	type positioned struct {
		index int
		body  json.RawMessage
	}
	var found []positioned
	for stored := range p.world.Cosmos.Documents(Database, Container) {
		var d struct {
			Source struct {
				Partition string
				Index     int
			}
		}
		if err := json.Unmarshal(stored.Body, &d); err != nil {
			t.Fatal(err)
		}
		if d.Source.Partition == partition {
			found = append(found, positioned{d.Source.Index, stored.Body})
		}
	}
	slices.SortFunc(found, func(a, b positioned) int { return a.index - b.index })
	documents := make([]json.RawMessage, len(found))
	for i := range found {
		documents[i] = found[i].body
	}
	return documents
}

// letters drains the service and holds the dead letters against the ledger and
// against what was sent.
func (p *payloads) letters(t *testing.T) {
	last := p.drain()
	want := map[string]int64{}
	for _, row := range last.Partitions {
		for reason, n := range row.DeadLettered {
			want[row.Partition+" "+reason] += n
		}
	}
	file, err := os.Open(filepath.Join(p.folder, "deadletters.ndjson"))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = file.Close() }()
	got := map[string]int64{}
	for letter, err := range sink.ReadDeadLetters(file) {
		if err != nil {
			t.Fatal(err)
		}
		got[letter.Partition+" "+letter.Reason]++
		body := p.bodies[letter.Partition]
		if !bytes.Equal(letter.Body, body[:min(len(body), sink.MaxDeadLetterBody)]) || letter.Truncated != (len(body) > sink.MaxDeadLetterBody) {
			t.Errorf("partition %s: the letter keeps %.100q, sent was %.100q", letter.Partition, letter.Body, body)
		}
		if letter.Error == "" {
			t.Errorf("partition %s: a letter without a detail", letter.Partition)
		}
	}
	if fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("dead letters %v, the ledger counts %v", got, want)
	}
}

// A body is read from whichever section of an AMQP message it is in, as other
// senders than Microsoft's may put it, and a dead letter keeps what was read.
func TestBodiesInEverySection(t *testing.T) {
	const position = `{"deviceId":"d1","latitude":47.5,"longitude":-121.9}`
	fields := map[string]any{"deviceId": "d1", "latitude": float32(47.5), "longitude": -121.9}
	const written, broken = `{"written":[{"id":"d1","coordinates":[-121.9,47.5]}]}`, `{"deadLettered":{"malformed":1}}`
	type body = azeventhubs.AMQPAnnotatedMessageBody
	tests := []struct {
		name   string
		body   body
		expect string
		kept   string // by the dead letter
	}{
		{"one data section", body{Data: [][]byte{[]byte(position)}}, written, ""},
		{"three data sections", body{Data: [][]byte{[]byte(position[:9]), {}, []byte(position[9:])}}, written, ""},
		{"sections that are not JSON together", body{Data: [][]byte{[]byte(position), []byte("x")}}, broken, position + "x"},
		{"an empty body", body{Data: [][]byte{{}}}, broken, ""},
		{"a text value", body{Value: position}, written, ""},
		{"a binary value", body{Value: []byte(position)}, written, ""},
		{"a map value", body{Value: fields}, written, ""},
		{"a map value that is no position", body{Value: map[string]any{"b": int64(1), "a": []any{true, nil}}}, `{"deadLettered":{"missing_id":1}}`, `{"a":[true,null],"b":1}`},
		{"a list value", body{Value: []any{fields, map[string]any{"deviceId": "d2", "latitude": 91.0, "longitude": 0.0}}},
			`{"written":[{"id":"d1"}],"deadLettered":{"out_of_range":1}}`, `[{"deviceId":"d1","latitude":47.5,"longitude":-121.9},{"deviceId":"d2","latitude":91,"longitude":0}]`},
		{"a number value", body{Value: int32(7)}, broken, "7"},
		{"a sequence", body{Sequence: [][]any{{fields}, {fields}}}, `{"written":[{"id":"d1"}],"superseded":1}`, ""},
	}
	p := newPayloads(t, "/deviceId", "bulk", len(tests))
	producer, err := azeventhubs.NewProducerClientFromConnectionString(p.world.Hub.ConnectionString(), Hub, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = producer.Close(context.Background()) }()
	for i, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			partition := strconv.Itoa(i)
			p.world.Hub.SkewClock(time.Until(p.clock.next()))
			batch, err := producer.NewEventDataBatch(t.Context(), &azeventhubs.EventDataBatchOptions{PartitionID: &partition})
			if err != nil {
				t.Fatal(err)
			}
			if err := batch.AddAMQPAnnotatedMessage(&azeventhubs.AMQPAnnotatedMessage{Body: test.body}, nil); err != nil {
				t.Fatal(err)
			}
			if err := producer.SendEventDataBatch(t.Context(), batch, nil); err != nil {
				t.Fatal(err)
			}
			if err := p.world.WaitSettled(t.Context(), p.service.Telemetry().Ledger, 20*time.Second); err != nil {
				t.Fatal(err)
			}
			var expect cases.Outcome
			if err := json.Unmarshal([]byte(test.expect), &expect); err != nil {
				t.Fatal(err)
			}
			if err := expect.Check(p.outcome(t, partition)); err != nil {
				t.Error(err)
			}
			p.bodies[partition] = []byte(test.kept)
		})
	}
	p.letters(t)
}
