package processor

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/messaging/azeventhubs/v2"

	"warmpath/geo"
	"warmpath/sink"
	"warmpath/telemetry"
)

// Sink takes documents. Submit blocks while there is no room, calls the
// document's Done exactly once after it returned nil, and never after an error.
type Sink interface {
	Submit(ctx context.Context, d *sink.Document) error
}

// DeadLetters keeps what cannot be written. Put returns nil only when all of
// the letters are safe; after an error the caller puts all of them again.
type DeadLetters interface {
	Put(ctx context.Context, letters []sink.DeadLetter) error
}

// batcher turns received events into settled positions. One partition's loop
// owns it; its buffers are used again for the next batch, which is safe because
// a batch is over only when the sink has let go of every document.
type batcher struct {
	config    Config
	partition string
	decoder   *geo.Decoder
	sink      Sink
	dead      DeadLetters
	account   *telemetry.Account
	tel       *telemetry.Telemetry
	log       *slog.Logger
	now       func() time.Time

	lastEnqueued time.Time // the partition's last known enqueued time
	rejections   int       // documents rejected in a row, up to now

	// One entry per position of the batch.
	items    []geo.Item
	orders   []geo.Order
	events   []int   // which event the position came in
	enqueued []int64 // Unix milliseconds
	settled  []bool

	newest  map[documentKey]int // latest mode: position that wins, by document
	bodies  []byte              // the JSON of all documents, one after the other
	scratch []byte              // a history id in the making
	spans   []span              // where each document's JSON lies, and its id
	results []sink.Result       // what the sink said, by position
}

type documentKey struct{ key, id string }

type span struct {
	position   int
	start, end int
	id         string
}

// settle brings a batch of events to its end: it returns the number of leading
// events whose positions are all settled. Only that prefix may be checkpointed
// (promise 2); it is shorter than the batch only together with an error.
func (b *batcher) settle(ctx context.Context, received time.Time, events []*azeventhubs.ReceivedEventData) (int, error) {
	b.reset()
	_, decoding := b.tel.Tracer.Start(ctx, "decode")
	for i, e := range events {
		b.decode(i, e, received)
	}
	decoding.End()
	ledger := b.account.Open(len(events), b.enqueued)
	for i := range b.items {
		if reason := b.items[i].Reason; reason != "" && b.droppedByPolicy(reason) {
			ledger.Dropped(i, string(reason))
			b.settled[i] = true
		}
	}
	if b.config.Mode == Latest {
		b.keepNewest(ledger)
	}
	writeCtx, writing := b.tel.Tracer.Start(ctx, "write")
	submitErr := b.write(writeCtx, ledger)
	writing.End()
	letters, tooMany := b.letters()
	if err := b.bury(ctx, events, letters, ledger); err != nil {
		return b.prefix(len(events)), err
	}
	if tooMany != nil {
		return b.prefix(len(events)), tooMany
	}
	if n := ledger.InFlight(); n > 0 {
		return b.prefix(len(events)), fmt.Errorf("%d of %d positions are unsettled: %w", n, len(b.items), submitErr)
	}
	return len(events), nil
}

func (b *batcher) reset() {
	b.items, b.orders, b.events = b.items[:0], b.orders[:0], b.events[:0]
	b.enqueued, b.settled = b.enqueued[:0], b.settled[:0]
	b.bodies, b.spans = b.bodies[:0], b.spans[:0]
	clear(b.results)
	b.results = b.results[:0]
	clear(b.newest)
}

// decode appends the positions of one event.
func (b *batcher) decode(event int, e *azeventhubs.ReceivedEventData, received time.Time) {
	at, clamped := enqueuedTime(e, b.lastEnqueued, received)
	if clamped {
		b.account.Clamped()
	}
	b.lastEnqueued = at
	b.tel.Freshness.Record(received.Sub(at))
	b.tel.ClockSkew(at.Sub(received))
	b.account.SetFreshness(max(0, received.Sub(at)))

	from := len(b.items)
	hubEvent := hubEvent(e)
	if sink.IsStale(received, b.config.MaxAge, at.UnixMilli()) {
		b.items = b.decoder.DecodeStale(b.items, &hubEvent)
	} else {
		b.items = b.decoder.Decode(b.items, &hubEvent)
	}
	for i := from; i < len(b.items); i++ {
		b.orders = append(b.orders, geo.Order{Enqueued: at.UnixMilli(), Sequence: e.SequenceNumber, Index: i - from})
		b.events = append(b.events, event)
		b.enqueued = append(b.enqueued, at.UnixMilli())
		b.settled = append(b.settled, false)
	}
}

