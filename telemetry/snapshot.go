package telemetry

import (
	"fmt"
	"maps"
	"time"
)

// Snapshot is one consistent reading of the ledger.
type Snapshot struct {
	At         time.Time
	Partitions []Row // in the order of partition ids
}

// Row is the reading of one partition's account. Counters are in positions
// unless they say events, and grow from the start of the process.
type Row struct {
	Partition    string
	Events       int64
	Received     int64
	Written      int64
	Superseded   int64
	Dropped      map[string]int64 // by reason
	DeadLettered map[string]int64 // by reason
	InFlight     int64            // counted from open batches

	Missing       int64 // events that the hub never handed over
	Duplicates    int64 // events received again
	Owned         bool
	Clamped       int64         // events whose enqueued time was ahead of our clock
	Freshness     time.Duration // receive freshness of the event seen last
	WatermarkAge  time.Duration // age of the oldest position in flight, 0 without one
	Checkpoint    int64         // sequence number of the last checkpoint written, -1 before the first
	CheckpointAge time.Duration // since that checkpoint was written, 0 before the first
	LastSettled   int64         // sequence number, -1 before the first
	LastEnqueued  int64         // sequence number as the hub reported it, -1 if there never was an event
	HubReported   bool          // LastEnqueued is known
}

// row reads the account at the given time.
func (a *Account) row(at time.Time) Row {
	a.mu.Lock()
	defer a.mu.Unlock()
	r := Row{
		Partition:    a.id,
		Events:       a.events,
		Received:     a.received,
		Written:      a.written,
		Superseded:   a.superseded,
		Dropped:      maps.Clone(a.dropped),
		DeadLettered: maps.Clone(a.deadLettered),
		Missing:      a.missing,
		Duplicates:   a.duplicates,
		Owned:        a.owned,
		Clamped:      a.clamped,
		Freshness:    a.freshness,
		Checkpoint:   a.checkpoint,
		LastSettled:  a.lastSettled,
		LastEnqueued: a.lastEnqueued,
		HubReported:  a.hubReported,
	}
	if a.checkpoint >= 0 {
		r.CheckpointAge = at.Sub(a.checkpointTime)
	}
	oldest := at.UnixMilli()
	for b := range a.open {
		n, ms := b.unsettled()
		if n > 0 {
			r.InFlight += int64(n)
			oldest = min(oldest, ms)
		}
	}
	r.WatermarkAge = time.Duration(at.UnixMilli()-oldest) * time.Millisecond
	return r
}

// Lag is how many events the hub holds beyond the last settled one. It is 0
// while the hub has not reported.
func (r Row) Lag() int64 {
	if !r.HubReported {
		return 0
	}
	return max(0, r.LastEnqueued-r.LastSettled)
}

// Total adds the rows up. Gauges of the result are the worst of all rows.
func (s Snapshot) Total() Row {
	t := Row{Partition: "all", Dropped: map[string]int64{}, DeadLettered: map[string]int64{}}
	for _, r := range s.Partitions {
		t.Events += r.Events
		t.Received += r.Received
		t.Written += r.Written
		t.Superseded += r.Superseded
		t.InFlight += r.InFlight
		t.Clamped += r.Clamped
		t.Missing += r.Missing
		t.Duplicates += r.Duplicates
		for reason, n := range r.Dropped {
			t.Dropped[reason] += n
		}
		for reason, n := range r.DeadLettered {
			t.DeadLettered[reason] += n
		}
		t.Freshness = max(t.Freshness, r.Freshness)
		t.WatermarkAge = max(t.WatermarkAge, r.WatermarkAge)
		t.CheckpointAge = max(t.CheckpointAge, r.CheckpointAge)
	}
	return t
}

// DroppedTotal is the number of dropped positions over all reasons.
func (r Row) DroppedTotal() int64 { return sum(r.Dropped) }

// DeadLetteredTotal is the number of dead-lettered positions over all reasons.
func (r Row) DeadLetteredTotal() int64 { return sum(r.DeadLettered) }

// Balance returns an error that names the first row that breaks promise 1.
func (s Snapshot) Balance() error {
	for _, r := range append(s.Partitions, s.Total()) {
		settled := r.Written + r.Superseded + r.DroppedTotal() + r.DeadLetteredTotal()
		if r.Received != settled+r.InFlight {
			return fmt.Errorf("partition %s does not balance: received %d, but written %d + superseded %d + dropped %d + dead-lettered %d + in flight %d = %d",
				r.Partition, r.Received, r.Written, r.Superseded, r.DroppedTotal(), r.DeadLetteredTotal(), r.InFlight, settled+r.InFlight)
		}
	}
	return nil
}

func sum(counts map[string]int64) int64 {
	var n int64
	for _, c := range counts {
		n += c
	}
	return n
}
