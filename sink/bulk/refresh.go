package bulk

import (
	"context"
	"fmt"
	"slices"
	"time"
)

// table is the ranges of the container in the order of their bounds. It does
// not change; another layout is another table.
type table struct{ ranges []*physical }

// find returns the range that holds a position.
func (t *table) find(at *position) *physical {
	low, high := 0, len(t.ranges)
	for high-low > 1 {
		if middle := int(uint(low+high) >> 1); t.ranges[middle].min.compare(at) > 0 {
			high = middle
		} else {
			low = middle
		}
	}
	return t.ranges[low]
}

// calm is how long a layout is good enough when a few operations only were
// refused because of it.
const calm = time.Second

// refresh asks for the layout to be read anew. However many ranges ask, it is
// read once.
func (w *Writer) refresh(life context.Context, urgent bool) {
	w.refreshing.Lock()
	defer w.refreshing.Unlock()
	if !urgent && (w.refreshing.running || w.now().Sub(w.refreshing.read) < calm) {
		return
	}
	w.refreshing.wanted++
	if w.refreshing.running {
		return
	}
	w.refreshing.running = true
	w.wait.Go(func() {
		for failures := 0; life.Err() == nil; {
			w.refreshing.Lock()
			wanted := w.refreshing.wanted
			w.refreshing.Unlock()

			err := w.readAgain(life)
			if w.config.Observer != nil {
				w.config.Observer.Refreshed(err)
			}
			w.refreshing.Lock()
			w.refreshing.fault = err
			if err == nil {
				w.refreshing.read = w.now()
			}
			if err == nil && wanted == w.refreshing.wanted {
				w.refreshing.running = false
				w.refreshing.Unlock()
				return
			}
			w.refreshing.Unlock()
			if err != nil {
				failures++
				w.complain("reading the physical ranges failed", err)
				_ = sleep(life, backOff(w.config.RetryFirst, w.config.RetryMost, failures))
			}
		}
	})
}

// readAgain reads the layout and puts it into force. A container that was made
// anew with another key is an error: the writer's operations do not fit it.
func (w *Writer) readAgain(ctx context.Context) error {
	container, err := w.client.readContainer(ctx)
	if err != nil {
		return err
	}
	if !container.sameKey(w.container) {
		return fmt.Errorf("the container is partitioned by %v (hash version %d) now, the writer was opened for %v (%d)",
			container.KeyPaths, container.KeyVersion, w.container.KeyPaths, w.container.KeyVersion)
	}
	layout, err := w.client.readLayout(ctx)
	if err != nil {
		return err
	}
	w.adopt(ctx, layout)
	return nil
}

// adopt puts a layout into force. Ranges that are in it already go on as they
// are. One that is not any more is retired: what waits in its lanes moves on to
// the lanes of the same number of the ranges that cover its place, and these
// lanes hold back what is submitted to them until it has, so that operations on
// one document stay in order.
//
// It is called by one goroutine at a time.
func (w *Writer) adopt(life context.Context, layout []bounds) {
	var old []*physical
	if t := w.table.Load(); t != nil {
		old = t.ranges
	}
	ceiling := w.config.MaxRUPerSecond / float64(len(layout))
	next := &table{ranges: make([]*physical, len(layout))}
	var made []*physical
	for i, b := range layout {
		if at := slices.IndexFunc(old, func(r *physical) bool { return r.bounds == b }); at >= 0 {
			next.ranges[i] = old[at]
			continue
		}
		next.ranges[i] = newPhysical(w, b, ceiling)
		made = append(made, next.ranges[i])
	}
	var gone []*physical
	successors := make(map[*physical][]*physical)
	for _, r := range old {
		if slices.Contains(next.ranges, r) {
			continue
		}
		gone = append(gone, r)
		for _, n := range made {
			if r.min.compare(&n.max) < 0 && n.min.compare(&r.max) < 0 {
				successors[r] = append(successors[r], n)
				for i := range n.lanes {
					n.lanes[i].before++
				}
				r.mu.Lock()
				n.pacer.inherit(&r.pacer)
				r.mu.Unlock()
			}
		}
	}
	// From here on nothing new is submitted to ranges that are gone, once their
	// submitters have seen that they are retired.
	w.table.Store(next)
	for _, r := range gone {
		r.mu.Lock()
		r.retired, r.successors = true, successors[r]
		for i := range r.lanes {
			r.hasRoom(i)
		}
		r.mu.Unlock()
		r.signal()
	}
	for _, r := range next.ranges {
		r.mu.Lock()
		r.lost = false
		r.pacer.limit(ceiling)
		r.mu.Unlock()
		r.signal()
	}
	if w.started.Load() {
		for _, r := range made {
			w.wait.Go(func() { r.run(life) })
		}
	}
	if len(gone) > 0 {
		w.log.Info("the physical ranges have changed", "container", w.client.target.Container, "ranges", len(layout), "retired", len(gone), "new", len(made))
	}
}

// handOver moves what waits in the lanes that are free to the ranges that have
// taken this one's place. It tells whether all lanes are handed over. The caller
// holds mu, which is given up and taken again.
func (r *physical) handOver() (over bool) {
	over = true
	for i := range r.lanes {
		if r.handed[i] {
			continue
		}
		l := &r.lanes[i]
		if !l.isFree() {
			over = false
			continue
		}
		ops := l.takeAll()
		r.handed[i] = true
		r.mu.Unlock()
		r.distribute(i, ops)
		r.mu.Lock()
	}
	return over
}

// distribute brings the operations of lane i, in order, to where they belong.
func (r *physical) distribute(i int, ops []*Operation) {
	t := table{r.successors}
	for _, op := range ops {
		t.find(&op.at).inherit(i, op)
	}
	for _, n := range r.successors {
		n.mu.Lock()
		l := &n.lanes[i]
		if l.before--; l.before == 0 {
			l.settle()
			l.since = time.Time{} // whatever is there has waited
		}
		n.mu.Unlock()
		n.signal()
	}
}

// inherit takes an operation that was submitted to a range whose place this one
// has taken.
func (r *physical) inherit(i int, op *Operation) {
	r.mu.Lock()
	ended := r.ended
	if ended == nil {
		r.lanes[i].inherited = append(r.lanes[i].inherited, op)
	}
	r.mu.Unlock()
	if ended != nil {
		r.w.giveUp([]*Operation{op}, ended)
	}
}
