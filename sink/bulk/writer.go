package bulk

import (
	"context"
	"errors"
	"fmt"
	"hash/maphash"
	"log/slog"
	"math/bits"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/time/rate"
)

// Writer writes to one container. Its methods are safe for concurrent use.
type Writer struct {
	config    Config
	client    *client
	container Container
	log       *slog.Logger
	now       func() time.Time

	gate  *gate
	table atomic.Pointer[table]
	seed  maphash.Seed
	hurry atomic.Int64 // flushes under way: nothing lingers

	batches, payloads *sync.Pool

	life    context.Context // ends when the writer gives up
	stop    context.CancelCauseFunc
	started atomic.Bool
	unhook  func() bool
	wait    sync.WaitGroup

	refreshing refreshing
	relocating atomic.Bool
	grumble    rate.Sometimes // one line per interval, not per operation
}

// refreshing is the state of reading the layout anew.
type refreshing struct {
	sync.Mutex
	wanted  int // times that it was asked for
	running bool
	read    time.Time // when it was last read
	fault   error
}

// Open reads where the account is written, the container's definition and its
// physical ranges, and tries a bulk request that writes nothing. It repeats what
// fails, with a back-off, until it succeeds or the context ends, whose cause the
// error then wraps together with the last failure. An error that wraps
// [ErrNotSupported] is returned at once. No operation is sent before
// [Writer.Start].
func Open(ctx context.Context, target Target, config Config, log *slog.Logger, now func() time.Time) (*Writer, error) {
	if err := target.Validate(); err != nil {
		return nil, fmt.Errorf("open bulk writer: %w", err)
	}
	if err := config.Validate(); err != nil {
		return nil, fmt.Errorf("open bulk writer: %w", err)
	}
	w := &Writer{
		config:  config,
		log:     log,
		now:     now,
		gate:    newGate(config.MaxPending),
		seed:    maphash.MakeSeed(),
		grumble: rate.Sometimes{Interval: 10 * time.Second},
		unhook:  func() bool { return true },
	}
	w.batches, w.payloads = newPools()
	w.life, w.stop = context.WithCancelCause(context.Background())
	var err error
	if w.client, err = newClient(target, &config, now); err != nil {
		return nil, fmt.Errorf("open bulk writer: %w", err)
	}
	var last error // of the tries that the context's end did not cut short
	for failures := 1; ; failures++ {
		err := w.open(ctx)
		if err == nil {
			return w, nil
		}
		if ctx.Err() == nil || last == nil {
			last = err
		}
		if ctx.Err() == nil && !errors.Is(err, ErrNotSupported) {
			w.complain("waiting for Cosmos DB", err)
			if sleep(ctx, backOff(config.RetryFirst, config.RetryMost, failures)) == nil {
				continue
			}
		}
		err = last
		w.client.idle()
		w.stop(ErrClosed)
		if cause := context.Cause(ctx); cause != nil {
			err = fmt.Errorf("%w: %w", cause, err)
		}
		return nil, fmt.Errorf("open bulk writer for %s/%s: %w", target.Database, target.Container, err)
	}
}

// open is one try.
func (w *Writer) open(ctx context.Context) error {
	if err := w.client.endpoints.discover(ctx); err != nil {
		return err
	}
	container, err := w.client.readContainer(ctx)
	if err != nil {
		return err
	}
	if container.KeyVersion != 2 {
		return fmt.Errorf("%w: the container's partition keys are hashed by version %d, expected 2", ErrNotSupported, container.KeyVersion)
	}
	layout, err := w.client.readLayout(ctx)
	if err != nil {
		return err
	}
	w.container = container
	if err := w.probe(ctx, layout[0].id); err != nil {
		return err
	}
	w.adopt(w.life, layout)
	return nil
}

// Start lets requests go. When hard ends, the writer gives up: everything that
// it holds is finished with the cause of the context's end, promptly, and Submit
// returns it. Start must be called once.
func (w *Writer) Start(hard context.Context) {
	if w.started.Swap(true) {
		panic("bulk: Start called twice")
	}
	w.unhook = context.AfterFunc(hard, func() { w.stop(context.Cause(hard)) })
	for _, r := range w.table.Load().ranges {
		w.wait.Go(func() { r.run(w.life) })
	}
}

// Container returns the container's definition as read by Open.
func (w *Writer) Container() Container { return w.container }

// ReadContainer reads the container's definition again, once.
func (w *Writer) ReadContainer(ctx context.Context) (Container, error) {
	return w.client.readContainer(ctx)
}

