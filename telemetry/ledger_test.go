package telemetry

import (
	"math/rand/v2"
	"strings"
	"sync"
	"testing"
	"time"
)

// fixedClock stands still, so that ages are exact.
func fixedClock(at time.Time) func() time.Time { return func() time.Time { return at } }

var noon = time.Date(2026, 11, 30, 12, 0, 0, 0, time.UTC)

func TestEveryOutcomeIsCountedOnce(t *testing.T) {
	l := NewLedger(fixedClock(noon))
	a := l.Partition("3")
	ms := noon.UnixMilli()
	b := a.Open(4, []int64{ms - 5000, ms - 4000, ms - 3000, ms - 2000, ms - 1000})
	b.Written(0)
	b.Superseded(1)
	b.Dropped(2, "stale")
	b.DeadLettered(3, "malformed")

	s := l.Snapshot()
	if err := s.Balance(); err != nil {
		t.Fatal(err)
	}
	r := s.Partitions[0]
	if r.Partition != "3" || r.Events != 4 || r.Received != 5 || r.Written != 1 || r.Superseded != 1 ||
		r.Dropped["stale"] != 1 || r.DeadLettered["malformed"] != 1 || r.InFlight != 1 {
		t.Errorf("unexpected row: %+v", r)
	}
	if got, want := r.WatermarkAge, time.Second; got != want {
		t.Errorf("watermark age %v, want %v (the only position in flight is a second old)", got, want)
	}
	if got := b.InFlight(); got != 1 {
		t.Errorf("batch in flight %d, want 1", got)
	}
	b.Written(4)
	if r := l.Snapshot().Partitions[0]; r.InFlight != 0 || r.WatermarkAge != 0 {
		t.Errorf("a settled batch still counts: %+v", r)
	}
}

func TestBalanceNamesTheBrokenRow(t *testing.T) {
	s := Snapshot{Partitions: []Row{
		{Partition: "0", Received: 2, Written: 2},
		{Partition: "1", Received: 3, Written: 1, InFlight: 1},
	}}
	err := s.Balance()
	if err == nil || !strings.Contains(err.Error(), "partition 1 does not balance: received 3") {
		t.Errorf("got %v", err)
	}
}

func TestSettlingTwicePanics(t *testing.T) {
	b := NewLedger(fixedClock(noon)).Partition("0").Open(1, []int64{0})
	b.Written(0)
	defer func() {
		if recover() == nil {
			t.Error("the second settlement of a position went unnoticed")
		}
	}()
	b.Dropped(0, "stale")
}

// A snapshot in the midst of settling must balance: the counters and the walk
// over open batches are one reading under one lock.
func TestSnapshotBalancesWhileSettling(t *testing.T) {
	l := NewLedger(time.Now)
	stop := make(chan struct{})
	var writers sync.WaitGroup
	for p := range 4 {
		a := l.Partition(string(rune('0' + p)))
		writers.Go(func() {
			rnd := rand.New(rand.NewPCG(uint64(p), 1))
			for {
				select {
				case <-stop:
					return
				default:
				}
				b := a.Open(10, make([]int64, 10))
				for i := range 10 {
					switch rnd.IntN(4) {
					case 0:
						b.Written(i)
					case 1:
						b.Superseded(i)
					case 2:
						b.Dropped(i, "stale")
					default:
						b.DeadLettered(i, "malformed")
					}
				}
			}
		})
	}
	for range 300 {
		if err := l.Snapshot().Balance(); err != nil {
			t.Error(err)
			break
		}
	}
	close(stop)
	writers.Wait()
	if got := l.Snapshot().Total().InFlight; got != 0 {
		t.Errorf("in flight after everything settled: %d", got)
	}
}

func TestRowsComeInTheOrderOfPartitions(t *testing.T) {
	l := NewLedger(fixedClock(noon))
	for _, id := range []string{"10", "2", "0", "31", "1"} {
		l.Partition(id)
	}
	var got []string
	for _, r := range l.Snapshot().Partitions {
		got = append(got, r.Partition)
	}
	if want := "0 1 2 10 31"; strings.Join(got, " ") != want {
		t.Errorf("got %v, want %s", got, want)
	}
}

func TestLagIsTheDistanceToTheLastSettled(t *testing.T) {
	l := NewLedger(fixedClock(noon))
	a := l.Partition("0")
	if r := l.Snapshot().Partitions[0]; r.HubReported || r.Lag() != 0 {
		t.Errorf("before the hub has reported: %+v", r)
	}
	a.SetLastEnqueued(-1)
	if r := l.Snapshot().Partitions[0]; !r.HubReported || r.Lag() != 0 {
		t.Errorf("a partition that never had an event: %+v", r)
	}
	a.SetLastEnqueued(99)
	if got := l.Snapshot().Partitions[0].Lag(); got != 100 {
		t.Errorf("nothing settled of 100 events: lag %d, want 100", got)
	}
	a.Settled(97)
	if got := l.Snapshot().Partitions[0].Lag(); got != 2 {
		t.Errorf("lag %d, want 2", got)
	}
	a.Settled(120) // we read on while the hub's last report ages
	if got := l.Snapshot().Partitions[0].Lag(); got != 0 {
		t.Errorf("lag %d, want 0", got)
	}
}
