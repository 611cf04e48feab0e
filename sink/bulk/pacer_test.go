package bulk

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"
	"time"
)

// simulatedRange grants operations as long as the level of its budget is below
// its limit. What exceeds the limit is a debt.
type simulatedRange struct {
	limit   float64 // request units a second
	sliding bool    // drained evenly, or at every full second
	noise   float64 // share by which charges vary
	refuse  float64 // share of operations refused for reasons of its own
	rng     *rand.Rand
	level   float64
	drained time.Time
}

func newSimulatedRange(limit float64, sliding bool, noise float64, start time.Time) *simulatedRange {
	return &simulatedRange{limit: limit, sliding: sliding, noise: noise, rng: rand.New(rand.NewPCG(1, 2)), drained: start.Truncate(time.Second)}
}

// serve returns what operations of equal charge came to.
func (s *simulatedRange) serve(now time.Time, ops int, charge float64) (granted float64, done int, retryAfter time.Duration) {
	at := now
	if !s.sliding {
		at = now.Truncate(time.Second)
	}
	if d := at.Sub(s.drained).Seconds(); d > 0 {
		s.level = max(0, s.level-d*s.limit)
		s.drained = at
	}
	for range ops {
		if s.level >= s.limit {
			over := (s.level - s.limit) / s.limit
			if s.sliding {
				return granted, done, max(time.Duration(over*float64(time.Second)), time.Millisecond)
			}
			return granted, done, now.Truncate(time.Second).Add(time.Second + time.Duration(math.Floor(over))*time.Second).Sub(now)
		}
		if s.rng.Float64() < s.refuse {
			retryAfter = time.Millisecond
			continue
		}
		c := charge * (1 + s.noise*(2*s.rng.Float64()-1))
		s.level += c
		granted += c
		done++
	}
	return granted, done, retryAfter
}

// simulation drives a pacer against a range with unlimited demand, by requests
// that take a while.
type simulation struct {
	pacer   pacer
	at      *simulatedRange
	now     time.Time
	charge  float64
	latency time.Duration
	paused  time.Time
	flights []flight

	granted       float64
	done, refused int
}

type flight struct {
	answered          time.Time
	ops, done         int
	expected, granted float64
	retryAfter        time.Duration
}

// run goes on for some time and returns the part of the range's request units
// that was used in it, and the share of operations that were refused.
func (s *simulation) run(d time.Duration) (used, refused float64) {
	const lanes = 4
	ops := make([]*Operation, mostOperations)
	for i := range ops {
		ops[i] = new(Operation)
	}
	s.granted, s.done, s.refused = 0, 0, 0
	for end := s.now.Add(d); s.now.Before(end); {
		next := end
		switch {
		case s.paused.After(s.now):
			next = s.paused
		case len(s.flights) < lanes:
			underWay := 0
			for _, f := range s.flights {
				underWay += f.ops
			}
			n := min(len(ops), s.pacer.room(underWay))
			if n <= 0 {
				break
			}
			if wait := s.pacer.wait(s.now); wait > 0 {
				next = s.now.Add(wait)
				break
			}
			f := flight{answered: s.now.Add(s.latency), ops: n, expected: s.pacer.start(ops[:n], s.now)}
			f.granted, f.done, f.retryAfter = s.at.serve(s.now.Add(s.latency/2), n, s.charge)
			s.flights = append(s.flights, f)
			continue
		}
		for _, f := range s.flights {
			if f.answered.Before(next) {
				next = f.answered
			}
		}
		s.now = next
		s.flights = slices.DeleteFunc(s.flights, s.land)
	}
	return s.granted / d.Seconds() / s.at.limit, float64(s.refused) / float64(s.refused+s.done)
}

// land takes in the answer to a request if it is there.
func (s *simulation) land(f flight) bool {
	if f.answered.After(s.now) {
		return false
	}
	s.granted += f.granted
	s.done += f.done
	s.refused += f.ops - f.done
	if until := s.now.Add(f.retryAfter); until.After(s.paused) {
		s.paused = until
	}
	s.pacer.learn(Upsert, f.done, f.granted)
	s.pacer.finish(f.expected, f.granted, f.done, f.ops-f.done, s.now, s.paused)
	return true
}

