package bulk

import (
	"context"
	"errors"
	"math"
	"sync"
	"time"
)

// physical is a physical range: its lanes, what it has to give, and why it
// waits. One goroutine, run, puts requests together; each is sent and settled by
// a goroutine of its own, and the number of those is bounded by the lanes.
type physical struct {
	bounds
	w    *Writer
	wake chan struct{} // something changed that run waits for

	// mu covers what follows. No other lock is taken while it is held, and no
	// callback is called.
	mu       sync.Mutex
	lanes    []lane
	next     int // lane that is looked at first
	ready    int // operations waiting in free lanes
	wakeAt   int // the number of those that run waits for
	rooms    []chan struct{}
	requests int // under way
	underWay int // operations in them

	pacer       pacer
	pausedUntil time.Time
	failures    int // of whole requests, in a row
	failedAt    time.Time
	moves       int // answers in a row that said the range had moved
	throttles   int // refusals in a row without a word on how long to wait
	fault       error

	lost       bool        // moved: waits for the layout to be read anew
	retired    bool        // no longer a range: lanes are handed over as they become free
	handed     []bool      // by lane
	successors []*physical // ranges that cover its place now
	ended      error       // the writer gave up
}

var errRetired = errors.New("the range is retired")

func newPhysical(w *Writer, b bounds, ceiling float64) *physical {
	now := w.now()
	return &physical{
		bounds: b,
		w:      w,
		wake:   make(chan struct{}, 1),
		lanes:  make([]lane, w.config.Lanes),
		handed: make([]bool, w.config.Lanes),
		rooms:  make([]chan struct{}, w.config.Lanes),
		pacer:  newPacer(ceiling, now),
		wakeAt: 1,
	}
}

// signal makes run look again.
func (r *physical) signal() {
	select {
	case r.wake <- struct{}{}:
	default:
	}
}

