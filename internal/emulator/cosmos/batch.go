package cosmos

import (
	"bytes"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"time"

	"warmpath/internal/emulator/cosmos/rawjson"
)

// maxOperations is how many operations one request may carry
// (concepts-limits page of the documentation).
const maxOperations = 100

// batch is a request of many operations: sent together, answered together, and
// either each for itself (bulk) or all or nothing (a transaction). Batches are
// reused, as bulk requests are the hot path.
type batch struct {
	ops      []batchOperation
	outcomes []outcome
	keys     []byte // encoded keys of the operations
	scratch  []byte
}

// batchOperation is one operation as it was sent.
type batchOperation struct {
	operation
	sent    sentOperation
	refused *outcome // why it cannot run, nil if it can
	fault   Fault
}

// sentOperation holds the raw members of an operation.
type sentOperation struct {
	verb, key, id        []byte
	ifMatch, ifNoneMatch []byte
	body                 []byte
	ttl                  bool // has a time to live beside the document
	found                scan // of the body
}

// serveBatch serves a request with the batch header
// x-ms-cosmos-is-batch-request: bulk names a physical range, a transaction a
// partition key.
func (c *container) serveBatch(x *exchange) *reply {
	h := x.r.Header
	atomic := strings.EqualFold(h.Get(headerBatchAtomic), "true")
	rangeID := h.Get(headerRangeID)
	if !atomic && rangeID == "" {
		return badRequest("A bulk request must name its physical range in x-ms-documentdb-partitionkeyrangeid.")
	}
	if len(x.body) > maxDocument {
		return failure(http.StatusRequestEntityTooLarge, 0, messageTooLarge)
	}
	b := c.server.getBatch()
	defer c.server.batches.Put(b)
	def := c.def.Load()
	if refused := b.parse(def, x.body); refused != nil {
		return refused
	}
	if atomic {
		return c.serveTransaction(x, def, b)
	}
	return c.serveBulk(x, def, b, rangeID)
}

// parse reads the operations: syntax, and the documents that come with them. It
// does not judge them yet, except that there are not too many.
func (b *batch) parse(def *definition, body []byte) *reply {
	r := rawjson.NewReader(body)
	if !r.EnterArray() {
		return badRequest("A batch is a JSON array of operations.")
	}
	for r.NextElement() {
		if len(b.ops) == maxOperations {
			return badRequest("Batch request has more operations than what is supported.")
		}
		b.ops = append(b.ops, batchOperation{})
		b.ops[len(b.ops)-1].sent.read(def, &r)
		if r.Err() != nil {
			break
		}
	}
	if err := r.End(); err != nil {
		return badRequest("The batch is invalid: " + err.Error() + ".")
	}
	if len(b.ops) == 0 {
		return badRequest("Batch request has no operations.")
	}
	return nil
}

// read reads one operation. Its members come in any order, so the body is
// scanned as a document whatever it turns out to be.
func (s *sentOperation) read(def *definition, r *rawjson.Reader) {
	r.EnterObject()
	for {
		name, ok := r.NextMember()
		if !ok {
			return
		}
		switch string(name) {
		case "operationType":
			s.verb = r.Value()
		case "partitionKey":
			s.key = r.Value()
		case "id":
			s.id = r.Value()
		case "ifMatch":
			s.ifMatch = r.Value()
		case "ifNoneMatch":
			s.ifNoneMatch = r.Value()
		case "timeToLiveInSeconds":
			s.ttl = true
			r.Value()
		case "resourceBody":
			start := r.Offset()
			if r.Kind() == rawjson.Object {
				s.found = def.shape.scan(r)
			} else {
				r.Value()
			}
			s.body = r.Since(start)
		default: // indexing directives and the like change nothing here
			r.Value()
		}
	}
}

// text is a raw string, nil for everything else.
func (b *batch) text(raw []byte) []byte {
	if rawjson.KindOf(raw) != rawjson.String {
		return nil
	}
	if bytes.IndexByte(raw, '\\') < 0 {
		return raw[1 : len(raw)-1]
	}
	return rawjson.AppendUnquoted(nil, raw)
}

// prepare judges one operation. key is that of the request, nil if every
// operation brings its own.
func (b *batch) prepare(def *definition, op *batchOperation, key []byte) *outcome {
	v, ok := verbNamed(string(b.text(op.sent.verb)))
	if !ok {
		return bad(fmt.Sprintf("The operation type %s is not supported.", op.sent.verb))
	}
	if op.sent.ttl {
		return bad("timeToLiveInSeconds is not supported by this server; set ttl in the document.")
	}
	op.verb = v
	op.ifMatch = string(b.text(op.sent.ifMatch))
	op.ifNoneMatch = string(b.text(op.sent.ifNoneMatch))
	if refused := b.prepareKey(def, op, key); refused != nil {
		return refused
	}
	if v != verbCreate && v != verbUpsert {
		op.id = b.text(op.sent.id)
		if msg := checkDocumentID(op.id); msg != "" {
			return bad(msg)
		}
	}
	switch {
	case v == verbPatch:
		p, err := parsePatch(op.sent.body)
		if err != nil {
			return bad(err.Error())
		}
		op.patch = p
	case v.brings():
		if rawjson.KindOf(op.sent.body) != rawjson.Object {
			return bad("The request content is invalid: a document is a JSON object.")
		}
		return op.accept(def, &op.sent.found, op.sent.body)
	}
	return nil
}

