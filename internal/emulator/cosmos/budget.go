package cosmos

import (
	"math"
	"math/rand/v2"
	"time"
)

// Window is how the request units of a physical range are measured against its
// limit. The service documents a budget "per second" and not its exact shape,
// so clients should do well under both.
type Window int

const (
	// FixedSecond gives each second of the clock its own budget.
	FixedSecond Window = iota
	// Sliding refills the budget evenly, as a token bucket that holds one
	// second's worth.
	Sliding
)

// budget is the meter of one range. Both windows are one level that charges
// raise and time drains; they differ in when it drains. An operation is let in
// while the level is below the limit, whatever it will cost: its cost is known
// only afterwards, and what exceeds the limit is a debt to the coming seconds.
type budget struct {
	perSecond float64 // 0: no limit
	window    Window
	level     float64
	drained   time.Time

	noise float64
	rand  *rand.Rand // nil without noise
}

func newBudget(perSecond float64, window Window, noise float64, seed uint64) budget {
	b := budget{perSecond: perSecond, window: window}
	if noise > 0 {
		b.noise, b.rand = noise, rand.New(rand.NewPCG(seed, 0x9e3779b97f4a7c15))
	}
	return b
}

// admit tells whether an operation may run now, and otherwise how long until
// one may.
func (b *budget) admit(now time.Time) (wait time.Duration, ok bool) {
	if b.perSecond <= 0 {
		return 0, true
	}
	b.drain(now)
	if b.level < b.perSecond {
		return 0, true
	}
	seconds := (b.level - b.perSecond) / b.perSecond
	if b.window == FixedSecond {
		untilNext := now.Truncate(time.Second).Add(time.Second).Sub(now)
		wait = untilNext + time.Duration(math.Floor(seconds))*time.Second
	} else {
		// One nanosecond more: the level must be below the limit, not at it.
		wait = time.Duration(seconds*float64(time.Second)) + 1
	}
	// Whole milliseconds are what the protocol can say, and fewer than needed
	// would bring the client back too early.
	return max((wait + time.Millisecond - 1).Truncate(time.Millisecond), time.Millisecond), false
}

func (b *budget) drain(now time.Time) {
	at := now
	if b.window == FixedSecond {
		at = now.Truncate(time.Second)
	}
	if elapsed := at.Sub(b.drained).Seconds(); elapsed > 0 {
		b.level = max(0, b.level-elapsed*b.perSecond)
		b.drained = at
	}
}

// spend takes a charge, with its noise, and returns what it came to.
func (b *budget) spend(charge float64) float64 {
	if b.rand != nil {
		charge *= 1 + b.noise*(2*b.rand.Float64()-1)
	}
	charge = roundCharge(charge)
	if b.perSecond > 0 {
		b.level += charge
	}
	return charge
}
