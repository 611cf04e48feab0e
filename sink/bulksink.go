package sink

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/time/rate"

	"warmpath/sink/bulk"
	"warmpath/telemetry"
)

// BulkConfig bounds a bulk sink.
type BulkConfig struct {
	Writer   bulk.Config   // Admit, Revise and Observer are set by the sink
	MaxAge   time.Duration // older documents are Stale; 0 writes all
	Guard    bool          // never replace a newer version (promise 3)
	Remember int           // documents whose version the guard remembers
}

// Bulk writes documents by bulk requests. It has the contract of [Pool] - every
// document is reported exactly once, retries end with an outcome, not with a
// number - at a small part of the cost: what is submitted meanwhile travels
// together. Order is kept per partition key by the writer's lanes; a document
// that the guard has to read or write again does so ahead of those behind it.
type Bulk struct {
	config BulkConfig
	writer *bulk.Writer
	guard  *guard // nil: later writes win, whatever they hold
	tel    *telemetry.Telemetry
	log    *slog.Logger
	now    func() time.Time
	hard   context.Context

	slots []slot   // of the operations that the writer holds
	free  chan int // indices of unused slots; bounds what can be submitted

	inspect chan int // slots whose document the service found in the wrong place
	wait    sync.WaitGroup
	stopped atomic.Pointer[keyPathChanged]
}

// slot is an operation and the document it is about.
type slot struct {
	operation bulk.Operation
	document  *Document
	decided   bool // outcome stands without another answer
	outcome   Outcome
}

// spareSlots is how many submitters may wait at the writer's door.
const spareSlots = 1024

// OpenBulk opens a bulk writer and starts it; see [bulk.Open] for what it waits
// for. When hard ends, what is not settled is reported as Unsettled.
func OpenBulk(ctx, hard context.Context, where ContainerConfig, config BulkConfig, tel *telemetry.Telemetry, log *slog.Logger, now func() time.Time) (*Bulk, error) {
	target, rekey, err := where.target()
	if err != nil {
		return nil, err
	}
	slots := config.Writer.MaxPending + spareSlots
	b := &Bulk{
		config: config, tel: tel, log: log, now: now, hard: hard,
		slots: make([]slot, slots), free: make(chan int, slots), inspect: make(chan int, slots),
	}
	for i := range b.slots {
		b.slots[i].operation.Done = b.done
		b.free <- i
	}
	if config.Guard {
		b.guard = newGuard(config.Remember)
	}
	config.Writer.Admit, config.Writer.Observer = b.admit, observer{tel, rekey, &rate.Sometimes{Interval: time.Second}}
	if config.Guard {
		config.Writer.Revise = b.revise
	}
	if b.writer, err = bulk.Open(ctx, target, config.Writer, log, now); err != nil {
		return nil, err
	}
	if err := tel.ObserveRanges(b.heat); err != nil {
		b.writer.Close()
		return nil, err
	}
	b.writer.Start(hard)
	b.wait.Go(b.inspectAll)
	return b, nil
}

// Submit hands over a document and blocks while there is no room. The error is
// the context's; then Done is not called. It must not be called during or after
// Close.
func (b *Bulk) Submit(ctx context.Context, d *Document) error {
	var i int
	select {
	case i = <-b.free:
	case <-ctx.Done():
		return ctx.Err()
	}
	s := &b.slots[i]
	*s = slot{document: d, operation: bulk.Operation{
		Kind: bulk.Upsert, Key: bulk.StringKey(d.Key), ID: d.ID, Body: d.Body, Index: i, Done: b.done,
	}}
	switch err := b.writer.Submit(ctx, &s.operation); {
	case err == nil:
		return nil
	case errors.Is(err, bulk.ErrInvalid):
		b.report(i, Result{Outcome: Rejected, Err: err})
		return nil
	case ctx.Err() != nil:
		b.free <- i
		return ctx.Err()
	default: // the writer gives up
		b.report(i, Result{Outcome: Unsettled, Err: err})
		return nil
	}
}

// Close waits until every submitted document has been reported.
func (b *Bulk) Close() {
	b.writer.Close()
	close(b.inspect)
	b.wait.Wait()
}

// Ready tells why writing does not get on, or nil.
func (b *Bulk) Ready() error {
	if s := b.stopped.Load(); s != nil {
		return s.err
	}
	return b.writer.Health()
}

