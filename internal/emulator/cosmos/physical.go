package cosmos

import (
	"net/http"
	"sync"
	"time"

	"warmpath/internal/emulator/cosmos/epk"
)

// documentKey finds a document in its range.
type documentKey struct {
	part *partition
	id   string
}

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
	documents  map[documentKey]*document
	order      []*document // by rid, with the dead ones not yet compacted away
	dead       int
	sweep      int // where the next look for expired documents starts
	budget     budget
	lsn        uint64
	journal    []record
	used       float64 // request units charged in all, refusals not counted
	throttled  int64
}

func newPhysical(c *container, id string, lo, hi epk.Value) *physical {
	return &physical{
		coll: c, id: id, min: lo, max: hi,
		partitions: make(map[string]*partition),
		documents:  make(map[documentKey]*document),
		budget:     c.server.newBudget(id),
	}
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
	charges := &p.coll.server.charges
	part, doc := p.find(op.key, op.id, now)
	switch op.verb {
	case verbCreate:
		if doc != nil {
			return p.fail(http.StatusConflict, messageConflict)
		}
	case verbRead:
		if op.session != "" && sessionLSN(op.session, p.id) > p.lsn {
			o := p.fail(http.StatusNotFound, messageSession)
			o.sub = subSession
			return o
		}
		if doc == nil {
			return p.fail(http.StatusNotFound, messageNotFound)
		}
	case verbUpsert:
		// Like the service, an upsert whose document is missing creates it
		// whatever etag it names.
		if doc != nil && op.ifMatch != "" && !doc.matches(op.ifMatch) {
			return p.fail(http.StatusPreconditionFailed, messagePrecondition)
		}
	default:
		if doc == nil {
			return p.fail(http.StatusNotFound, messageNotFound)
		}
		if op.ifMatch != "" && !doc.matches(op.ifMatch) {
			return p.fail(http.StatusPreconditionFailed, messagePrecondition)
		}
	}

	switch op.verb {
	case verbRead:
		o := outcome{status: http.StatusOK, charge: charges.read(len(doc.body)), doc: view{doc.rid, doc.state}}
		if op.ifNoneMatch != "" && doc.matches(op.ifNoneMatch) {
			o.status = http.StatusNotModified
		}
		return o
	case verbDelete:
		cost := float64(doc.weight) * charges.DeleteFactor
		p.remove(doc)
		p.commit(op.verb, doc, now)
		return outcome{status: http.StatusNoContent, charge: cost, doc: view{doc.rid, doc.state}}
	}

	weight := charges.insert(len(op.body), op.indexed, op.spatial)
	next := state{body: append([]byte(nil), op.body...), ttl: op.ttl, weight: float32(weight)}
	if doc != nil {
		doc.state = next
		p.commit(op.verb, doc, now)
		return outcome{status: http.StatusOK, charge: weight * charges.OverwriteFactor, doc: view{doc.rid, doc.state}}
	}
	if part == nil {
		part = &partition{key: string(op.key), hash: op.hash}
	}
	doc = &document{part: part, id: op.id, rid: p.coll.nextRID.Add(1), state: next}
	p.insert(doc)
	p.commit(op.verb, doc, now)
	p.sweepExpired(now)
	return outcome{status: http.StatusCreated, charge: weight, doc: view{doc.rid, doc.state}}
}

func (p *physical) fail(status int, message string) outcome {
	o := failed(status, 0, message)
	o.charge = p.coll.server.charges.Failed
	return o
}

// find returns a key's partition and the document with an id in it, either of
// which may be nil. A document whose time is over is removed.
func (p *physical) find(key []byte, id string, now time.Time) (*partition, *document) {
	part := p.partitions[string(key)]
	if part == nil {
		return nil, nil
	}
	doc := p.documents[documentKey{part, id}]
	if doc != nil && doc.expired(now.Unix(), p.coll.def.Load().defaultExpiration) {
		p.remove(doc)
		return p.partitions[string(key)], nil
	}
	return part, doc
}

// insert adds a new document, the youngest of its range.
func (p *physical) insert(doc *document) {
	part := doc.part
	p.documents[documentKey{part, doc.id}] = doc
	p.order = append(p.order, doc)
	if part.last == nil {
		part.first = doc
		p.partitions[part.key] = part
	} else {
		part.last.next, doc.prev = doc, part.last
	}
	part.last = doc
}

// remove takes a document away.
func (p *physical) remove(doc *document) {
	part := doc.part
	delete(p.documents, documentKey{part, doc.id})
	if doc.prev == nil {
		part.first = doc.next
	} else {
		doc.prev.next = doc.next
	}
	if doc.next == nil {
		part.last = doc.prev
	} else {
		doc.next.prev = doc.prev
	}
	if part.first == nil {
		delete(p.partitions, part.key)
	}
	doc.dead = true
	p.dead++
	if p.dead > 64 && p.dead > len(p.order)/2 {
		p.compact()
	}
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
		p.journal = append(p.journal, newRecord(v, doc, now))
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