// submit adds an operation to its lane, waiting for room there. After
// errRetired the operation belongs elsewhere.
func (r *physical) submit(ctx context.Context, op *Operation) error {
	i := op.lane(len(r.lanes))
	l := &r.lanes[i]
	for {
		r.mu.Lock()
		if r.ended != nil {
			r.mu.Unlock()
			return r.ended
		}
		if r.retired {
			r.mu.Unlock()
			return errRetired
		}
		if l.len() < r.w.config.Queue {
			if l.len() == 0 {
				l.since = r.w.now()
			}
			l.push(op)
			enough := false
			if l.isFree() {
				r.ready++
				enough = r.ready >= r.wakeAt
			}
			r.mu.Unlock()
			if enough {
				r.signal()
			}
			return nil
		}
		room := r.rooms[i]
		if room == nil {
			room = make(chan struct{})
			r.rooms[i] = room
		}
		r.mu.Unlock()
		select {
		case <-room:
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

// hasRoom tells those who wait for room in a lane to look. The caller holds mu.
func (r *physical) hasRoom(i int) {
	if r.rooms[i] != nil {
		close(r.rooms[i])
		r.rooms[i] = nil
	}
}

// never is longer than any wait.
const never = time.Duration(math.MaxInt64)

// run puts requests together until the range is retired and handed over, or the
// writer ends.
func (r *physical) run(life context.Context) {
	timer := time.NewTimer(0)
	defer timer.Stop()
	for life.Err() == nil {
		b, wait, over := r.step(r.w.now())
		if over {
			return
		}
		if b != nil {
			r.w.wait.Go(func() { r.send(life, b) })
			continue
		}
		if wait < never {
			timer.Reset(wait)
		}
		select {
		case <-r.wake:
		case <-timer.C:
		case <-life.Done():
		}
	}
	r.end(context.Cause(life))
}

// step is one look at the range: it returns a request to send, or how long to
// wait unless woken.
func (r *physical) step(now time.Time) (b *batch, wait time.Duration, over bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.wakeAt = math.MaxInt // whoever changes what stops us signals
	if r.retired {
		return nil, never, r.handOver()
	}
	if r.lost || r.requests >= len(r.lanes) {
		return nil, never, false
	}
	if d := r.pausedUntil.Sub(now); d > 0 {
		return nil, d, false
	}
	room := min(r.w.config.MaxOperations, r.pacer.room(r.underWay))
	if room <= 0 {
		return nil, never, false
	}
	oldest := r.survey()
	if r.ready == 0 {
		r.wakeAt = 1
		return nil, never, false
	}
	if r.ready < room && r.w.hurry.Load() == 0 {
		if d := oldest.Add(r.w.config.Linger).Sub(now); d > 0 {
			r.wakeAt = room
			return nil, d, false
		}
	}
	if d := r.pacer.wait(now); d > 0 {
		return nil, d, false
	}
	b, next := r.pick(now, room)
	if b != nil {
		return b, 0, false
	}
	// All that waits is not due yet.
	r.wakeAt = r.ready + 1
	if next.IsZero() {
		return nil, never, false
	}
	return nil, max(next.Sub(now), time.Millisecond), false
}

// survey counts what could be sent and finds since when the oldest of it has
// waited for company. The caller holds mu.
func (r *physical) survey() (oldest time.Time) {
	r.ready = 0
	for i := range r.lanes {
		l := &r.lanes[i]
		if !l.isFree() || l.len() == 0 {
			continue
		}
		if r.ready == 0 || l.since.Before(oldest) {
			oldest = l.since
		}
		r.ready += l.len()
	}
	return oldest
}

// pick makes a request of up to room operations: of one lane if it fills the
// request, so that the others stay free for the next one, and otherwise of as
// many lanes as it takes. The caller holds mu.
func (r *physical) pick(now time.Time, room int) (_ *batch, next time.Time) {
	b := r.w.newBatch()
	limits := limits{ops: room, bytes: r.w.config.MaxBytes}
	first := r.next
	for i := range r.lanes {
		at := (r.next + i) % len(r.lanes)
		if l := &r.lanes[at]; l.isFree() && l.len() >= room {
			first = at
			break
		}
	}
	for i := range r.lanes {
		at := (first + i) % len(r.lanes)
		l := &r.lanes[at]
		if !l.isFree() || l.len() == 0 {
			continue
		}
		from := len(b.ops)
		if from >= limits.ops {
			break
		}
		l.pick(b, &limits, now)
		if from == len(b.ops) {
			continue
		}
		l.busy = true
		b.lanes = append(b.lanes, part{l, from, len(b.ops)})
		r.hasRoom(at)
	}
	r.next = (first + 1) % len(r.lanes)
	if len(b.ops) == 0 {
		r.w.freeBatch(b)
		return nil, limits.next
	}
	b.started = now
	b.expected = r.pacer.start(b.ops, now)
	r.requests++
	r.underWay += len(b.ops)
	return b, time.Time{}
}

// pause puts off the next request, and tells by how much. The caller holds mu.
func (r *physical) pause(now time.Time, d time.Duration) time.Duration {
	from := now
	if r.pausedUntil.After(from) {
		from = r.pausedUntil
	}
	until := now.Add(d)
	if !until.After(from) {
		return 0
	}
	r.pausedUntil = until
	return until.Sub(from)
}

// end finishes everything that waits, because the writer gives up.
func (r *physical) end(cause error) {
	r.mu.Lock()
	r.ended = cause
	var ops []*Operation
	for i := range r.lanes {
		ops = append(ops, r.lanes[i].takeAll()...)
		r.hasRoom(i)
	}
	r.mu.Unlock()
	r.w.giveUp(ops, cause)
}

// state describes the range.
func (r *physical) state(now time.Time) RangeState {
	r.mu.Lock()
	defer r.mu.Unlock()
	s := RangeState{
		ID:             r.id,
		Lanes:          make([]int, len(r.lanes)),
		UnderWay:       r.underWay,
		UnitsPerSecond: r.pacer.spent.perSecond(now, time.Second),
		Budget:         r.pacer.rate,
		PausedFor:      max(r.pausedUntil.Sub(now), 0),
		Fault:          r.fault,
	}
	for i := range r.lanes {
		s.Lanes[i] = r.lanes[i].len() + len(r.lanes[i].inherited)
	}
	return s
}

// lane is the operation's lane among n. It depends on nothing but the partition
// key, so that a lane's operations stay together when its range splits.
func (op *Operation) lane(n int) int {
	return int((op.at[1] ^ op.at[3] ^ op.at[5]) % uint64(n))
}
