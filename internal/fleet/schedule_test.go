package fleet

import (
	"testing"
	"time"
)

func TestScheduleIsAbsolute(t *testing.T) {
	s := schedule{drones: 4, interval: 10 * time.Second, samples: 5}
	for _, test := range []struct {
		drone, n, k   int
		due, measured time.Duration
	}{
		{0, 0, 4, 0, 0},
		{0, 0, 0, 0, -8 * time.Second},
		{1, 0, 4, 2500 * time.Millisecond, 2500 * time.Millisecond},
		{3, 2, 3, 27500 * time.Millisecond, 25500 * time.Millisecond},
		{3, 100_000_000, 4, 1_000_000_007500 * time.Millisecond, 1_000_000_007500 * time.Millisecond},
	} {
		if got := s.due(test.drone, test.n); got != test.due {
			t.Errorf("event %d of drone %d is due %v, want %v", test.n, test.drone, got, test.due)
		}
		if got := s.measured(test.drone, test.n, test.k); got != test.measured {
			t.Errorf("sample %d of event %d of drone %d is of %v, want %v", test.k, test.n, test.drone, got, test.measured)
		}
	}
}

func TestPhasesOfTheGreatestFleetAreEven(t *testing.T) {
	s := schedule{drones: 1_000_000, interval: 24 * time.Hour, samples: 1}
	if got, want := s.due(999_999, 0), 24*time.Hour-86400*time.Microsecond; got != want {
		t.Errorf("the last drone is due %v, want %v", got, want)
	}
	for i := 1; i < s.drones; i++ {
		if got := s.due(i, 0) - s.due(i-1, 0); got != 86400*time.Microsecond {
			t.Fatalf("drone %d is due %v after the one before it", i, got)
		}
	}
}

func TestPhasesAreEvenWhereTheyDoNotDivide(t *testing.T) {
	s := schedule{drones: 1_000_000, interval: 1_500_000, samples: 1} // a nanosecond and a half apart
	for drone, want := range map[int]time.Duration{1: 1, 2: 3, 3: 4, 500_000: 750_000, 999_999: 1_499_998} {
		if got := s.due(drone, 0); got != want {
			t.Errorf("drone %d is due %d ns, want %d", drone, got, want)
		}
	}
}

func TestSpanEndsWithTheLastEvent(t *testing.T) {
	cfg := DefaultConfig()
	cfg.Drones = 3
	for _, n := range []int{0, 1, 2, 3, 4, 100} {
		want := time.Duration(0)
		if f, _ := New(cfg, noon); n > 0 {
			want = f.Burst(n)[n-1].Due.Sub(noon)
		}
		if got := cfg.Span(n); got != want {
			t.Errorf("%d events: got %v, want %v", n, got, want)
		}
	}
}