// admit is asked by the writer before each request (promise 4), and brings the
// operation up to date with what the guard knows by now (promise 3).
func (b *Bulk) admit(op *bulk.Operation) bool {
	s := &b.slots[op.Index]
	if IsStale(b.now(), b.config.MaxAge, s.document.Order.Enqueued) {
		s.decided, s.outcome = true, Stale
		return false
	}
	if b.guard == nil || op.Kind == bulk.Read {
		return true
	}
	return b.take(s, b.guard.next(s.document))
}

// revise hears every answer, and makes the operation into the guard's next step.
func (b *Bulk) revise(op *bulk.Operation, r bulk.Result) bool {
	if r.Status == 0 {
		return false
	}
	s := &b.slots[op.Index]
	next, ok := b.guard.answered(s.document, op.Kind, r.Status, r.ETag, r.Body)
	return ok && b.take(s, next)
}

// take makes the guard's step the operation, or, when nothing more need be
// asked, notes the outcome and returns false.
func (b *Bulk) take(s *slot, next step) bool {
	if next.over {
		s.decided, s.outcome = true, next.outcome
		return false
	}
	op := &s.operation
	op.Kind, op.IfMatch, op.Body = next.kind, next.ifMatch, s.document.Body
	if next.kind == bulk.Read {
		op.Body = nil
	}
	return true
}

// done maps what became of an operation to what became of its document.
func (b *Bulk) done(op *bulk.Operation, r bulk.Result) {
	i := op.Index
	s := &b.slots[i]
	var refused *bulk.StatusError
	switch {
	case s.decided:
		b.report(i, Result{Outcome: s.outcome, At: b.now()})
	case r.Err == nil:
		b.report(i, Result{Outcome: Written, At: b.now()})
	case errors.As(r.Err, &refused) && refused.Status == http.StatusBadRequest && refused.SubStatus == subKeyMismatch:
		b.inspect <- i // has room for every slot
	case errors.As(r.Err, &refused), errors.Is(r.Err, bulk.ErrInvalid):
		b.report(i, Result{Outcome: Rejected, Err: r.Err})
	default:
		b.report(i, Result{Outcome: Unsettled, Err: r.Err})
	}
}

// report tells the submitter and frees the slot.
func (b *Bulk) report(i int, r Result) {
	d := b.slots[i].document
	b.slots[i].document = nil
	b.free <- i
	d.Done(d, r)
}

// inspectAll looks into refusals that say that a document's key is not where the
// container wants it (promise 5): if the container is another one now, writing
// has stopped and the documents stay unsettled; otherwise each is at fault itself.
func (b *Bulk) inspectAll() {
	for i := range b.inspect {
		changed, err := b.keyPathChanged()
		switch {
		case err != nil:
			b.report(i, Result{Outcome: Unsettled, Err: err})
		case changed:
			b.stop()
			<-b.hard.Done()
			b.report(i, Result{Outcome: Unsettled, Err: b.stopped.Load().err})
		default:
			b.report(i, Result{Outcome: Rejected, Err: &bulk.StatusError{Status: http.StatusBadRequest, SubStatus: subKeyMismatch}})
		}
	}
}

// keyPathChanged reads the definition again, until it is there or hard ends.
func (b *Bulk) keyPathChanged() (bool, error) {
	for {
		now, err := b.writer.ReadContainer(b.hard)
		if err == nil {
			return !slices.Equal(now.KeyPaths, b.writer.Container().KeyPaths), nil
		}
		if err := sleep(b.hard, time.Second); err != nil {
			return false, err
		}
	}
}

func (b *Bulk) stop() {
	s := &keyPathChanged{fmt.Errorf("the container's partition key path has changed from %v, restart to read it", b.writer.Container().KeyPaths)}
	if b.stopped.CompareAndSwap(nil, s) {
		b.log.Error("writing has stopped", "error", s.err)
	}
}

// heat reports what the writer knows of the physical ranges.
func (b *Bulk) heat(report func(telemetry.RangeLoad)) {
	for _, r := range b.writer.Ranges() {
		waiting := 0
		for _, n := range r.Lanes {
			waiting += n
		}
		load := telemetry.RangeLoad{Range: r.ID, Waiting: waiting, UnderWay: r.UnderWay, UnitsPerSecond: r.UnitsPerSecond}
		if r.Budget > 0 {
			load.Heat = r.UnitsPerSecond / r.Budget
		}
		report(load)
	}
}
