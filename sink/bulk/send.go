package bulk

import (
	"bytes"
	"context"
	"fmt"
	"net/http"
	"time"
)

// send brings a request to its end: it asks whether its operations may still be
// sent, sends them, and settles what the answer says.
func (r *physical) send(life context.Context, b *batch) {
	w := r.w
	leaving := departures{gate: w.gate}
	b.payload.text = append(b.payload.text[:0], '[')
	for i, op := range b.ops {
		// Asked before every request, the first and each retry.
		if w.config.Admit != nil && !w.config.Admit(op) {
			b.ops[i] = nil
			w.finish(op, Result{Err: ErrNotAdmitted}, &leaving)
			continue
		}
		if len(b.sent) > 0 && len(b.payload.text)+encodedSize(op) > w.config.MaxBytes {
			continue // it has grown by being admitted; it goes back to its lane
		}
		b.payload.text = appendOperation(b.payload.text, op)
		op.attempts++
		b.sent = append(b.sent, i)
	}
	b.payload.text = append(b.payload.text, ']')

	var o outcome
	if len(b.sent) > 0 {
		o = r.exchange(life, b)
	}
	if o.err != nil && life.Err() != nil {
		o.cause = context.Cause(life)
	}
	r.settle(life, b, &o, &leaving)
	leaving.done()
	w.freeBatch(b)
}

// outcome is what a request came to, for its range.
type outcome struct {
	response  response
	err       error // there is no whole answer
	cause     error // the writer has ended in the middle of it
	verdict   verdict
	charge    float64
	done      int // operations carried out, whatever came of them
	throttled int
	pause     time.Duration // longest that a refused operation asks for
	moved     int           // operations refused because the range is elsewhere
	elsewhere bool          // writes are accepted elsewhere
	store     *StatusError  // the store is at fault
	byKind    [kinds]struct {
		operations int
		charge     float64
	}
}

// exchange sends the request and reads the answer.
func (r *physical) exchange(life context.Context, b *batch) outcome {
	var o outcome
	began := r.w.now()
	o.response, o.err = r.w.client.postBulk(life, r.id, b.payload, &b.text)
	took := r.w.now().Sub(began)
	if o.err == nil && o.response.status < http.StatusMultipleChoices {
		b.answers, o.err = parseAnswers(b.answers[:0], b.text.Bytes())
		if o.err == nil && len(b.answers) != len(b.sent) {
			o.err = fmt.Errorf("range %s answered %d of %d operations", r.id, len(b.answers), len(b.sent))
		}
	}
	if o.err != nil {
		// Which operation an answer is for, or whether there was one, is not
		// known: the request is repeated, as after 500.
		o.verdict = verdictTransient
	} else if o.response.status >= http.StatusMultipleChoices {
		o.verdict = judgeRequest(o.response.status, o.response.subStatus)
	}
	o.sum(b)
	r.observe(b, &o, took)
	return o
}

// failed tells whether the request failed as a whole.
func (o *outcome) failed() bool { return o.err != nil || o.verdict != verdictFinal }

// sum adds up what the answers say of the range.
func (o *outcome) sum(b *batch) {
	if o.failed() {
		o.charge = o.response.charge
		if o.verdict == verdictThrottled {
			o.throttled, o.pause = len(b.sent), o.response.retryAfter
		}
		return
	}
	for i := range b.answers {
		a := &b.answers[i]
		if a.status == http.StatusTooManyRequests {
			o.throttled++
			o.pause = max(o.pause, a.retryAfter)
			continue
		}
		o.charge += a.charge
		o.done++
		k := &o.byKind[b.ops[b.sent[i]].Kind]
		k.operations++
		k.charge += a.charge
	}
}

// observe tells the observer of the request.
func (r *physical) observe(b *batch, o *outcome, took time.Duration) {
	if r.w.config.Observer == nil {
		return
	}
	record := Request{
		Range:      r.id,
		Operations: len(b.sent),
		Bytes:      len(b.payload.text),
		Status:     o.response.status,
		SubStatus:  o.response.subStatus,
		Duration:   took,
		Charge:     o.response.charge,
		Throttled:  o.throttled,
	}
	for at, i := range b.sent {
		kind, status, charge := b.ops[i].Kind, o.response.status, 0.0
		if !o.failed() {
			status, charge = b.answers[at].status, b.answers[at].charge
		}
		b.count(kind, status, charge)
	}
	record.Tally = b.tally
	r.w.config.Observer.Requested(&record)
}

// count adds an operation to the tally. There are few different ones.
func (b *batch) count(kind Kind, status int, charge float64) {
	for i := range b.tally {
		if t := &b.tally[i]; t.Kind == kind && t.Status == status {
			t.Operations++
			t.Charge += charge
			return
		}
	}
	b.tally = append(b.tally, Tally{kind, status, 1, charge})
}

// result is an answer as the caller hears it.
func (a *answer) result() Result {
	r := Result{Status: a.status, SubStatus: a.subStatus, ETag: string(a.etag)}
	if a.status >= http.StatusBadRequest {
		r.Err = &StatusError{Status: a.status, SubStatus: a.subStatus}
	} else if a.body != nil {
		r.Body = bytes.Clone(a.body)
	}
	return r
}