// prepareKey sets the operation's key: the request's, or that which it brings
// as a string that holds a JSON array.
func (b *batch) prepareKey(def *definition, op *batchOperation, key []byte) *outcome {
	if key != nil && op.sent.key == nil {
		op.key = key
	} else {
		if rawjson.KindOf(op.sent.key) != rawjson.String {
			return bad(messageKeyMissing)
		}
		b.scratch = rawjson.AppendUnquoted(b.scratch[:0], op.sent.key)
		start := len(b.keys)
		encoded, components, err := appendKey(b.keys, b.scratch)
		if err != nil {
			return bad(err.Error())
		}
		b.keys = encoded
		if op.key = encoded[start:]; components != len(def.keyPaths) {
			o := failed(http.StatusBadRequest, subKeyMismatch, errKeyCount.Error())
			return &o
		}
		if key != nil && !bytes.Equal(op.key, key) {
			o := failed(http.StatusBadRequest, subKeyMismatch, messageKeyMismatch)
			return &o
		}
	}
	op.hash = def.hash(op.key)
	return nil
}

// askControllers asks for the faults of every operation that could run. They
// are all known before the first one takes effect.
func (b *batch) askControllers(x *exchange, rangeID string) {
	cs := &x.s.controls
	if !cs.any.Load() {
		return
	}
	for i := range b.ops {
		op := &b.ops[i]
		if op.refused == nil {
			op.fault = cs.fault(op.verb.op(), func() Call { return x.call(rangeID, &op.operation) })
			x.fault.merge(op.fault)
		}
	}
	x.s.wait(x.fault.takeDelay())
}

// serveBulk runs the operations each for itself on one physical range.
func (c *container) serveBulk(x *exchange, def *definition, b *batch, rangeID string) *reply {
	p := c.routing.Load().byID(rangeID)
	if p == nil {
		return rangeGone()
	}
	for i := range b.ops {
		op := &b.ops[i]
		op.refused = b.prepare(def, op, nil)
		if op.refused == nil && !p.holds(op.hash) {
			o := failed(http.StatusBadRequest, subKeyMismatch, "The partition key does not belong to the physical range that the request names.")
			op.refused = &o
		}
	}
	b.askControllers(x, rangeID)
	if x.unanswered() {
		return &reply{}
	}
	proceed := strings.EqualFold(x.r.Header.Get(headerBatchContinue), "true")
	bodies := !minimal(x.r)
	now := c.server.now()
	size := 0

	p.mu.Lock()
	if p.gone {
		p.mu.Unlock()
		return rangeGone()
	}
	failedBefore := false
	for i := range b.ops {
		op := &b.ops[i]
		var o outcome
		switch {
		case failedBefore && !proceed:
			o = failed(http.StatusFailedDependency, 0, "")
		case op.refused != nil:
			o = *op.refused
		case size+p.answerSize(&op.operation, bodies, now) > maxResponse:
			o = responseTooLarge()
		default:
			size += p.answerSize(&op.operation, bodies, now)
			o = p.applyUnder(&op.fault, &op.operation, now)
		}
		failedBefore = failedBefore || !o.ok()
		b.outcomes = append(b.outcomes, o)
	}
	lsn := p.lsn
	p.mu.Unlock()
	return b.reply(c, x, p.id, lsn, bodies)
}

// applyUnder runs an operation under a fault that a controller has made for it.
// The caller holds p.mu.
func (p *physical) applyUnder(f *Fault, op *operation, now time.Time) outcome {
	if f.Status == 0 {
		return p.apply(op, now)
	}
	if f.Applied {
		p.apply(op, now)
	}
	o := f.outcome(&p.coll.server.charges)
	o.lsn, o.rangeID = p.lsn, p.id
	return o
}

// answerSize is about how large the answer to an operation will be. The caller
// holds p.mu.
func (p *physical) answerSize(op *operation, bodies bool, now time.Time) int {
	const envelope = 512
	switch {
	case op.verb == verbRead, op.verb == verbPatch && bodies:
		if _, doc := p.find(op.key, op.id, now); doc != nil {
			return len(doc.body) + envelope
		}
	case bodies:
		return len(op.body) + envelope
	}
	return envelope
}

// responseTooLarge answers an operation for whose result there is no room.
func responseTooLarge() outcome {
	return failed(http.StatusRequestEntityTooLarge, subResponseSize, "The response would exceed the maximum size. Retry this operation.")
}

