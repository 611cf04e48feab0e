package fleet

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"
)

// paceOf walks through all drones of a fleet.
func paceOf(f *Fleet) pace {
	var p pace
	for i := range f.Size() {
		p.drones = append(p.drones, f.Drone(i))
	}
	return p
}

func TestPaceGivesWhatIsDueInOrder(t *testing.T) {
	f := newFleet(t, func(c *Config) { c.Drones, c.Interval = 4, 8*time.Second }) // one every 2 s
	p := paceOf(f)
	for _, step := range []struct {
		after time.Duration
		most  int
		want  []string
	}{
		{-time.Millisecond, 10, nil},
		{0, 10, []string{"drone-0000:0"}},
		{1999 * time.Millisecond, 10, nil},
		{2 * time.Second, 10, []string{"drone-0001:0"}},
		{9 * time.Second, 2, []string{"drone-0002:0", "drone-0003:0"}}, // three are due
		{9 * time.Second, 10, []string{"drone-0000:1"}},
		{9 * time.Second, 10, nil},
		{18 * time.Second, 10, []string{"drone-0001:1", "drone-0002:1", "drone-0003:1", "drone-0000:2", "drone-0001:2"}},
	} {
		got := p.upTo(noon.Add(step.after), step.most)
		if len(got) != len(step.want) {
			t.Fatalf("after %v: got %d events, want %v", step.after, len(got), step.want)
		}
		for i, e := range got {
			if e.ID() != step.want[i] {
				t.Errorf("after %v: got %s, want %s", step.after, e.ID(), step.want[i])
			}
		}
	}
}

// In these tests time is that of the bubble: it passes when all wait.

func TestLaneSendsWhenDue(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		cfg := DefaultConfig()
		cfg.Drones, cfg.Interval = 10, 5*time.Second
		f, err := New(cfg, time.Now().Add(3*time.Second))
		if err != nil {
			t.Fatal(err)
		}
		sent := 0
		l := lane{pace: paceOf(f), now: time.Now, deliver: func(_ context.Context, events []Event) error {
			for _, e := range events {
				if late := time.Since(e.Due); late != 0 {
					t.Errorf("%s is sent %v after it is due", e.ID(), late)
				}
			}
			sent += len(events)
			return nil
		}}
		ctx, cancel := context.WithTimeout(t.Context(), 3*time.Second+time.Minute-1)
		defer cancel()
		if err := l.run(ctx); err != nil {
			t.Fatal(err)
		}
		if want := 10 * 60 / 5; sent != want {
			t.Errorf("sent %d events in a minute, want %d", sent, want)
		}
	})
}

func TestLaneSkipsNothingWhenLate(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		cfg := DefaultConfig()
		cfg.Drones, cfg.Interval = 10, 5*time.Second
		f, err := New(cfg, time.Now())
		if err != nil {
			t.Fatal(err)
		}
		next := make([]int, 10)
		var stats tracker
		stalls := 2
		l := lane{pace: paceOf(f), now: time.Now, deliver: func(_ context.Context, events []Event) error {
			stats.begin(events, time.Now(), time.Second)
			for _, e := range events {
				if e.Number != next[e.Drone] {
					t.Errorf("%s follows event %d", e.ID(), next[e.Drone]-1)
				}
				next[e.Drone]++
			}
			if stalls > 0 && time.Since(f.Start()) > 20*time.Second {
				stalls--
				time.Sleep(12 * time.Second)
			}
			return nil
		}}
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute-1)
		defer cancel()
		if err := l.run(ctx); err != nil {
			t.Fatal(err)
		}
		for i, n := range next {
			if n != 12 {
				t.Errorf("drone %d sent %d events in a minute, want 12", i, n)
			}
		}
		// The hub stalls at 20.5 s until 44.5 s, with a breath at 32.5 s. Events
		// are due every half second: of the 24 that wait at the breath three are not
		// older than a second, and so are three of the next 24.
		got := stats.snapshot()
		if got.Late != 42 || got.WorstDelay != 11500*time.Millisecond {
			t.Errorf("got %d late, by up to %v, want 42 by up to 11.5s", got.Late, got.WorstDelay)
		}
	})
}

func TestLaneEndsWithTheFirstError(t *testing.T) {
	f := newFleet(t, nil)
	broken := errors.New("broken")
	calls := 0
	l := lane{pace: paceOf(f), now: func() time.Time { return noon.Add(time.Hour) }, deliver: func(context.Context, []Event) error {
		calls++
		return broken
	}}
	if err := l.run(t.Context()); !errors.Is(err, broken) || calls != 1 {
		t.Errorf("got %v after %d calls", err, calls)
	}
}
