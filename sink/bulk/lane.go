package bulk

import "time"

// lane is the operations of the partition keys that share it, in order. It has
// no lock of its own: its range's covers it.
type lane struct {
	queue []*Operation // from head on, oldest first
	head  int

	busy  bool      // a request holds operations of the lane
	since time.Time // when the wait for company began; zero: it is over

	// before counts the lanes of former ranges that have not yet handed over:
	// their operations come first, and are kept in inherited until then.
	before    int
	inherited []*Operation
}

// len is the number of waiting operations.
func (l *lane) len() int { return len(l.queue) - l.head }

// isFree tells whether the lane's operations may be put into a request.
func (l *lane) isFree() bool { return !l.busy && l.before == 0 }

// push adds an operation at the end.
func (l *lane) push(op *Operation) {
	if l.head > 0 && len(l.queue) == cap(l.queue) {
		n := copy(l.queue, l.queue[l.head:])
		clear(l.queue[n:])
		l.queue, l.head = l.queue[:n], 0
	}
	l.queue = append(l.queue, op)
}

// putBack returns operations to the front, keeping their order. They have waited
// for company before.
func (l *lane) putBack(ops []*Operation) {
	for _, op := range ops {
		if op.due.IsZero() {
			l.since = time.Time{}
		}
	}
	if len(ops) > l.head {
		room := make([]*Operation, 0, len(ops)+l.len()+cap(l.queue)/4)
		room = append(room, ops...)
		l.queue, l.head = append(room, l.queue[l.head:]...), 0
		return
	}
	l.head -= len(ops)
	copy(l.queue[l.head:], ops)
}

// takeAll empties the lane.
func (l *lane) takeAll() []*Operation {
	ops := append(l.inherited, l.queue[l.head:]...)
	l.queue, l.head, l.inherited = nil, 0, nil
	return ops
}

// settle is called when the last of the lanes before has handed over.
func (l *lane) settle() {
	l.putBack(l.inherited)
	l.inherited = nil
}

// pick moves operations into a batch for as long as there is room in it. It
// passes over operations that are not due, and over later ones on the same
// documents: a document is in a request once, so that its operations take
// effect in their order whatever their fate.
func (l *lane) pick(b *batch, limits *limits, now time.Time) {
	end, skipped := l.head, 0
	for ; end < len(l.queue); end++ {
		op := l.queue[end]
		early := op.due.After(now)
		if early || b.documents.has(op.document) {
			if early {
				limits.wait(op.due)
			}
			b.documents.add(op.document)
			skipped++
			continue
		}
		if !limits.admit(b, op) {
			break
		}
		b.documents.add(op.document)
		op.due = time.Time{}
		b.ops = append(b.ops, op)
		b.size += op.size
		l.queue[end] = nil
	}
	// What was passed over closes up to what was not looked at.
	to := end
	for from := end - 1; skipped > 0; from-- {
		if op := l.queue[from]; op != nil {
			to--
			l.queue[from], l.queue[to] = nil, op
			skipped--
		}
	}
	l.head, l.since = to, now // what is left waits for company anew
	if l.head == len(l.queue) {
		l.queue, l.head = l.queue[:0], 0
	}
}

// limits bound a request that is being put together.
type limits struct {
	ops, bytes int
	next       time.Time // when the first of the operations that were not due will be; zero: none
}

// admit tells whether an operation fits into a batch.
func (m *limits) admit(b *batch, op *Operation) bool {
	if len(b.ops) >= m.ops || len(b.ops) > 0 && b.size+op.size > m.bytes {
		return false
	}
	if op.company > 0 {
		if len(b.ops) >= op.company {
			return false
		}
		m.ops = min(m.ops, op.company)
	}
	return true
}

// wait notes that an operation is not due before a time.
func (m *limits) wait(due time.Time) {
	if m.next.IsZero() || due.Before(m.next) {
		m.next = due
	}
}
