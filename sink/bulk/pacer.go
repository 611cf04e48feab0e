package bulk

import (
	"math"
	"time"
)

// pacer decides how fast requests go to one physical range, so that the range's
// request units are used up and hardly any operation is refused for lack of
// them. It has no lock of its own: its range's covers it.
//
// The service does not say how many request units a range has. Until a range
// refuses something (429), nothing is paced, but the number of operations under
// way doubles only with every answer, so that the first refusal does not hit
// all of what is waiting. From then on a token bucket lets requests go at a rate
// that is what the range was seen to grant, a little less after each refusal,
// and a little more, then ever more, after a time without.
type pacer struct {
	ceiling float64 // request units a second that are never exceeded, 0: none
	rate    float64 // request units a second; 0: not paced
	tokens  float64 // request units that may be spent at once; negative after spending too many
	filled  time.Time

	expect [kinds]float64 // request units of an operation, a moving average
	spent  meter

	reach   int       // operations that may be under way while nothing is known
	refused time.Time // when request units last ran out
	streak  int       // seconds in a row in which they did
	grown   time.Time // when the rate was last raised
	held    bool      // a request had to wait for tokens since
}

const (
	firstReach  = 16
	firstExpect = 6 // what writing a small document with few indexes costs

	// burst is the time for which unused tokens last. It must bridge the
	// pauses between requests and should not let the range be flooded.
	burst = 100 * time.Millisecond

	// share is the part of a second's request units that one request may cost:
	// when a range's second is used up, all that is left of the request is
	// refused.
	share = 20

	// leastRate keeps a range that only ever refuses from being forgotten.
	leastRate = 1
)

func newPacer(ceiling float64, now time.Time) pacer {
	p := pacer{reach: firstReach, filled: now, grown: now}
	for k := range p.expect {
		p.expect[k] = firstExpect
	}
	p.limit(ceiling)
	return p
}

// inherit takes over what was learnt of a range that this one came from.
func (p *pacer) inherit(from *pacer) {
	p.rate, p.expect, p.reach = from.rate, from.expect, from.reach
	p.limit(p.ceiling)
}

// limit sets the ceiling.
func (p *pacer) limit(ceiling float64) {
	p.ceiling = ceiling
	if ceiling > 0 && (p.rate == 0 || p.rate > ceiling) {
		p.rate = ceiling
	}
}

// fill adds the tokens of the time that went by.
func (p *pacer) fill(now time.Time) {
	if d := now.Sub(p.filled); d > 0 {
		p.tokens = min(p.tokens+p.rate*d.Seconds(), p.rate*burst.Seconds())
		p.filled = now
	}
}

// wait is how long the next request has to wait.
func (p *pacer) wait(now time.Time) time.Duration {
	if p.rate == 0 {
		return 0
	}
	p.fill(now)
	if p.tokens > 0 {
		return 0
	}
	p.held = true
	return time.Duration((-p.tokens/p.rate)*float64(time.Second)) + time.Microsecond
}

// room is the most operations that the next request may have, with so many
// under way. It can be zero only while some are.
func (p *pacer) room(underWay int) int {
	if p.rate == 0 {
		return p.reach - underWay
	}
	dearest := 0.0
	for _, e := range p.expect {
		dearest = max(dearest, e)
	}
	return int(max(1, p.rate/share/dearest))
}

// start takes the tokens that a request is expected to cost.
func (p *pacer) start(ops []*Operation, now time.Time) (expected float64) {
	for _, op := range ops {
		expected += p.expect[op.Kind]
	}
	p.fill(now)
	p.tokens -= expected
	return expected
}

// learn notes the charge of operations that were carried out.
func (p *pacer) learn(k Kind, operations int, charge float64) {
	if operations > 0 {
		weight := min(float64(operations)/32, 1)
		p.expect[k] += (charge/float64(operations) - p.expect[k]) * weight
	}
}

// finish settles a request that cost other than expected. Operations that were
// refused for lack of request units are in refused, those carried out in done.
func (p *pacer) finish(expected, charge float64, done, refused int, now time.Time) {
	p.fill(now)
	p.tokens += expected - charge
	p.spent.add(now, charge)
	if refused > 0 {
		p.slow(now)
		return
	}
	if p.rate == 0 {
		if done > 0 {
			p.reach = min(2*p.reach, 1<<20)
		}
		return
	}
	p.quicken(now)
}

// slow lowers the rate after a refusal. Refusals of the same second are one.
func (p *pacer) slow(now time.Time) {
	since := now.Sub(p.refused)
	if since < time.Second && !p.refused.IsZero() {
		return
	}
	if since < 2*time.Second && !p.refused.IsZero() {
		p.streak++
	} else {
		p.streak = 0
	}
	p.refused, p.grown = now, now
	granted := p.spent.perSecond(now, time.Second)
	if p.rate == 0 {
		p.rate = max(granted, leastRate)
		p.tokens = 0
		p.limit(p.ceiling)
		return
	}
	down := [...]float64{0.98, 0.97, 0.95, 0.9, 0.8}[min(p.streak, 4)]
	p.rate *= down
	if p.streak > 0 {
		// Two refusals in a row: what the range granted of late is a bound.
		p.rate = min(p.rate, 1.01*p.spent.perSecond(now, 2*time.Second))
	}
	p.rate = max(p.rate, leastRate)
}

// quicken raises the rate if it held requests back.
func (p *pacer) quicken(now time.Time) {
	d := now.Sub(p.grown)
	if d < 100*time.Millisecond {
		return
	}
	p.grown = now
	if !p.held {
		return
	}
	p.held = false
	// Half a percent a second, doubled every two seconds after the first four,
	// up to 20 %.
	quiet := now.Sub(p.refused).Seconds()
	perSecond := 0.005 * math.Exp2(max(0, quiet-4)/2)
	p.rate *= 1 + min(perSecond, 0.2)*min(d.Seconds(), 1)
	p.limit(p.ceiling)
}

// meter adds up request units over the last seconds.
type meter struct {
	slots [24]float64
	last  int64 // slot number of the newest
}

const meterSlot = 100 * time.Millisecond

func (m *meter) advance(now time.Time) {
	at := now.UnixNano() / int64(meterSlot)
	if at-m.last >= int64(len(m.slots)) || m.last == 0 {
		clear(m.slots[:])
		m.last = at
	}
	for m.last < at {
		m.last++
		m.slots[m.last%int64(len(m.slots))] = 0
	}
}

func (m *meter) add(now time.Time, units float64) {
	m.advance(now)
	m.slots[m.last%int64(len(m.slots))] += units
}

// perSecond is the average over the time until now, of at most two seconds.
func (m *meter) perSecond(now time.Time, over time.Duration) float64 {
	m.advance(now)
	n := int64(over / meterSlot)
	sum := 0.0
	for i := range n {
		sum += m.slots[(m.last-i)%int64(len(m.slots))]
	}
	return sum / over.Seconds()
}
