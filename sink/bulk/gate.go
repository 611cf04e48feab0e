package bulk

import (
	"context"
	"sync"
)

// gate bounds how many operations the writer holds. It also knows when those
// that entered before a certain moment have all left.
type gate struct {
	limit int

	// mu covers what follows; no other lock is taken while it is held.
	mu      sync.Mutex
	closed  bool
	held    int
	waiting []chan *epoch // in the order of their coming; closed instead of sent to when the gate closes
	now     *epoch
	open    []*epoch // earlier ones of which some operations are still held
}

// epoch is the time between two flushes.
type epoch struct {
	held int
	over chan struct{} // closed when the epoch has ended and held is 0
}

func newGate(limit int) *gate {
	return &gate{limit: limit, now: newEpoch()}
}

func newEpoch() *epoch { return &epoch{over: make(chan struct{})} }

// enter waits for room for one more operation. It returns the operation's epoch,
// with which it leaves.
func (g *gate) enter(ctx context.Context) (*epoch, error) {
	g.mu.Lock()
	if g.closed {
		g.mu.Unlock()
		return nil, ErrClosed
	}
	if g.held < g.limit && len(g.waiting) == 0 {
		e := g.admit()
		g.mu.Unlock()
		return e, nil
	}
	turn := make(chan *epoch, 1)
	g.waiting = append(g.waiting, turn)
	g.mu.Unlock()
	select {
	case e, ok := <-turn:
		if !ok {
			return nil, ErrClosed
		}
		return e, nil
	case <-ctx.Done():
		g.giveUp(turn)
		return nil, context.Cause(ctx)
	}
}

// admit counts one operation. The caller holds mu.
func (g *gate) admit() *epoch {
	g.held++
	g.now.held++
	return g.now
}

// giveUp takes a turn off the list, or gives back the room it was just given.
func (g *gate) giveUp(turn chan *epoch) {
	g.mu.Lock()
	for i, t := range g.waiting {
		if t == turn {
			g.waiting = append(g.waiting[:i], g.waiting[i+1:]...)
			break
		}
	}
	g.mu.Unlock()
	select {
	case e, ok := <-turn:
		if ok {
			g.leave(e, 1)
		}
	default:
	}
}

// leave tells that n operations of an epoch are no longer held.
func (g *gate) leave(e *epoch, n int) {
	if n == 0 {
		return
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	g.held -= n
	e.held -= n
	if e.held == 0 && e != g.now {
		g.end(e)
	}
	for g.held < g.limit && len(g.waiting) > 0 && !g.closed {
		turn := g.waiting[0]
		g.waiting[0] = nil
		g.waiting = g.waiting[1:]
		turn <- g.admit()
	}
}

// end tells whoever waits that an epoch is over. The caller holds mu.
func (g *gate) end(e *epoch) {
	close(e.over)
	for i := range g.open {
		if g.open[i] == e {
			g.open = append(g.open[:i], g.open[i+1:]...)
			break
		}
	}
}

// turn ends the present epoch and returns those of which operations are held.
func (g *gate) turn() []*epoch {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.now.held > 0 {
		g.open = append(g.open, g.now)
		g.now = newEpoch()
	}
	return append([]*epoch(nil), g.open...)
}

// close lets nobody in from now on.
func (g *gate) close() {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.closed {
		return
	}
	g.closed = true
	for _, turn := range g.waiting {
		close(turn)
	}
	g.waiting = nil
}

// pending is the number of operations that are held.
func (g *gate) pending() int {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.held
}

// departures counts operations that leave, so that the gate is asked once for
// many. It must be emptied by done.
type departures struct {
	gate  *gate
	epoch *epoch
	n     int
}

func (d *departures) add(e *epoch) {
	if d.epoch != e {
		d.done()
		d.epoch = e
	}
	d.n++
}

func (d *departures) done() {
	d.gate.leave(d.epoch, d.n)
	d.n = 0
}
