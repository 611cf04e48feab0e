package fleet

import (
	"sync"
	"time"
)

// Stats is what a Sender did so far.
type Stats struct {
	// Sent is what the hub acknowledged.
	Sent Tally
	// Batches is in how many batches.
	Batches int
	// Failures is how many attempts to send a batch were not acknowledged.
	Failures int
	// Late is how many events of the schedule were sent more than
	// SenderConfig.LateAfter after their due time. They were sent all the same.
	Late int
	// WorstDelay is the greatest time by which an event of the schedule was sent
	// after its due time.
	WorstDelay time.Duration
}

// tracker keeps the Stats of a Sender. It is safe for concurrent use.
type tracker struct {
	mu    sync.Mutex // covers stats
	stats Stats
}

func (t *tracker) snapshot() Stats {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.stats
}

// begin notes that events of the schedule are about to be sent.
func (t *tracker) begin(events []Event, now time.Time, lateAfter time.Duration) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for i := range events {
		delay := now.Sub(events[i].Due)
		t.stats.WorstDelay = max(t.stats.WorstDelay, delay)
		if delay > lateAfter {
			t.stats.Late++
		}
	}
}

// acknowledged notes a batch that the hub has.
func (t *tracker) acknowledged(events []Event) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.stats.Batches++
	for i := range events {
		t.stats.Sent.add(len(events[i].Positions))
	}
}

// failed notes an attempt that was not acknowledged.
func (t *tracker) failed() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.stats.Failures++
}
