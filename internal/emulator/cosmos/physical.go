package cosmos

import (
	"net/http"
	"sync"
	"time"

	"warmpath/internal/emulator/cosmos/epk"
)

// physical is one physical range: a stretch of the hash space with its
// documents, its budget of request units and its part of the journal.
type physical struct {
	coll     *container
	id       string
	min, max epk.Value // inclusive, exclusive
	parents  []string  // ranges it came from by splits
	made     uint64    // routing generation in which it came to be

	// mu covers everything below. No other lock is taken while it is held.
	mu         sync.Mutex
	gone       bool // split: operations must be routed again
	partitions map[string]*partition
	live       int         // documents
	order      []*document // by rid, with the dead ones not yet compacted away
	dead       int
	sweep      int // where the next look for expired documents starts
	budget     budget
	lsn        uint64
	journal    journal
	tx         *transaction // under way, nil if there is none
	used       float64      // request units charged in all, refusals not counted
	throttled  int64
}

func newPhysical(c *container, id string, lo, hi epk.Value) *physical {
	return &physical{
		coll: c, id: id, min: lo, max: hi,
		partitions: make(map[string]*partition),
		budget:     c.server.newBudget(id),
	}
}

// holds tells whether a hash lies on the range.
func (p *physical) holds(hash epk.Value) bool {
	return p.min.Compare(hash) <= 0 && hash.Compare(p.max) < 0
}

// apply runs an operation, or refuses it for lack of request units. The caller
// holds p.mu.
func (p *physical) apply(op *operation, now time.Time) outcome {
	if wait, ok := p.budget.admit(now); !ok {
		return p.refuse(wait)
	}
	o := p.execute(op, now)
	o.charge = p.budget.spend(o.charge)
	o.lsn, o.rangeID = p.lsn, p.id
	p.used += o.charge
	return o
}

// refuse is the answer to an operation that found the budget spent. The caller
// holds p.mu.
func (p *physical) refuse(wait time.Duration) outcome {
	p.throttled++
	o := failed(http.StatusTooManyRequests, subThrottled, messageThrottled)
	o.charge, o.retryAfter = p.coll.server.charges.Throttled, wait
	o.lsn, o.rangeID = p.lsn, p.id
	return o
}

// execute runs an operation: every check and the change itself are one step
// under p.mu, which the caller holds.
func (p *physical) execute(op *operation, now time.Time) outcome {
	part, doc := p.find(op.key, op.id, now)
	if refused := p.check(op, doc); refused != nil {
		return *refused
	}
	switch op.verb {
	case verbRead:
		o := outcome{status: http.StatusOK, charge: p.coll.server.charges.read(len(doc.body)), doc: view{doc.rid, doc.state}}
		if op.ifNoneMatch != "" && doc.matches(op.ifNoneMatch) {
			o.status = http.StatusNotModified
		}
		return o
	case verbDelete:
		cost := float64(doc.weight) * p.coll.server.charges.DeleteFactor
		p.remove(doc)
		p.commit(op.verb, doc, now)
		return outcome{status: http.StatusNoContent, charge: cost, doc: view{doc.rid, doc.state}}
	case verbPatch:
		if refused := op.applyPatch(p.coll, &view{doc.rid, doc.state}); refused != nil {
			refused.charge = p.coll.server.charges.Failed
			return *refused
		}
	}
	return p.store(op, part, doc, now)
}

// check tells why an operation cannot run on what is stored, doc being nil if
// nothing is.
func (p *physical) check(op *operation, doc *document) *outcome {
	fail := func(status, sub int, message string) *outcome {
		o := failed(status, sub, message)
		o.charge = p.coll.server.charges.Failed
		return &o
	}
	switch {
	case op.verb == verbRead && op.session != "" && sessionLSN(op.session, p.id) > p.lsn:
		return fail(http.StatusNotFound, subSession, messageSession)
	case op.verb == verbCreate && doc != nil:
		return fail(http.StatusConflict, 0, messageConflict)
	case op.verb == verbCreate, op.verb == verbUpsert && doc == nil:
		// Like the service, an upsert whose document is missing creates it
		// whatever etag it names.
		return nil
	case doc == nil:
		return fail(http.StatusNotFound, 0, messageNotFound)
	case op.verb != verbRead && op.ifMatch != "" && !doc.matches(op.ifMatch):
		return fail(http.StatusPreconditionFailed, 0, messagePrecondition)
	}
	return nil
}

