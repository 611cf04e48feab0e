package telemetry

import (
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"
)

// state is what has become of one position.
type state uint8

const (
	inFlight state = iota
	written
	superseded
	dropped
	deadLettered
)

// Ledger is the book of what was received and what became of it, one account
// per hub partition. All methods are safe for concurrent use.
type Ledger struct {
	now func() time.Time

	mu       sync.RWMutex // covers accounts; take it before an account's own lock
	accounts map[string]*Account
}

// NewLedger returns an empty ledger that takes ages against now.
func NewLedger(now func() time.Time) *Ledger {
	return &Ledger{now: now, accounts: make(map[string]*Account)}
}

// Partition returns the account of one hub partition, opening it on first use.
// An account outlives the ownership of its partition: counters only grow.
func (l *Ledger) Partition(id string) *Account {
	l.mu.RLock()
	a := l.accounts[id]
	l.mu.RUnlock()
	if a != nil {
		return a
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if a = l.accounts[id]; a == nil {
		a = &Account{
			id:           id,
			dropped:      make(map[string]int64),
			deadLettered: make(map[string]int64),
			open:         make(map[*Batch]struct{}),
			checkpoint:   -1,
			lastSettled:  -1,
		}
		l.accounts[id] = a
	}
	return a
}

// Account is the ledger's page for one hub partition.
// All methods are safe for concurrent use.
type Account struct {
	id string

	mu           sync.Mutex // covers everything below, and the states of open batches
	events       int64
	received     int64
	written      int64
	superseded   int64
	dropped      map[string]int64
	deadLettered map[string]int64
	open         map[*Batch]struct{}

	missing        int64
	duplicates     int64
	owned          bool
	clamped        int64
	freshness      time.Duration
	checkpoint     int64 // sequence number, -1 before the first
	checkpointTime time.Time
	lastEnqueued   int64 // sequence number, -1 for a partition that never had an event
	hubReported    bool  // lastEnqueued is known
	lastSettled    int64 // sequence number, -1 before the first
}

// Batch is the set of positions that were received together. Each of them is in
// flight until it is settled exactly once.
type Batch struct {
	account  *Account
	states   []state
	enqueued []int64
	left     int
}

// Open counts events and the positions they yielded as received and in flight.
// enqueued has one entry per position: its enqueued time in Unix milliseconds.
// The batch keeps its own copy.
func (a *Account) Open(events int, enqueued []int64) *Batch {
	b := &Batch{
		account:  a,
		states:   make([]state, len(enqueued)),
		enqueued: slices.Clone(enqueued),
		left:     len(enqueued),
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	a.events += int64(events)
	a.received += int64(len(enqueued))
	if b.left > 0 {
		a.open[b] = struct{}{}
	}
	return b
}

// Written settles position i: the store acknowledged it.
func (b *Batch) Written(i int) { b.settle(i, written, "") }

// Superseded settles position i: a newer one of the same document stands.
func (b *Batch) Superseded(i int) { b.settle(i, superseded, "") }

// Dropped settles position i: policy says that it is not written.
func (b *Batch) Dropped(i int, reason string) { b.settle(i, dropped, reason) }

// DeadLettered settles position i: it is safe in the dead letters.
func (b *Batch) DeadLettered(i int, reason string) { b.settle(i, deadLettered, reason) }

// settle moves position i out of flight. Settling twice is a programming error
// that would break promise 1 without a trace, hence the panic.
func (b *Batch) settle(i int, to state, reason string) {
	a := b.account
	a.mu.Lock()
	defer a.mu.Unlock()
	if b.states[i] != inFlight {
		panic(fmt.Sprintf("telemetry: position %d of a batch of partition %s settled twice", i, a.id))
	}
	b.states[i] = to
	switch to {
	case written:
		a.written++
	case superseded:
		a.superseded++
	case dropped:
		a.dropped[reason]++
	case deadLettered:
		a.deadLettered[reason]++
	}
	if b.left--; b.left == 0 {
		delete(a.open, b)
	}
}

// InFlight returns how many positions of the batch are not settled.
func (b *Batch) InFlight() int {
	b.account.mu.Lock()
	defer b.account.mu.Unlock()
	n, _ := b.unsettled()
	return n
}

// unsettled counts the positions in flight and returns the oldest enqueued time
// among them. The account's lock must be held.
func (b *Batch) unsettled() (n int, oldest int64) {
	for i, s := range b.states {
		if s != inFlight {
			continue
		}
		if n == 0 || b.enqueued[i] < oldest {
			oldest = b.enqueued[i]
		}
		n++
	}
	return n, oldest
}

// SetOwned records whether this process owns the partition now.
func (a *Account) SetOwned(owned bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.owned = owned
}

// SetFreshness records the receive freshness of the event seen last.
func (a *Account) SetFreshness(d time.Duration) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.freshness = d
}

// Clamped counts an event whose enqueued time lay so far ahead of this
// process's clock that receive time was taken instead.
func (a *Account) Clamped() {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.clamped++
}

// Missing counts sequence numbers that the hub never handed over. They were not
// received and are no part of the balance.
func (a *Account) Missing(events int64) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.missing += events
}

// Duplicates counts events that were received before, in this process.
func (a *Account) Duplicates(events int64) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.duplicates += events
}

// Settled records the sequence number up to which everything is settled.
func (a *Account) Settled(sequence int64) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.lastSettled = sequence
}

// SetLastEnqueued records the newest sequence number that the hub reported, -1
// for a partition that never had an event; lag is the distance from there to the last settled one.
func (a *Account) SetLastEnqueued(sequence int64) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.lastEnqueued, a.hubReported = sequence, true
}

// Checkpointed records a checkpoint that was written at the given time.
func (a *Account) Checkpointed(sequence int64, at time.Time) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.checkpoint, a.checkpointTime = sequence, at
}

// Snapshot reads every account once. Each row is taken under its account's
// lock, so each row balances, and so does their sum.
func (l *Ledger) Snapshot() Snapshot {
	l.mu.RLock()
	accounts := make([]*Account, 0, len(l.accounts))
	for _, a := range l.accounts {
		accounts = append(accounts, a)
	}
	l.mu.RUnlock()

	s := Snapshot{At: l.now(), Partitions: make([]Row, 0, len(accounts))}
	for _, a := range accounts {
		s.Partitions = append(s.Partitions, a.row(s.At))
	}
	slices.SortFunc(s.Partitions, func(x, y Row) int {
		// Partition ids are small decimal numbers: shorter is smaller.
		if len(x.Partition) != len(y.Partition) {
			return len(x.Partition) - len(y.Partition)
		}
		return strings.Compare(x.Partition, y.Partition)
	})
	return s
}