// simulationStart is in the middle of a second, as starts are.
func simulationStart() time.Time { return time.Date(2026, 11, 30, 12, 0, 0, 370_000_000, time.UTC) }

func newSimulation(at *simulatedRange, ceiling float64) *simulation {
	start := simulationStart()
	return &simulation{pacer: newPacer(ceiling, start), at: at, now: start, charge: 6, latency: 5 * time.Millisecond}
}

func TestPacerUsesWhatThereIs(t *testing.T) {
	for _, limit := range []float64{400, 1000, 10_000} {
		for _, sliding := range []bool{false, true} {
			for _, noise := range []float64{0, 0.3} {
				for _, charge := range []float64{6, 11} {
					for _, latency := range []time.Duration{2 * time.Millisecond, 10 * time.Millisecond, 40 * time.Millisecond} {
						t.Run(fmt.Sprintf("limit=%v sliding=%v noise=%v charge=%v latency=%v", limit, sliding, noise, charge, latency), func(t *testing.T) {
							s := newSimulation(newSimulatedRange(limit, sliding, noise, simulationStart()), 0)
							s.charge, s.latency = charge, latency
							used, refused := s.run(30 * time.Second)
							if used < 0.95 || refused > 0.05 {
								t.Errorf("used %.1f %% and had %.1f %% refused, want at least 95 %% and at most 5 %%", 100*used, 100*refused)
							}
						})
					}
				}
			}
		}
	}
}

// When a range gets more or less to give, the pacer finds out.
func TestPacerFollowsTheLimit(t *testing.T) {
	for _, sliding := range []bool{false, true} {
		for _, change := range []float64{0.25, 4} {
			t.Run(fmt.Sprintf("sliding=%v change=%v", sliding, change), func(t *testing.T) {
				s := newSimulation(newSimulatedRange(2000, sliding, 0.3, simulationStart()), 0)
				s.run(20 * time.Second)
				s.at.limit *= change
				s.run(30 * time.Second)
				used, refused := s.run(20 * time.Second)
				if used < 0.95 || refused > 0.05 {
					t.Errorf("used %.1f %% and had %.1f %% refused, want at least 95 %% and at most 5 %%", 100*used, 100*refused)
				}
			})
		}
	}
}

// Refusals that do not become fewer with less haste must not stop the work.
func TestPacerDoesNotYieldToRefusalsByChance(t *testing.T) {
	t.Parallel()
	for _, share := range []float64{0.02, 0.06, 0.12} {
		s := newSimulation(newSimulatedRange(1e9, false, 0, simulationStart()), 0)
		s.at.refuse = share
		s.run(20 * time.Second)
		used, _ := s.run(40 * time.Second)
		if got := used * s.at.limit; got < 20_000 {
			t.Errorf("with %v of operations refused, %.0f RU/s were used", share, got)
		}
	}
}

func TestPacerKeepsTheCeiling(t *testing.T) {
	s := newSimulation(newSimulatedRange(1e9, false, 0.3, simulationStart()), 500)
	used, refused := s.run(20 * time.Second)
	if got := used * s.at.limit; got < 480 || got > 510 || refused != 0 {
		t.Errorf("used %.0f RU/s and had %.3f refused, want 500 and none", got, refused)
	}
}

func TestMeter(t *testing.T) {
	var m meter
	now := simulationStart()
	for range 30 {
		m.add(now, 50)
		now = now.Add(100 * time.Millisecond)
	}
	if got := m.perSecond(now, time.Second); got < 450 || got > 500 {
		t.Errorf("%.0f RU/s, want 500", got)
	}
	if got := m.perSecond(now.Add(500*time.Millisecond), time.Second); got < 200 || got > 250 {
		t.Errorf("%.0f RU/s after a pause, want half", got)
	}
	if got := m.perSecond(now.Add(time.Hour), time.Second); got != 0 {
		t.Errorf("%.0f RU/s after an hour, want 0", got)
	}
}
