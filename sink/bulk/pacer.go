package bulk

import (
	"slices"
	"time"
)

// pacer decides how fast requests go to one physical range, so that the range's
// request units are used up and hardly any operation is refused for lack of
// them. It has no lock of its own: its range's covers it.
//
// The service does not say how many request units a range has. Until a range
// refuses something (429), nothing is paced, but the number of operations under
// way grows by a quarter from answer to answer, so that the first refusal does not hit all
// of what is waiting. From then on a token bucket, paid with what operations are
// charged, lets requests go at a rate that is judged once in a round of about a
// second:
//
//   - The range granted as much as the rate says, and refused next to nothing:
//     it may have more. The rate rises, by a step that doubles with every such
//     round.
//   - It granted as much, and refused a little: this is its limit. The rate is
//     taken back by a hair.
//   - It granted less and refused the rest: the rate becomes what it granted, or
//     a little less than the best of the last rounds.
//   - There was less to send than the rate allows: nothing can be learnt.
//
// After the first refusal, and whenever refusals do not become fewer, the pacer
// searches: the rate rises by great steps in short rounds, whatever is refused,
// for as long as that makes the range grant more.
type pacer struct {
	ceiling float64 // request units a second that are never exceeded, 0: none
	rate    float64 // request units a second; 0: not paced
	tokens  float64 // request units that may be spent at once; negative after spending too many
	filled  time.Time

	expect [kinds]float64 // request units of an operation, a moving average
	spent  meter

	reach     int // operations that may be under way while nothing is known
	searching bool
	step      float64 // share by which the rate rises next
	raised    float64 // share by which it rose last
	round     round
	granted   [4]float64 // request units a second in the last rounds, newest first
	limited   float64    // the rate when the range last refused something
	refusing  int        // rounds in a row with many refusals
	cutRate   float64    // the rate when refusals began that have not ended since, 0: none
	cutShare  float64    // the share of operations that was refused then
	resume    time.Time  // end of the pause that the range asked for last
}

// round is what happened since the rate was last judged.
type round struct {
	since         time.Time
	least         time.Duration // that it lasts
	granted       float64       // request units
	done, refused int           // operations
	unasked       float64       // request units that could have been spent and were not asked for
}

const (
	firstReach  = 8
	firstExpect = 6 // what writing a small document with few indexes costs

	// burst is the time for which unused tokens last. It must bridge the
	// pauses between requests and should not let the range be flooded.
	burst = 50 * time.Millisecond

	// share is the part of a second's request units that one request may cost:
	// when a range's second is used up, what is left of the request is refused.
	share = 40

	// leastRate keeps a range that only ever refuses from being forgotten, and
	// leastFirst is what a range has to give at least as a rule.
	leastRate, leastFirst = 1, 400

	// A round lasts for so long at least, and until there were enough
	// operations, or in a search refusals, to tell those by chance from others,
	// but is over after longestRound.
	roundTime, searchTime = time.Second, 200 * time.Millisecond
	longestRound          = 5 * time.Second
	roundOperations       = 50
	clearRefusals         = 8

	// Steps begin at the first, double, and end at the most. Where the range
	// lately refused something they end early; farBeyond times that rate is
	// far from there.
	searchStep, searchMost       = 0.5, 1.0
	firstStep, nearStep, farStep = 0.005, 0.02, 0.25
	farBeyond                    = 1.1

	// achieved is the part of the rate that must be granted for the rate to
	// count as granted: a second's grants vary by a request or two.
	achieved = 0.95
	// fewRefusals is the share of refusals that costs less than using less
	// than there is.
	fewRefusals = 0.01
	// muchUnasked is the part of the rate without demand from which on a round
	// says nothing about the range.
	muchUnasked = 0.2
	// atLeast is the part of the best of the last rounds that the rate does not
	// fall below at once.
	atLeast = 0.95
	// After so many rounds in a row with more than so many refusals, whether
	// they have to do with the rate is put to the test.
	manyRefusals, patience = 0.04, 4
)