// Submit hands over an operation, and blocks while the writer or the operation's
// lane is full. On an error Done is not called: the error is the context's, or
// wraps [ErrInvalid], or is [ErrClosed] or what made the writer give up.
func (w *Writer) Submit(ctx context.Context, op *Operation) error {
	if err := op.check(len(w.container.KeyPaths)); err != nil {
		return fmt.Errorf("%w: %w", ErrInvalid, err)
	}
	at := positionOf(&op.Key, w.container.Hierarchical)
	op.state = state{
		at:       at,
		document: maphash.String(w.seed, op.ID) ^ at[0] ^ bits.RotateLeft64(at[1], 32) ^ at[3] ^ at[5],
		size:     encodedSize(op),
	}
	epoch, err := w.gate.enter(ctx)
	if err != nil {
		return err
	}
	op.epoch = epoch
	for {
		err := w.table.Load().find(&op.at).submit(ctx, op)
		if err == nil {
			return nil
		}
		if !errors.Is(err, errRetired) {
			w.gate.leave(epoch, 1)
			return err
		}
	}
}

// Flush sends what lingers and waits until everything that was submitted before
// has been finished, or the context ends, whose cause it returns.
func (w *Writer) Flush(ctx context.Context) error {
	w.hurry.Add(1)
	defer w.hurry.Add(-1)
	epochs := w.gate.turn()
	for _, r := range w.table.Load().ranges {
		r.signal()
	}
	for _, e := range epochs {
		select {
		case <-e.over:
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
	return nil
}

// Close takes no more operations, waits until every one that was submitted has
// been finished, and leaves no goroutine behind. It waits for as long as that
// takes; end the context given to Start to cut it short.
func (w *Writer) Close() {
	w.gate.close()
	if !w.started.Load() {
		for _, r := range w.table.Load().ranges {
			r.end(ErrClosed)
		}
	}
	_ = w.Flush(context.Background()) // finishes: the context does not end
	w.unhook()
	w.stop(ErrClosed)
	w.wait.Wait()
	w.client.idle()
}

// Health tells why writing does not get on, or nil: a refusal that no operation
// is to blame for, such as 401, 403 or a missing container, or a service that
// cannot be reached.
func (w *Writer) Health() error {
	if w.life.Err() != nil {
		return context.Cause(w.life)
	}
	w.refreshing.Lock()
	fault := w.refreshing.fault
	w.refreshing.Unlock()
	if fault != nil {
		return fmt.Errorf("writing is on hold: %w", fault)
	}
	for _, r := range w.table.Load().ranges {
		r.mu.Lock()
		fault := r.fault
		r.mu.Unlock()
		if fault != nil {
			return fmt.Errorf("writing is on hold: %w", fault)
		}
	}
	return nil
}

// Pending is the number of operations that the writer holds.
func (w *Writer) Pending() int { return w.gate.pending() }

// Ranges describes the physical ranges, in the order of their bounds.
func (w *Writer) Ranges() []RangeState {
	now := w.now()
	ranges := w.table.Load().ranges
	out := make([]RangeState, len(ranges))
	for i, r := range ranges {
		out[i] = r.state(now)
	}
	return out
}

// conclude ends an operation that has an answer, unless it is revised: then the
// operation is returned, to be sent again in its place.
func (w *Writer) conclude(op *Operation, result Result, leaving *departures) *Operation {
	if w.config.Revise != nil && w.config.Revise(op, w.complete(op, result)) {
		err := op.check(len(w.container.KeyPaths))
		if err == nil {
			op.size = encodedSize(op)
			op.company, op.failures = 0, 0
			return op
		}
		result = Result{Err: fmt.Errorf("%w: %w", ErrInvalid, err)}
	}
	w.finish(op, result, leaving)
	return nil
}

// finish ends an operation. It is not the writer's any more afterwards.
func (w *Writer) finish(op *Operation, result Result, leaving *departures) {
	epoch := op.epoch
	op.Done(op, w.complete(op, result))
	leaving.add(epoch)
}

// complete adds to a result what the writer knows.
func (w *Writer) complete(op *Operation, result Result) Result {
	result.Attempts, result.RequestCharge, result.Unclear = op.attempts, op.charge, op.unclear
	return result
}

// giveUp finishes operations without an answer.
func (w *Writer) giveUp(ops []*Operation, cause error) {
	leaving := departures{gate: w.gate}
	for _, op := range ops {
		w.finish(op, Result{Err: cause}, &leaving)
	}
	leaving.done()
}

// relocate asks where the account is written now, if it was not asked just
// before.
func (w *Writer) relocate(life context.Context) {
	if !w.client.endpoints.isDue() || w.relocating.Swap(true) {
		return
	}
	w.wait.Go(func() {
		defer w.relocating.Store(false)
		if err := w.client.endpoints.discover(life); err != nil {
			w.complain("asking where the account is written failed", err)
		}
	})
}

// complain logs what lasts, at most once in ten seconds.
func (w *Writer) complain(message string, err error) {
	w.grumble.Do(func() {
		w.log.Warn(message, "database", w.client.target.Database, "container", w.client.target.Container, "error", err)
	})
}

// sleep waits for d or for the context's end, whose cause it returns.
func sleep(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-timer.C:
		return nil
	}
}
