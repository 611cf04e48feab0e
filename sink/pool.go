package sink

import (
	"context"
	"errors"
	"fmt"
	"hash/maphash"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/cenkalti/backoff/v5"
	"golang.org/x/time/rate"

	"warmpath/geo"
	"warmpath/telemetry"
)

// Store takes documents one at a time.
type Store interface {
	// WriteDocument makes one request for the document and returns what became
	// of it. An error is what the SDK returned; the pool classifies it. errAgain
	// means that another request is needed and nothing is wrong. It is called
	// from many lanes at once, but never twice at the same time for one document.
	WriteDocument(ctx context.Context, d *Document) (Outcome, error)
	// KeyPathChanged reads the container's definition again and tells whether
	// its key path is no longer the one that documents are built for.
	KeyPathChanged(ctx context.Context) (bool, error)
}

// errAgain asks for another request, at once.
var errAgain = errors.New("another request is needed")

// PoolConfig bounds a pool.
type PoolConfig struct {
	Lanes      int           // writes at the same time, 1 to 4,096
	Queue      int           // documents waiting per lane, 1 to 65,536
	MaxAge     time.Duration // older documents are Stale; 0 writes all
	NewestWins bool          // keep an older version from replacing a newer one
	Remember   int           // documents remembered for that, over all lanes
	RetryFirst time.Duration // first back-off of a transient fault
	RetryMost  time.Duration // longest back-off, also between tries while the store is at fault
}

// DefaultPoolConfig is what the service starts from.
func DefaultPoolConfig() PoolConfig {
	return PoolConfig{
		Lanes:      128,
		Queue:      16,
		MaxAge:     5 * time.Minute,
		NewestWins: true,
		Remember:   1 << 20,
		RetryFirst: 20 * time.Millisecond,
		RetryMost:  5 * time.Second,
	}
}

// Validate names the first field that is out of its range.
func (c PoolConfig) Validate() error {
	switch {
	case c.Lanes < 1 || c.Lanes > 4096:
		return fmt.Errorf("lanes is %d, allowed are 1 to 4096", c.Lanes)
	case c.Queue < 1 || c.Queue > 65536:
		return fmt.Errorf("queue is %d, allowed are 1 to 65536", c.Queue)
	case c.MaxAge < 0:
		return fmt.Errorf("max age is %v, allowed is 0 or more", c.MaxAge)
	case c.NewestWins && c.Remember < c.Lanes:
		return fmt.Errorf("remember is %d, allowed is at least one document per lane (%d)", c.Remember, c.Lanes)
	case c.RetryFirst <= 0 || c.RetryMost < c.RetryFirst:
		return fmt.Errorf("retry runs from %v to %v, allowed is 0 < first <= most", c.RetryFirst, c.RetryMost)
	}
	return nil
}

// Pool is a bounded set of lanes that write documents.
// Submit is safe for concurrent use.
type Pool struct {
	config PoolConfig
	writer Store
	tel    *telemetry.Telemetry
	log    *slog.Logger
	now    func() time.Time

	lanes []*lane
	seed  maphash.Seed
	wait  sync.WaitGroup

	holding  atomic.Int64                   // lanes that hold because of the store
	holdFor  atomic.Pointer[fault]          // the fault that a lane held for last
	complain rate.Sometimes                 // one line per interval, not per document
	stopped  atomic.Pointer[keyPathChanged] // writing has stopped for good
}

// keyPathChanged is why a pool stops writing: the container is another one now.
type keyPathChanged struct{ err error }

type lane struct {
	queue  chan *Document
	newest *recent[geo.Order] // what this lane wrote last, by document
}

// NewPool starts the lanes. They run until Close. When hard ends, they give up:
// what is queued and what is being retried is reported as Unsettled.
func NewPool(hard context.Context, config PoolConfig, writer Store, tel *telemetry.Telemetry, log *slog.Logger, now func() time.Time) (*Pool, error) {
	if err := config.Validate(); err != nil {
		return nil, fmt.Errorf("sink pool: %w", err)
	}
	p := &Pool{
		config: config, writer: writer, tel: tel, log: log, now: now,
		seed:     maphash.MakeSeed(),
		complain: rate.Sometimes{Interval: 10 * time.Second},
	}
	for range config.Lanes {
		l := &lane{queue: make(chan *Document, config.Queue)}
		if config.NewestWins {
			l.newest = newRecent[geo.Order](config.Remember / config.Lanes)
		}
		p.lanes = append(p.lanes, l)
		p.wait.Go(func() { p.run(hard, l) })
	}
	err := tel.ObserveLanes(config.Lanes, func(i int) int { return len(p.lanes[i].queue) })
	if err != nil {
		p.Close()
		return nil, fmt.Errorf("observe lanes: %w", err)
	}
	return p, nil
}