func newPacer(ceiling float64, now time.Time) pacer {
	p := pacer{reach: firstReach, filled: now, round: round{since: now}, step: firstStep}
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

// fill adds the tokens of the time that went by. What is more than may be saved
// was not asked for, unless the range itself asked for the pause.
func (p *pacer) fill(now time.Time) {
	d := now.Sub(p.filled)
	if d <= 0 {
		return
	}
	p.tokens += p.rate * d.Seconds()
	if most := p.rate * burst.Seconds(); p.tokens > most {
		if asked := now.Sub(p.resume); asked > 0 {
			p.round.unasked += min(p.tokens-most, p.rate*asked.Seconds())
		}
		p.tokens = most
	}
	p.filled = now
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
	return time.Duration(-p.tokens/p.rate*float64(time.Second)) + time.Microsecond
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

// refund returns tokens of operations that were not sent.
func (p *pacer) refund(expected float64) { p.tokens += expected }

// finish settles a request that was to cost so many request units: operations
// that were carried out cost charge, and some were refused for lack of request
// units. What those were expected to cost counts as spent, or else they would
// be tried again and again at no price. The range goes on at resume, if that is
// later than now.
func (p *pacer) finish(expected, charge float64, done, refused int, now, resume time.Time) {
	if resume.Before(now) {
		resume = now
	}
	p.fill(now)
	p.resume = resume
	p.tokens += expected*float64(done)/float64(max(done+refused, 1)) - charge
	p.spent.add(now, charge)
	p.round.granted += charge
	p.round.done += done
	p.round.refused += refused
	if p.rate > 0 {
		p.judge(now, resume)
		return
	}
	if refused == 0 {
		p.reach = min(p.reach+(done+3)/4, 1<<20)
		return
	}
	p.rate = max(p.spent.perSecond(now, time.Second), leastFirst)
	p.tokens = 0
	p.search(resume)
}

// search begins to raise the rate by great steps.
func (p *pacer) search(from time.Time) {
	p.searching, p.step, p.raised, p.refusing, p.cutRate = true, searchStep, 0, 0, 0
	p.begin(from)
	p.limit(p.ceiling)
}

// begin starts a round.
func (p *pacer) begin(from time.Time) {
	p.round = round{since: from, least: roundTime}
	if p.searching {
		p.round.least = searchTime
	}
}

// judge ends a round that has lasted long enough. A pause belongs to the round
// that brought it about.
func (p *pacer) judge(now, resume time.Time) {
	last, lasted := p.round, resume.Sub(p.round.since)
	if lasted < last.least {
		return
	}
	isClear := last.done+last.refused >= roundOperations || p.searching && last.refused >= clearRefusals
	if !isClear && lasted < longestRound {
		if !p.searching {
			p.round.least += roundTime // whole seconds hold whole budgets
		}
		return
	}
	p.begin(resume)
	if last.unasked > muchUnasked*p.rate*lasted.Seconds() {
		return
	}
	granted := last.granted / lasted.Seconds()
	refused := float64(last.refused) / float64(last.refused+last.done)
	if p.searching {
		p.judgeSearch(granted, refused, now, resume)
	} else {
		p.judgeRate(granted, refused, resume)
	}
	p.limit(p.ceiling)
}

// judgeSearch goes on for as long as more haste makes for more grants.
func (p *pacer) judgeSearch(granted, refused float64, now, resume time.Time) {
	before := p.granted[0]
	p.granted[0] = granted
	if refused < fewRefusals || granted > before*(1+p.raised/2) {
		p.raise()
		return
	}
	// The last raise did not pay, and a short round may have been all pause.
	p.rate = max(min(max(granted, p.spent.perSecond(now, time.Second)), p.rate/(1+p.raised)), leastRate)
	p.searching, p.step, p.limited = false, firstStep, p.rate
	p.granted = [4]float64{}
	p.begin(resume)
}

// judgeRate draws the conclusion of an ordinary round.
func (p *pacer) judgeRate(granted, refused float64, resume time.Time) {
	copy(p.granted[1:], p.granted[:])
	p.granted[0] = granted
	if refused < fewRefusals {
		p.refusing, p.cutRate = 0, 0
		if granted >= achieved*p.rate {
			p.raise()
		}
		return
	}
	p.step, p.limited = firstStep, p.rate
	if refused >= manyRefusals {
		p.refusing++
	} else {
		p.refusing = 0
	}
	if p.cutRate == 0 {
		p.cutRate, p.cutShare = p.rate, refused
	}
	// Fewer requests did not make for fewer refusals?
	if p.refusing >= patience || p.rate < 0.9*p.cutRate && refused > 0.6*p.cutShare {
		p.search(resume)
		p.raise()
		return
	}
	if granted >= achieved*p.rate {
		p.rate *= 1 - max(refused, fewRefusals)/2
	} else {
		p.rate = max(granted, atLeast*slices.Max(p.granted[:]), leastRate)
	}
}

// raise lets the rate grow, by ever greater steps, but slowly near the rate at
// which the range last refused something: a range may grant more than it has for
// a while, from what it did not use before.
func (p *pacer) raise() {
	most := searchMost
	if !p.searching {
		most = farStep
		if p.rate < farBeyond*p.limited {
			most = nearStep
		}
	}
	p.raised = min(p.step, most)
	p.rate *= 1 + p.raised
	p.step = 2 * p.raised
}

// meter adds up request units over the last seconds.
type meter struct {
	slots [16]float64
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

// perSecond is the average over the time until now, of at most 1.6 seconds.
func (m *meter) perSecond(now time.Time, over time.Duration) float64 {
	m.advance(now)
	n := int64(over / meterSlot)
	sum := 0.0
	for i := range n {
		sum += m.slots[(m.last-i)%int64(len(m.slots))]
	}
	return sum / over.Seconds()
}
