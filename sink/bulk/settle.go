package bulk

import (
	"context"
	"fmt"
	"net/http"
	"time"
)

// settle finishes the operations of a request that have come to their end,
// returns the others to their lanes, and draws the conclusions for the range.
// The lanes become free only after Done was called for every finished operation
// (see [Operation]).
func (r *physical) settle(life context.Context, b *batch, o *outcome, leaving *departures) {
	now := r.w.now()
	if o.cause != nil {
		for _, i := range b.sent {
			b.ops[i].unclear = true
		}
	} else if o.verdict == verdictRefused {
		r.settleRefused(life, b, o, leaving)
	} else {
		for at, i := range b.sent {
			op := b.ops[i]
			v := o.verdict
			if !o.failed() {
				a := &b.answers[at]
				op.charge += a.charge
				v = judge(op.Kind, a.status, a.subStatus)
				if v == verdictFinal {
					b.ops[i] = nil
					r.w.conclude(op, a.result(), leaving, &b.ops[i])
					continue
				}
				o.note(v, &StatusError{a.status, a.subStatus})
			}
			if v == verdictTooMuch && len(b.sent) == 1 && o.response.status == http.StatusRequestEntityTooLarge {
				b.ops[i] = nil
				r.w.conclude(op, Result{Status: o.response.status, SubStatus: o.response.subStatus, Err: &StatusError{o.response.status, o.response.subStatus}}, leaving, &b.ops[i])
				continue
			}
			r.w.postpone(op, v, len(b.sent), o.failed(), now)
			if v == verdictTransient && (o.err == nil || !isConnect(o.err)) {
				op.unclear = true
			}
		}
	}
	var back []*Operation // what nobody can be asked to keep any more
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
			back = append(back, kept...)
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
	var paused time.Duration
	if len(b.sent) > 0 && o.cause == nil {
		paused = r.conclude(b, o, now)
	}
	fault := r.fault
	r.mu.Unlock()
	r.signal()

	r.w.giveUp(back, ended)
	if paused > 0 && o.throttled > 0 && r.w.config.Observer != nil {
		r.w.config.Observer.Paused(r.id, paused)
	}
	if fault != nil {
		r.w.complain("writing is delayed", fault)
	}
	if o.moved > 0 || o.verdict == verdictMoved {
		r.w.refresh(life, o.isMoved(len(b.sent)))
	}
	if o.elsewhere || o.verdict == verdictElsewhere || o.err != nil && isConnect(o.err) {
		r.w.relocate(life)
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

// postpone prepares an operation for its next try.
func (w *Writer) postpone(op *Operation, v verdict, company int, whole bool, now time.Time) {
	switch v {
	case verdictContended:
		op.failures++
		op.due = now.Add(backOff(contendedFirst, contendedMost, op.failures))
	case verdictTransient, verdictMoved:
		if !whole { // the range pauses otherwise
			op.failures++
			op.due = now.Add(backOff(w.config.RetryFirst, w.config.RetryMost, op.failures))
		}
	case verdictTooMuch:
		op.company = max(1, company/2)
	}
}

// conclude draws the conclusions of an answered request for the range. It
// returns by how much the next request was put off. The caller holds mu.
func (r *physical) conclude(b *batch, o *outcome, now time.Time) (paused time.Duration) {
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
	case o.verdict == verdictTransient, o.verdict == verdictStore, o.verdict == verdictElsewhere, o.verdict == verdictContended:
		return fmt.Errorf("range %s: %w", r.id, &StatusError{o.response.status, o.response.subStatus})
	}
	return nil
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
	err := r.w.probe(life, r.id)
	switch i := b.sent[0]; {
	case err == nil:
		op := b.ops[i]
		b.ops[i] = nil
		r.w.conclude(op, Result{Status: o.response.status, SubStatus: o.response.subStatus, Err: &StatusError{o.response.status, o.response.subStatus}}, leaving, &b.ops[i])
	case isNotSupported(err):
		r.w.stop(err)
	default:
		o.err, o.verdict = err, verdictTransient
	}
}
