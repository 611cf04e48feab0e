package processor

import (
	"context"
	"errors"
	"log/slog"
	"testing"
	"time"

	"go.opentelemetry.io/otel/trace"
	"go.opentelemetry.io/otel/trace/noop"

	"warmpath/telemetry"
)

func newTestCheckpointer(set func(context.Context, int64, string) error) (*checkpointer, *telemetry.Ledger) {
	ledger := telemetry.NewLedger(time.Now)
	return &checkpointer{
		set: set, interval: time.Millisecond, account: ledger.Partition("0"),
		tracer: noop.NewTracerProvider().Tracer(""), log: slog.New(slog.DiscardHandler), now: time.Now,
	}, ledger
}

func TestOnlyTheNewestPositionIsCheckpointed(t *testing.T) {
	var got []int64
	c, ledger := newTestCheckpointer(func(_ context.Context, sequence int64, offset string) error {
		if offset != "offset" {
			t.Errorf("offset %q", offset)
		}
		got = append(got, sequence)
		return nil
	})
	ctx := context.Background()
	if err := c.flush(ctx); err != nil || len(got) != 0 {
		t.Fatalf("a checkpoint without anything settled: %v, %v", got, err)
	}
	c.reached(0, "offset", trace.SpanContext{}) // the first event of a partition has the sequence number 0
	c.reached(1, "offset", trace.SpanContext{})
	for range 3 {
		if err := c.flush(ctx); err != nil {
			t.Fatal(err)
		}
	}
	if len(got) != 1 || got[0] != 1 {
		t.Errorf("checkpoints %v, want just 1", got)
	}
	if r := ledger.Snapshot().Partitions[0]; r.Checkpoint != 1 {
		t.Errorf("ledger says checkpoint %d, want 1", r.Checkpoint)
	}
}

func TestAFailedCheckpointIsTriedAtTheNextInterval(t *testing.T) {
	written := make(chan int64, 1)
	tries := 0
	c, ledger := newTestCheckpointer(func(_ context.Context, sequence int64, _ string) error {
		if tries++; tries < 3 {
			return errors.New("the store is away")
		}
		written <- sequence
		return nil
	})
	c.reached(5, "offset", trace.SpanContext{})
	ctx, stop := context.WithCancel(context.Background())
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		c.run(ctx)
	}()
	if got := <-written; got != 5 {
		t.Errorf("checkpoint %d, want 5", got)
	}
	stop()
	<-ended
	if r := ledger.Snapshot().Partitions[0]; r.Checkpoint != 5 {
		t.Errorf("ledger says checkpoint %d, want 5", r.Checkpoint)
	}
}
