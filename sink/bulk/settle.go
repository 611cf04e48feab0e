package bulk

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// settle finishes the operations of a request that have come to their end,
// returns the others to their lanes, and draws the conclusions for the range.
// The lanes become free only after Done was called for every finished operation
// (guarantee 2).
func (r *physical) settle(life context.Context, b *batch, o *outcome, leaving *departures) {
	now := r.w.now()
	switch {
	case o.cause != nil:
		for _, i := range b.sent {
			b.ops[i].unclear = true
		}
	case o.verdict == verdictRefused:
		r.settleRefused(life, b, o, leaving)
	default:
		for at := range b.sent {
			r.settleOne(b, at, o, now, leaving)
		}
	}
	paused, fault := r.release(b, o, now)
	r.signal()

	if paused > 0 && r.w.config.Observer != nil {
		r.w.config.Observer.Paused(r.id, paused)
	}
	if fault != nil {
		r.w.complain("writing is delayed", fault)
	}
	if o.moved > 0 || o.verdict == verdictMoved {
		r.w.refresh(life, o.isMoved(len(b.sent)))
	}
	if o.elsewhere || o.verdict == verdictElsewhere || isConnect(o.err) {
		r.w.relocate(life)
	}
}

// settleOne deals with the operation that was sent in the given place: it is
// finished, and leaves the batch, or is prepared for its next try.
func (r *physical) settleOne(b *batch, at int, o *outcome, now time.Time, leaving *departures) {
	i := b.sent[at]
	op := b.ops[i]
	v := o.verdict
	if !o.failed() {
		a := &b.answers[at]
		op.charge += a.charge
		if v = judge(op.Kind, a.status, a.subStatus); v == verdictFinal {
			b.ops[i] = r.w.conclude(op, a.result(), leaving)
			return
		}
		o.note(v, &StatusError{a.status, a.subStatus})
	} else if v == verdictTooMuch && len(b.sent) == 1 {
		b.ops[i] = r.w.conclude(op, o.response.refusal(), leaving)
		return
	}
	switch v {
	case verdictContended:
		op.failures++
		op.due = now.Add(backOff(contendedFirst, contendedMost, op.failures))
	case verdictTransient, verdictMoved:
		if !o.failed() { // otherwise the range pauses
			op.failures++
			op.due = now.Add(backOff(r.w.config.RetryFirst, r.w.config.RetryMost, op.failures))
		}
	case verdictTooMuch:
		op.company = max(1, len(b.sent)/2)
	}
	if v == verdictTransient && !isUnsent(o.err) {
		op.unclear = true
	}
}

// settleRefused deals with a request that the service would not take. If it
// still takes bulk requests, one of the operations is to blame: halving the
// request finds it.
func (r *physical) settleRefused(life context.Context, b *batch, o *outcome, leaving *departures) {
	if len(b.sent) > 1 {
		for _, i := range b.sent {
			b.ops[i].company = len(b.sent) / 2
		}
		return
	}
	i := b.sent[0]
	switch err := r.w.probe(life, r.id); {
	case err == nil:
		b.ops[i] = r.w.conclude(b.ops[i], o.response.refusal(), leaving)
	case errors.Is(err, ErrNotSupported):
		r.w.stop(err)
	default:
		o.err, o.verdict = &unsentError{err}, verdictTransient
	}
}

// note remembers what an operation that is to be tried again says of its range.
func (o *outcome) note(v verdict, e *StatusError) {
	switch v {
	case verdictMoved:
		o.moved++
	case verdictElsewhere:
		o.elsewhere = true
		o.store = e
	case verdictStore:
		o.store = e
	}
}

// isMoved tells whether the range itself is gone: some operations may be refused
// for that reason while it is merely on the move.
func (o *outcome) isMoved(sent int) bool {
	return o.verdict == verdictMoved || o.moved == sent && sent > 0
}

// release returns what is left of a batch to its lanes, which become free, and
// draws the conclusions for the range. It returns by how much a refusal put off
// the next request, and what is wrong with the range.
func (r *physical) release(b *batch, o *outcome, now time.Time) (paused time.Duration, fault error) {
	var lost []*Operation // the range has ended meanwhile: nobody would send them
	r.mu.Lock()
	ended := r.ended
	for _, p := range b.lanes {
		kept := b.ops[p.from:p.from]
		for _, op := range b.ops[p.from:p.to] {
			if op != nil {
				kept = append(kept, op)
			}
		}
		if ended != nil {
			lost = append(lost, kept...)
		} else {
			p.lane.putBack(kept)
		}
		p.lane.busy = false
	}
	r.requests--
	r.underWay -= len(b.ops)
	unsent := b.expected * float64(len(b.ops)-len(b.sent)) / float64(len(b.ops))
	r.pacer.refund(unsent)
	b.expected -= unsent
	if len(b.sent) > 0 && o.cause == nil {
		paused = r.learn(b, o, now)
	}
	fault = r.fault
	r.mu.Unlock()
	r.w.giveUp(lost, ended)
	return paused, fault
}

// learn draws the conclusions of an answered request for the range. It returns
// by how much a refusal put off the next request. The caller holds mu.
func (r *physical) learn(b *batch, o *outcome, now time.Time) (paused time.Duration) {
	config := &r.w.config
	for k := range o.byKind {
		r.pacer.learn(Kind(k), o.byKind[k].operations, o.byKind[k].charge)
	}
	if o.throttled > 0 {
		d := o.pause
		if d == 0 {
			r.throttles++
			d = backOff(config.RetryFirst, config.RetryMost, r.throttles)
		}
		paused = r.pause(now, d)
	} else if !o.failed() {
		r.throttles = 0
	}
	r.pacer.finish(b.expected, o.charge, o.done, o.throttled, now, r.pausedUntil)

	if o.isMoved(len(b.sent)) {
		r.lost = true
		if r.moves++; r.moves > 1 {
			// Asking where the range is did not help.
			r.pause(now, backOff(config.RetryFirst, config.RetryMost, r.moves-1))
		}
	} else if !o.failed() {
		r.moves = 0
	}

	switch fault := r.faultOf(o); {
	case fault == nil && !o.failed():
		r.failures, r.fault = 0, nil
	case fault != nil:
		// Requests that failed together are one failure.
		if !b.started.Before(r.failedAt) {
			r.failures++
			r.failedAt = now
		}
		r.pause(now, backOff(config.RetryFirst, config.RetryMost, max(r.failures, 1)))
		if o.store != nil || o.verdict == verdictStore || r.failures >= unhealthy {
			r.fault = fault
		}
	}
	return paused
}

// unhealthy is how many requests in a row fail before the writer says that
// something is wrong.
const unhealthy = 3

// faultOf is why a request has to be repeated as a whole, or operations of it
// for a fault of the store; nil for what is part of normal operation.
func (r *physical) faultOf(o *outcome) error {
	switch {
	case o.err != nil:
		return o.err
	case o.store != nil:
		return fmt.Errorf("range %s: %w", r.id, o.store)
	}
	switch o.verdict {
	case verdictTransient, verdictContended, verdictElsewhere, verdictStore:
		return fmt.Errorf("range %s: %w", r.id, o.response.refusal().Err)
	}
	return nil
}

// refusal is the answer to a whole request as the result of an operation.
func (r *response) refusal() Result {
	return Result{Status: r.status, SubStatus: r.subStatus, Err: &StatusError{r.status, r.subStatus}}
}
