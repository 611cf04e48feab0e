package cosmos

import (
	"math"
	"testing"
	"time"
)

var noon = time.Date(2030, 1, 1, 12, 0, 0, 0, time.UTC)

// load offers operations of 10 RU every millisecond and returns how many of
// them were let in per second.
func load(b *budget, seconds int) (accepted []int) {
	for s := range seconds {
		accepted = append(accepted, 0)
		for ms := range 1000 {
			if _, ok := b.admit(noon.Add(time.Duration(s*1000+ms) * time.Millisecond)); ok {
				b.spend(10)
				accepted[s]++
			}
		}
	}
	return accepted
}

func TestWindowsKeepTheRate(t *testing.T) {
	for _, w := range []Window{FixedSecond, Sliding} {
		b := newBudget(1000, w, 0, 0)
		got := load(&b, 5)
		total := 0
		for _, n := range got[1:] {
			total += n
		}
		// Sliding starts with a full bucket, so its first second is not judged.
		if total < 396 || total > 404 {
			t.Errorf("window %d: %v operations of 10 RU a second under 1000 RU/s", w, got)
		}
	}
}

func TestRetryAfterIsWhenItPasses(t *testing.T) {
	for _, w := range []Window{FixedSecond, Sliding} {
		for _, charge := range []float64{100, 250, 999} {
			now := noon.Add(300 * time.Millisecond)
			b := newBudget(100, w, 0, 0)
			b.admit(now)
			b.spend(charge)
			wait, ok := b.admit(now)
			if ok {
				t.Fatalf("window %d: let in with %v RU of 100 spent", w, charge)
			}
			if wait != wait.Truncate(time.Millisecond) || wait <= 0 {
				t.Errorf("window %d: wait %v is not whole milliseconds", w, wait)
			}
			if _, ok := b.admit(now.Add(wait - 2*time.Millisecond)); ok {
				t.Errorf("window %d, %v RU: passes before the wait of %v is over", w, charge, wait)
			}
			if _, ok := b.admit(now.Add(wait)); !ok {
				t.Errorf("window %d, %v RU: does not pass after %v", w, charge, wait)
			}
		}
	}
}

func TestFixedSecondGivesAllAtItsStart(t *testing.T) {
	b := newBudget(100, FixedSecond, 0, 0)
	at := noon.Add(999 * time.Millisecond)
	for range 10 {
		if _, ok := b.admit(at); !ok {
			t.Fatal("refused within the budget")
		}
		b.spend(10)
	}
	if wait, ok := b.admit(at); ok || wait != time.Millisecond {
		t.Errorf("after the budget: wait %v, ok %v; want 1ms", wait, ok)
	}
	for range 10 {
		if _, ok := b.admit(noon.Add(time.Second)); !ok {
			t.Fatal("the next second did not bring its budget")
		}
		b.spend(10)
	}
}

func TestNoiseIsBoundedAndSeeded(t *testing.T) {
	draw := func(seed uint64) (out []float64) {
		b := newBudget(0, FixedSecond, 0.3, seed)
		for range 1000 {
			out = append(out, b.spend(10))
		}
		return out
	}
	a, again, other := draw(1), draw(1), draw(2)
	sum, same := 0.0, true
	for i := range a {
		if a[i] < 7 || a[i] > 13 {
			t.Fatalf("charge %v is outside 10 +- 30%%", a[i])
		}
		if a[i] != again[i] {
			t.Fatal("the same seed gave other charges")
		}
		same = same && a[i] == other[i]
		sum += a[i]
	}
	if same {
		t.Error("another seed gave the same charges")
	}
	if mean := sum / 1000; math.Abs(mean-10) > 0.3 {
		t.Errorf("mean charge %v, want 10", mean)
	}
}
