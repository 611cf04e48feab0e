package processor

import (
	"context"
	"fmt"
	"log/slog"
	"slices"
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/messaging/azeventhubs/v2"

	"warmpath/geo"
	"warmpath/sink"
	"warmpath/telemetry"
)

// Message is one message for those who have it from elsewhere than a hub: from
// a file, from a dead letter.
type Message struct {
	geo.Event
	Enqueued time.Time // when the hub took it; zero when it does not say
	Sequence int64
}

// Fate is what becomes of a position.
type Fate string

// The fates, but for "in flight".
const (
	Written      Fate = "written"
	Superseded   Fate = "superseded"
	Dropped      Fate = "dropped"
	DeadLettered Fate = "dead-lettered"
)

// Preview is what would become of one position.
type Preview struct {
	Message  int    // which one it came in, from 0
	Index    int    // of the position in its message, from 0
	DeviceID string // where known
	Fate     Fate
	// Document is what would be written; Done is not set.
	Document *sink.Document
	// Reason and Err say why a position is dropped or dead-lettered; Err may be
	// nil for one that is dropped.
	Reason geo.Reason
	Err    error
}

// PreviewBatch tells what a partition would make of one batch of messages that
// is received at the given moment, if the store took every document. It is the
// service's own way of settling a batch, with nothing behind it.
func PreviewBatch(config Config, decoder *geo.Decoder, partition string, messages []Message, received time.Time) ([]Preview, error) {
	now := func() time.Time { return received }
	tel, err := telemetry.New(telemetry.Options{Now: now})
	if err != nil {
		return nil, fmt.Errorf("preview: %w", err)
	}
	ctx := context.Background()
	defer func() { _ = tel.Shutdown(ctx) }() // there is nobody to export to
	documents := make(takeAll)
	b := &batcher{
		config: config, partition: partition, decoder: decoder, sink: documents, dead: forgetAll{},
		account: tel.Ledger.Partition(partition), tel: tel, log: slog.New(slog.DiscardHandler), now: now,
	}
	events := make([]*azeventhubs.ReceivedEventData, len(messages))
	for i := range messages {
		events[i] = messages[i].received()
	}
	if _, err := b.settle(ctx, received, events); err != nil {
		return nil, fmt.Errorf("preview: %w", err)
	}
	previews := make([]Preview, len(b.items))
	for i, item := range b.items {
		p := Preview{
			Message: b.events[i], Index: b.orders[i].Index, DeviceID: item.Position.DeviceID,
			Fate: Superseded, Document: documents[i], Reason: item.Reason, Err: item.Err,
		}
		switch {
		case p.Document != nil:
			p.Fate = Written
		case p.Reason != "" && b.droppedByPolicy(p.Reason):
			p.Fate = Dropped
		case p.Reason != "":
			p.Fate = DeadLettered
		}
		previews[i] = p
	}
	return previews, nil
}

// received is the message as the SDK hands it over; hubEvent is its inverse.
func (m *Message) received() *azeventhubs.ReceivedEventData {
	e := &azeventhubs.ReceivedEventData{
		EventData:        azeventhubs.EventData{Body: m.Body},
		SequenceNumber:   m.Sequence,
		SystemProperties: map[string]any{},
		RawAMQPMessage: &azeventhubs.AMQPAnnotatedMessage{
			Properties: &azeventhubs.AMQPAnnotatedMessageProperties{},
			Body:       azeventhubs.AMQPAnnotatedMessageBody{Data: [][]byte{m.Body}},
		},
	}
	if !m.Enqueued.IsZero() {
		e.EnqueuedTime = &m.Enqueued
	}
	if m.ContentType != "" {
		e.ContentType = &m.ContentType
	}
	if m.ContentEncoding != "" {
		e.RawAMQPMessage.Properties.ContentEncoding = &m.ContentEncoding
	}
	for name, text := range map[string]string{
		AnnotationDevice: m.HubDeviceID, AnnotationModule: m.ModuleID, AnnotationSource: m.MessageSource,
	} {
		if text != "" {
			e.SystemProperties[name] = text
		}
	}
	return e
}

// takeAll is a sink that takes every document and keeps it by its index.
type takeAll map[int]*sink.Document

// Submit implements [Sink].
func (t takeAll) Submit(_ context.Context, d *sink.Document) error {
	body := slices.Clip(d.Body) // the next document begins behind it
	t[d.Index] = &sink.Document{Key: d.Key, ID: d.ID, Body: body, Order: d.Order, Index: d.Index}
	d.Done(d, sink.Result{Outcome: sink.Written, At: time.UnixMilli(d.Order.Enqueued)})
	return nil
}

// forgetAll takes dead letters and forgets them.
type forgetAll struct{}

// Put implements [DeadLetters].
func (forgetAll) Put(context.Context, []sink.DeadLetter) error { return nil }