// droppedByPolicy tells the reasons that are no fault of the message.
func (b *batcher) droppedByPolicy(r geo.Reason) bool {
	switch r {
	case geo.Stale, geo.OtherSensor, geo.NotTelemetry:
		return true
	case geo.MissingPartitionKey:
		return b.config.DropMissingKey
	default:
		return false
	}
}

// keepNewest settles all but the newest position of each document (promise 3
// within a batch).
func (b *batcher) keepNewest(ledger *telemetry.Batch) {
	if b.newest == nil {
		b.newest = make(map[documentKey]int)
	}
	for i := range b.items {
		if b.items[i].Reason != "" {
			continue
		}
		key := documentKey{b.items[i].Key, b.items[i].DocumentID}
		loser := i
		if other, ok := b.newest[key]; !ok {
			b.newest[key] = i
			continue
		} else if b.orders[i].Newer(b.orders[other]) {
			b.newest[key] = i
			loser = other
		}
		ledger.Superseded(loser)
		b.settled[loser] = true
	}
}

// write builds the documents of all unsettled good positions, submits them and
// waits until the sink has reported each.
func (b *batcher) write(ctx context.Context, ledger *telemetry.Batch) error {
	for i := range b.items {
		if b.items[i].Reason == "" && !b.settled[i] {
			b.build(i)
		}
	}
	b.results = append(b.results, make([]sink.Result, len(b.items))...)
	documents := make([]sink.Document, len(b.spans))
	var barrier sync.WaitGroup
	done := func(d *sink.Document, r sink.Result) {
		defer barrier.Done()
		i := d.Index
		b.results[i] = r
		switch r.Outcome {
		case sink.Written:
			ledger.Written(i)
			b.settled[i] = true
			b.tel.WriteFreshness.Record(r.At.Sub(time.UnixMilli(b.enqueued[i])))
		case sink.Superseded:
			ledger.Superseded(i)
			b.settled[i] = true
		case sink.Stale:
			ledger.Dropped(i, string(geo.Stale))
			b.settled[i] = true
		}
	}
	var err error
	for n, s := range b.spans {
		key := b.items[s.position].Key
		if b.config.KeyIsID {
			key = s.id // in history mode another one than the decoder knew
		}
		documents[n] = sink.Document{
			Key:   key,
			ID:    s.id,
			Body:  b.bodies[s.start:s.end],
			Order: b.orders[s.position],
			Index: s.position,
			Done:  done,
		}
		barrier.Add(1)
		if err = b.sink.Submit(ctx, &documents[n]); err != nil {
			barrier.Done()
			break
		}
	}
	barrier.Wait()
	if err == nil {
		for _, r := range b.results {
			if r.Err != nil && r.Outcome == sink.Unsettled {
				return r.Err
			}
		}
	}
	return err
}

// build appends the JSON of one position's document.
func (b *batcher) build(i int) {
	p := &b.items[i].Position
	source := geo.Source{
		Enqueued:  time.UnixMilli(b.enqueued[i]),
		Partition: b.partition,
		Sequence:  b.orders[i].Sequence,
		Index:     b.orders[i].Index,
	}
	id := b.items[i].DocumentID
	if b.config.Mode == History {
		history, err := geo.HistoryID(b.scratch[:0], id, &source)
		if err != nil {
			b.items[i].Reason, b.items[i].Err = geo.BadID, err
			return
		}
		b.scratch, id = history, string(history)
	}
	start := len(b.bodies)
	b.bodies = geo.AppendDocument(b.bodies, id, p, &source, int(b.config.TTL/time.Second))
	b.spans = append(b.spans, span{i, start, len(b.bodies), id})
}

// letter is a position on its way to the dead letters.
type letter struct {
	position int
	reason   geo.Reason
	err      error
}

