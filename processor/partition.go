package processor

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/messaging/azeventhubs/v2"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/trace"

	"warmpath/telemetry"
)

// closeTimeout bounds the closing of a partition client.
const closeTimeout = 5 * time.Second

// partition is one owned partition: its client, its batcher, its checkpoints.
type partition struct {
	id         string
	client     *azeventhubs.ProcessorPartitionClient
	batcher    *batcher
	checkpoint *checkpointer
	watch      sequenceWatch
	account    *telemetry.Account
	config     Config
	halts      *sync.Map // of the processor: partition id to why it stopped
	tracer     trace.Tracer
	log        *slog.Logger
	now        func() time.Time
}

// run reads until stop ends or the partition is lost; hard ends the settling of
// the batch in hand. It returns nil when the partition was given up in order.
// The client is closed when it returns, with a context of its own: a partition
// whose client stays open is never handed out again.
func (p *partition) run(stop, hard context.Context) error {
	p.account.SetOwned(true)
	p.log.Info("partition opened")
	writer := make(chan struct{})
	writing, stopWriting := context.WithCancel(context.WithoutCancel(hard))
	go func() {
		defer close(writer)
		p.checkpoint.run(writing)
	}()

	err := p.read(stop, hard)

	stopWriting()
	<-writer
	lost := ownershipLost(err)
	if !lost {
		// The last checkpoint is written whatever ended the reading - but for a
		// lost ownership: then the position is the new owner's to say.
		flush, cancel := context.WithTimeout(context.WithoutCancel(hard), closeTimeout)
		err = errors.Join(err, p.checkpoint.flush(flush))
		cancel()
	}
	closing, cancel := context.WithTimeout(context.WithoutCancel(hard), closeTimeout)
	defer cancel()
	if closeErr := p.client.Close(closing); closeErr != nil && !lost {
		p.log.Debug("closing the partition client failed", "error", closeErr)
	}
	p.account.SetOwned(false)
	return err
}

// read is the loop: receive, settle, remember how far.
func (p *partition) read(stop, hard context.Context) error {
	for {
		events, began, err := p.receive(stop)
		if len(events) > 0 {
			err := p.settle(hard, began, events)
			if errors.Is(err, errTooManyRejected) {
				p.halt(stop, err)
			}
			if err != nil {
				return err
			}
		}
		if stop.Err() != nil {
			return nil
		}
		if err != nil {
			return fmt.Errorf("receive: %w", err)
		}
	}
}

// halt keeps the partition, reads nothing more of it and makes the process
// unready: somebody has to look. Other partitions go on.
func (p *partition) halt(stop context.Context, err error) {
	p.log.Error("partition has stopped, a restart tries it again", "error", err)
	p.halts.Store(p.id, err)
	<-stop.Done()
}

// settle brings one batch to its end and remembers how far that is.
func (p *partition) settle(hard context.Context, began time.Time, events []*azeventhubs.ReceivedEventData) error {
	ctx, span := startBatch(hard, p.tracer, p.id, began, events)
	defer span.End()
	missing, duplicates := p.watch.see(events)
	if missing > 0 {
		p.log.Error("the hub left out events", "missing", missing, "before_or_at", events[len(events)-1].SequenceNumber)
	}
	p.account.Missing(missing)
	p.account.Duplicates(duplicates)
	settled, err := p.batcher.settle(ctx, p.now(), events)
	if settled > 0 {
		last := events[settled-1]
		p.account.Settled(last.SequenceNumber)
		p.checkpoint.reached(last.SequenceNumber, last.Offset, span.SpanContext())
	}
	if err != nil {
		span.SetStatus(codes.Error, "unsettled positions")
		return fmt.Errorf("settle %d events from sequence number %d: %w", len(events), events[0].SequenceNumber, err)
	}
	return nil
}

// receive returns the next events and when the first was there. It waits for the first without a deadline -
// a deadline would hide an outage, for the SDK reports the deadline and not the
// fault - and then lets the batch fill for the linger time.
func (p *partition) receive(ctx context.Context) ([]*azeventhubs.ReceivedEventData, time.Time, error) {
	events, err := p.client.ReceiveEvents(ctx, 1, nil)
	began := p.now()
	if err != nil || p.config.Batch == 1 {
		return events, began, err
	}
	linger, cancel := context.WithTimeout(ctx, p.config.Linger)
	defer cancel()
	more, err := p.client.ReceiveEvents(linger, p.config.Batch-1, nil)
	if linger.Err() != nil {
		err = nil // the linger time is over, or we are stopping
	}
	return append(events, more...), began, err
}

// ownershipLost tells whether another consumer took the partition.
func ownershipLost(err error) bool {
	var hubErr *azeventhubs.Error
	return errors.As(err, &hubErr) && hubErr.Code == azeventhubs.ErrorCodeOwnershipLost
}