// Submit hands a document to its lane and blocks while that lane is full. The
// error is the context's; then Done is not called. Submit must not be called
// during or after Close.
func (p *Pool) Submit(ctx context.Context, d *Document) error {
	select {
	case p.laneOf(d).queue <- d:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// Close waits until every submitted document has been reported.
func (p *Pool) Close() {
	for _, l := range p.lanes {
		close(l.queue)
	}
	p.wait.Wait()
}

// Ready tells why writing does not get on, or nil.
func (p *Pool) Ready() error {
	if s := p.stopped.Load(); s != nil {
		return s.err
	}
	if p.holding.Load() > 0 {
		return fmt.Errorf("writing is on hold: %w", p.holdFor.Load())
	}
	return nil
}

// laneOf hashes key and id with a byte between them that neither can make up.
func (p *Pool) laneOf(d *Document) *lane {
	var h maphash.Hash
	h.SetSeed(p.seed)
	_, _ = h.WriteString(d.Key)
	_ = h.WriteByte(0xFF) // no UTF-8 text holds this byte
	_, _ = h.WriteString(d.ID)
	return p.lanes[h.Sum64()%uint64(len(p.lanes))]
}

func (p *Pool) run(hard context.Context, l *lane) {
	for d := range l.queue {
		d.Done(d, p.settle(hard, l, d))
	}
}

// settle brings one document to its outcome.
func (p *Pool) settle(hard context.Context, l *lane, d *Document) Result {
	name := documentKey{d.Key, d.ID}
	if l.newest != nil {
		if last, ok := l.newest.get(name); ok && last.Newer(d.Order) {
			return Result{Outcome: Superseded} // promise 3
		}
	}
	r := p.write(hard, d)
	if r.Outcome == Written && l.newest != nil {
		l.newest.put(name, d.Order)
	}
	return r
}

// write tries until there is an outcome. It is the one owner of retries.
func (p *Pool) write(hard context.Context, d *Document) Result {
	waits := backoff.ExponentialBackOff{
		InitialInterval:     p.config.RetryFirst,
		RandomizationFactor: backoff.DefaultRandomizationFactor,
		Multiplier:          2,
		MaxInterval:         p.config.RetryMost,
	}
	held := false
	defer func() {
		if held {
			p.holding.Add(-1)
		}
	}()
	askedKeyPath := false
	for {
		if err := hard.Err(); err != nil {
			return Result{Outcome: Unsettled, Err: err}
		}
		if s := p.stopped.Load(); s != nil {
			<-hard.Done() // not a fault of this document: it stays unsettled
			return Result{Outcome: Unsettled, Err: s.err}
		}
		// Promise 4: asked before every request, the first and each retry.
		if IsStale(p.now(), p.config.MaxAge, d.Order.Enqueued) {
			return Result{Outcome: Stale}
		}
		outcome, err := p.writer.WriteDocument(hard, d)
		if err == nil {
			return Result{Outcome: outcome, At: p.now()}
		}
		if errors.Is(err, errAgain) {
			continue
		}
		if hard.Err() != nil {
			return Result{Outcome: Unsettled, Err: err}
		}
		f := classify(err)
		if f.kind == keyMismatch {
			if askedKeyPath {
				return Result{Outcome: Rejected, Err: f}
			}
			changed, err := p.writer.KeyPathChanged(hard)
			switch {
			case err != nil:
				f = classify(err)
				f.kind = storeFault
			case changed:
				p.stop(f)
				continue
			default:
				askedKeyPath = true
				continue
			}
		}
		if f.kind == rejected {
			return Result{Outcome: Rejected, Err: f}
		}
		if f.kind == storeFault && !held {
			held = true
			p.holding.Add(1)
		}
		if f.kind == storeFault {
			p.holdFor.Store(f)
		}
		wait := waits.NextBackOff()
		if f.kind == throttled && f.retryAfter > 0 {
			wait = f.retryAfter
		}
		p.complain.Do(func() {
			p.log.Warn("writing is delayed", "error", f, "retry_in", wait)
		})
		if err := p.pause(hard, d, wait); err != nil {
			return Result{Outcome: Unsettled, Err: f}
		}
	}
}

// pause sleeps before the next try, but never past the moment at which the
// document becomes stale: holding a lane for a wait that can only end in
// "stale" would keep fresher documents behind it.
func (p *Pool) pause(hard context.Context, d *Document, wait time.Duration) error {
	if p.config.MaxAge > 0 {
		left := time.UnixMilli(d.Order.Enqueued).Add(p.config.MaxAge + time.Millisecond).Sub(p.now())
		wait = min(wait, max(left, 0))
	}
	return sleep(hard, wait)
}

// stop ends writing for good: the container's key path is not the one that the
// documents were built for (promise 5).
func (p *Pool) stop(cause error) {
	s := &keyPathChanged{fmt.Errorf("the container's partition key path has changed, restart to read it: %w", cause)}
	if p.stopped.CompareAndSwap(nil, s) {
		p.log.Error("writing has stopped", "error", s.err)
	}
}

// IsStale tells whether a position that was enqueued at the given Unix
// millisecond is older than maxAge (promise 4). Ages are whole milliseconds;
// exactly maxAge is fresh; a maxAge of 0 makes nothing stale.
func IsStale(now time.Time, maxAge time.Duration, enqueuedMillis int64) bool {
	return maxAge > 0 && now.UnixMilli()-enqueuedMillis > maxAge.Milliseconds()
}