// errTooManyRejected stops a partition: when the store refuses one document
// after the other, the fault is hardly each document's own, and dead letters by
// the thousand would be the wrong place for them.
var errTooManyRejected = errors.New("too many documents rejected in a row")

// letters collects the positions that decoding or the store refused. It ends
// with errTooManyRejected when the store's refusals become too many; those
// beyond the limit stay unsettled.
func (b *batcher) letters() ([]letter, error) {
	var letters []letter
	for i := range b.items {
		switch item := &b.items[i]; {
		case b.results[i].Outcome == sink.Written:
			b.rejections = 0
		case b.settled[i]:
		case item.Reason != "":
			letters = append(letters, letter{i, item.Reason, item.Err})
		case b.results[i].Outcome == sink.Rejected:
			if b.rejections++; b.config.MaxRejected > 0 && b.rejections > b.config.MaxRejected {
				return letters, fmt.Errorf("%w, the last one because: %w", errTooManyRejected, b.results[i].Err)
			}
			letters = append(letters, letter{i, geo.Rejected, b.results[i].Err})
		}
	}
	return letters, nil
}

// bury puts letters where they are safe, and settles them. While the store
// refuses, it tries again: the partition waits, the others do not (promise 6).
func (b *batcher) bury(ctx context.Context, events []*azeventhubs.ReceivedEventData, letters []letter, ledger *telemetry.Batch) error {
	if len(letters) == 0 {
		return nil
	}
	out := make([]sink.DeadLetter, len(letters))
	for n, l := range letters {
		e := events[b.events[l.position]]
		out[n] = sink.DeadLetter{
			Reason:         string(l.reason),
			Partition:      b.partition,
			Offset:         e.Offset,
			SequenceNumber: e.SequenceNumber,
			Index:          b.orders[l.position].Index,
			EnqueuedTime:   time.UnixMilli(b.enqueued[l.position]).UTC(),
			DeviceID:       b.items[l.position].Position.DeviceID,
		}
		if l.err != nil {
			out[n].Error = l.err.Error()
		}
		decoded := hubEvent(e)
		out[n].KeepEvent(&decoded)
	}
	if err := b.put(ctx, out); err != nil {
		return err
	}
	for _, l := range letters {
		ledger.DeadLettered(l.position, string(l.reason))
		b.settled[l.position] = true
	}
	return nil
}

// put tries until the letters are safe or the context ends.
func (b *batcher) put(ctx context.Context, letters []sink.DeadLetter) error {
	waits := newBackOff(100*time.Millisecond, 10*time.Second)
	for {
		err := b.dead.Put(ctx, letters)
		if err == nil {
			return nil
		}
		if ctx.Err() != nil {
			return errors.Join(ctx.Err(), err)
		}
		b.log.Warn("the dead letters cannot be kept, the partition waits", "letters", len(letters), "error", err)
		if err := sleep(ctx, waits.NextBackOff()); err != nil {
			return err
		}
	}
}

// prefix counts the leading events whose positions are all settled.
func (b *batcher) prefix(events int) int {
	for i, done := range b.settled {
		if !done {
			return b.events[i]
		}
	}
	return events
}

// hubEvent is what geo needs to know of a message.
func hubEvent(e *azeventhubs.ReceivedEventData) geo.Event {
	g := geo.Event{Body: bodyOf(e)}
	if e.ContentType != nil {
		g.ContentType = *e.ContentType
	}
	if raw := e.RawAMQPMessage; raw != nil && raw.Properties != nil && raw.Properties.ContentEncoding != nil {
		g.ContentEncoding = *raw.Properties.ContentEncoding
	}
	g.HubDeviceID = annotation(e, AnnotationDevice)
	g.ModuleID = annotation(e, AnnotationModule)
	g.MessageSource = annotation(e, AnnotationSource)
	return g
}

// Annotations of an IoT Hub (learn.microsoft.com/azure/iot-hub/iot-hub-devguide-messages-construct).
const (
	AnnotationDevice = "iothub-connection-device-id"
	AnnotationModule = "iothub-connection-module-id"
	AnnotationSource = "iothub-message-source"
)

// annotation reads a text annotation, "" where there is none.
func annotation(e *azeventhubs.ReceivedEventData, name string) string {
	s, _ := e.SystemProperties[name].(string)
	return s
}
