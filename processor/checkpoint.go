package processor

import (
	"context"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/messaging/azeventhubs/v2"
	"go.opentelemetry.io/otel/trace"

	"warmpath/telemetry"
)

// checkpointer writes how far one partition is settled: the newest position
// only, at most once per interval. It is safe for concurrent use.
type checkpointer struct {
	set      func(ctx context.Context, sequence int64, offset string) error
	interval time.Duration
	account  *telemetry.Account
	tracer   trace.Tracer
	log      *slog.Logger
	now      func() time.Time

	mu      sync.Mutex // covers what follows
	reach   position   // settled up to here
	written position   // checkpointed up to here
}

// position is a place in a partition; its zero value stands before the first event.
type position struct {
	set      bool
	sequence int64
	offset   string
	batch    trace.SpanContext // of the batch that settled it
}

// reached remembers that everything up to and including this event is settled,
// by the batch whose span is given.
func (c *checkpointer) reached(sequence int64, offset string, batch trace.SpanContext) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.reach = position{true, sequence, offset, batch}
}

// run writes at the interval until the context ends.
func (c *checkpointer) run(ctx context.Context) {
	ticker := time.NewTicker(c.interval)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
			if err := c.flush(ctx); err != nil && ctx.Err() == nil {
				c.log.Warn("checkpoint is late, the next interval tries again", "error", err)
			}
		}
	}
}

// flush writes the newest position unless it is written already.
func (c *checkpointer) flush(ctx context.Context) error {
	c.mu.Lock()
	reach, written := c.reach, c.written
	c.mu.Unlock()
	if !reach.set || reach.sequence == written.sequence && written.set {
		return nil
	}
	ctx, span := c.tracer.Start(trace.ContextWithSpanContext(ctx, reach.batch), "checkpoint")
	defer span.End()
	if err := c.set(ctx, reach.sequence, reach.offset); err != nil {
		return fmt.Errorf("write checkpoint at sequence number %d: %w", reach.sequence, err)
	}
	c.mu.Lock()
	c.written = reach
	c.mu.Unlock()
	c.account.Checkpointed(reach.sequence, c.now())
	return nil
}

// setThrough writes checkpoints through a partition client, which knows the
// names that the store wants.
func setThrough(client *azeventhubs.ProcessorPartitionClient) func(context.Context, int64, string) error {
	return func(ctx context.Context, sequence int64, offset string) error {
		return client.UpdateCheckpoint(ctx, &azeventhubs.ReceivedEventData{SequenceNumber: sequence, Offset: offset}, nil)
	}
}