// store writes the operation's document over doc, or as a new one if doc is
// nil.
func (p *physical) store(op *operation, part *partition, doc *document, now time.Time) outcome {
	charges := &p.coll.server.charges
	weight := charges.insert(len(op.body), op.indexed, op.spatial)
	next := state{body: append([]byte(nil), op.body...), ttl: op.ttl, weight: float32(weight)}
	if doc != nil {
		p.overwrite(doc, next)
		p.commit(op.verb, doc, now)
		return outcome{status: http.StatusOK, charge: weight * charges.OverwriteFactor, doc: view{doc.rid, doc.state}}
	}
	if part == nil {
		part = &partition{key: string(op.key), hash: op.hash}
	}
	doc = &document{part: part, id: string(op.id), rid: p.coll.nextRID.Add(1), state: next}
	p.insert(doc)
	p.commit(op.verb, doc, now)
	p.sweepExpired(now)
	return outcome{status: http.StatusCreated, charge: weight, doc: view{doc.rid, doc.state}}
}

// find returns a key's partition and the document with an id in it, either of
// which may be nil. A document whose time is over is removed.
func (p *physical) find(key, id []byte, now time.Time) (*partition, *document) {
	part := p.partitions[string(key)]
	if part == nil {
		return nil, nil
	}
	doc := part.find(id)
	if doc != nil && doc.expired(now.Unix(), p.coll.def.Load().defaultExpiration) {
		p.remove(doc)
		return p.partitions[string(key)], nil
	}
	return part, doc
}

// insert adds a new document, the youngest of its range.
func (p *physical) insert(doc *document) {
	if p.tx != nil {
		p.tx.note(func() { p.remove(doc) })
	}
	p.order = append(p.order, doc)
	p.live++
	doc.prev = doc.part.last
	doc.part.link(doc)
	p.partitions[doc.part.key] = doc.part
}

// overwrite gives a document another content.
func (p *physical) overwrite(doc *document, next state) {
	if p.tx != nil {
		old := doc.state
		p.tx.note(func() { doc.state = old })
	}
	doc.state = next
}

// remove takes a document away.
func (p *physical) remove(doc *document) {
	if p.tx != nil {
		old := doc.state // a delete gives the document one more version
		p.tx.note(func() {
			doc.state = old
			p.revive(doc)
		})
	}
	doc.part.unlink(doc)
	if doc.part.n == 0 {
		delete(p.partitions, doc.part.key)
	}
	p.live--
	doc.dead = true
	p.dead++
	if p.dead > 64 && p.dead > len(p.order)/2 && p.tx == nil {
		p.compact()
	}
}

// revive undoes the last removal that has not been undone. Its document still
// has its place in the order and knows its neighbours.
func (p *physical) revive(doc *document) {
	doc.part.link(doc)
	p.partitions[doc.part.key] = doc.part
	p.live++
	doc.dead = false
	p.dead--
}

// compact drops the dead documents from the order.
func (p *physical) compact() {
	live := p.order[:0]
	for _, d := range p.order {
		if !d.dead {
			live = append(live, d)
		}
	}
	clear(p.order[len(live):])
	p.order, p.dead, p.sweep = live, 0, 0
}

// commit gives a written document its version and notes the write.
func (p *physical) commit(v verb, doc *document, now time.Time) {
	p.lsn++
	doc.version = p.coll.server.version.Add(1)
	doc.modified = now.Unix()
	if p.coll.server.keepJournal {
		p.journal.add(newRecord(v, doc, now))
	}
}

// sweepExpired looks at two documents after every insert, so that expired ones
// are given up in time without a goroutine that goes looking for them.
func (p *physical) sweepExpired(now time.Time) {
	ttl := p.coll.def.Load().defaultExpiration
	if ttl == 0 {
		return
	}
	for range 2 {
		if p.sweep >= len(p.order) {
			p.sweep = 0
		}
		doc := p.order[p.sweep]
		p.sweep++
		if !doc.dead && doc.expired(now.Unix(), ttl) {
			p.remove(doc)
		}
	}
}