// serveTransaction runs the operations all or nothing, under one key.
func (c *container) serveTransaction(x *exchange, def *definition, b *batch) *reply {
	header, ok := x.r.Header[headerPartitionKey]
	if !ok {
		return badRequest(messageKeyMissing)
	}
	key, components, err := appendKey(nil, []byte(header[0]))
	if err != nil {
		return badRequest(err.Error())
	}
	if components != len(def.keyPaths) {
		return failure(http.StatusBadRequest, subKeyMismatch, errKeyCount.Error())
	}
	for i := range b.ops {
		b.ops[i].refused = b.prepare(def, &b.ops[i], key)
	}
	hash := def.hash(key)
	b.askControllers(x, c.routing.Load().locate(hash).id)
	if x.unanswered() {
		return &reply{}
	}
	p := c.lock(hash)
	now := c.server.now()
	if wait, ok := p.budget.admit(now); !ok {
		o := p.refuse(wait)
		p.mu.Unlock()
		return o.reply()
	}
	bodies := !minimal(x.r)
	p.begin()
	failedAt, size := -1, 0
	for i := range b.ops {
		op := &b.ops[i]
		o := outcome{}
		size += p.answerSize(&op.operation, bodies, now)
		switch {
		case op.refused != nil:
			o = *op.refused
		case op.fault.Status != 0:
			o = op.fault.outcome(&c.server.charges)
		case size > maxResponse:
			o = responseTooLarge()
		default:
			o = p.execute(&op.operation, now)
		}
		o.charge = p.budget.spend(o.charge)
		p.used += o.charge
		b.outcomes = append(b.outcomes, o)
		if !o.ok() {
			failedAt = i
			break
		}
	}
	p.end(failedAt < 0)
	lsn := p.lsn
	p.mu.Unlock()

	if failedAt >= 0 {
		for i := range b.ops {
			if i == failedAt {
				continue
			}
			// What was undone still cost what it cost.
			undone := failed(http.StatusFailedDependency, 0, "")
			if i < failedAt {
				undone.charge = b.outcomes[i].charge
				b.outcomes[i] = undone
			} else {
				b.outcomes = append(b.outcomes, undone)
			}
		}
	}
	return b.reply(c, x, p.id, lsn, bodies)
}

// reply writes the results in the order of the operations. bodies tells whether
// the documents are wanted; those that were read always are.
func (b *batch) reply(c *container, x *exchange, rangeID string, lsn uint64, bodies bool) *reply {
	out := &reply{status: http.StatusOK, session: sessionToken(rangeID, lsn), rangeID: rangeID}
	body := append(make([]byte, 0, 96*len(b.outcomes)+2), '[')
	for i := range b.outcomes {
		o := &b.outcomes[i]
		out.charge += o.charge
		if !o.ok() {
			out.status = http.StatusMultiStatus
		}
		if i >= len(b.outcomes)+x.fault.Results {
			continue // a controller wants results left out
		}
		body = b.appendResult(body, c, i, bodies)
	}
	for range x.fault.Results {
		body = b.appendResult(body, c, len(b.outcomes)-1, bodies)
	}
	out.charge = roundCharge(out.charge)
	out.body = append(body, ']')
	return out
}

// appendResult writes one result.
func (b *batch) appendResult(dst []byte, c *container, i int, bodies bool) []byte {
	o, v := &b.outcomes[i], b.ops[i].verb
	if len(dst) > 1 {
		dst = append(dst, ',')
	}
	dst = append(dst, `{"statusCode":`...)
	dst = strconv.AppendInt(dst, int64(o.status), 10)
	if o.sub != 0 {
		dst = append(dst, `,"subStatusCode":`...)
		dst = strconv.AppendInt(dst, int64(o.sub), 10)
	}
	dst = append(dst, `,"requestCharge":`...)
	dst = appendCharge(dst, o.charge)
	if o.retryAfter > 0 {
		dst = append(dst, `,"retryAfterMilliseconds":`...)
		dst = strconv.AppendInt(dst, o.retryAfter.Milliseconds(), 10)
	}
	if o.ok() && v != verbDelete {
		dst = append(dst, `,"eTag":"\`...)
		dst = appendETag(dst, o.doc.version, o.doc.modified)
		dst = append(dst[:len(dst)-1], `\""`...)
		if bodies || v == verbRead {
			dst = append(dst, `,"resourceBody":`...)
			dst = c.appendServed(dst, &o.doc)
		}
	}
	if o.message != "" {
		dst = append(dst, `,"message":`...)
		dst = rawjson.AppendQuoted(dst, o.message)
	}
	return append(dst, '}')
}

// getBatch returns an empty batch.
func (s *Server) getBatch() *batch {
	b, ok := s.batches.Get().(*batch)
	if !ok {
		return &batch{}
	}
	// What the last request left behind must not be kept alive by this one.
	clear(b.ops)
	clear(b.outcomes)
	b.ops, b.outcomes, b.keys = b.ops[:0], b.outcomes[:0], b.keys[:0]
	return b
}
