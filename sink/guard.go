package sink

import (
	"encoding/json"
	"hash/maphash"
	"net/http"
	"sync"
	"time"

	"warmpath/geo"
	"warmpath/sink/bulk"
)

// guard keeps an older version of a document from replacing a newer one, across
// restarts and replicas (promise 3). It remembers etag and order of what stood
// last as far as this process knows, and says what to ask of the store next:
//
//	unknown document        Create
//	  409: it exists        Read, compare
//	known document          Replace with its etag
//	  412: somebody wrote   Read, compare
//	  404: it expired       Create
//	read an older version   Replace with that version's etag
//	read a newer version    superseded
//	read the very same      written: an earlier try or a redelivery was here
//
// It never asks for an unconditional upsert, nor for Upsert with an etag: that
// creates a document which is missing, whatever was deleted in between.
//
// It is safe for concurrent use, as long as one document is not written by two
// callers at a time.
type guard struct {
	seed   maphash.Seed
	shards [guardShards]guardShard
}

const guardShards = 64

type guardShard struct {
	mu     sync.Mutex // covers stands
	stands *recent[standing]
}

// standing is what a document is as far as this process knows.
type standing struct {
	order geo.Order
	etag  string
}

// newGuard returns a guard with room for so many documents. One that is
// forgotten costs a Read when it is written again, and nothing else.
func newGuard(size int) *guard {
	g := &guard{seed: maphash.MakeSeed()}
	for i := range g.shards {
		g.shards[i].stands = newRecent[standing](size / guardShards)
	}
	return g
}

func (g *guard) shard(d *Document) *guardShard {
	return &g.shards[maphash.String(g.seed, d.ID)%guardShards]
}

func (g *guard) get(d *Document) (standing, bool) {
	s := g.shard(d)
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.stands.get(documentKey{d.Key, d.ID})
}

func (g *guard) put(d *Document, v standing) {
	s := g.shard(d)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.stands.put(documentKey{d.Key, d.ID}, v)
}

func (g *guard) forget(d *Document) {
	s := g.shard(d)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.stands.forget(documentKey{d.Key, d.ID})
}

// step is what to ask of the store for a document. Over means that nothing more
// need be asked: Outcome is what became of the document.
type step struct {
	kind    bulk.Kind
	ifMatch string
	over    bool
	outcome Outcome
}

// next says what to ask, from what is known now.
func (g *guard) next(d *Document) step {
	s, known := g.get(d)
	if !known {
		return step{kind: bulk.Create}
	}
	return compare(d, s)
}

// compare decides between a document and what stands.
func compare(d *Document, s standing) step {
	switch order := d.Order.Compare(s.order); {
	case order < 0:
		return step{over: true, outcome: Superseded}
	case order == 0:
		return step{over: true, outcome: Written}
	default:
		return step{kind: bulk.Replace, ifMatch: s.etag}
	}
}

// answered takes the store's answer to a step and says what to ask then. ok is
// false for an answer that is none of the guard's business: a refusal.
func (g *guard) answered(d *Document, asked bulk.Kind, status int, etag string, body []byte) (_ step, ok bool) {
	switch {
	case asked == bulk.Read && status == http.StatusOK:
		s := standing{orderIn(body), etag}
		g.put(d, s)
		return compare(d, s), true
	case asked == bulk.Read && status == http.StatusNotFound, asked == bulk.Replace && status == http.StatusNotFound:
		g.forget(d)
		return step{kind: bulk.Create}, true
	case asked == bulk.Create && status == http.StatusConflict, asked == bulk.Replace && status == http.StatusPreconditionFailed:
		return step{kind: bulk.Read}, true
	case asked != bulk.Read && (status == http.StatusOK || status == http.StatusCreated):
		g.put(d, standing{d.Order, etag})
		return step{over: true, outcome: Written}, true
	default:
		return step{}, false
	}
}

// orderIn reads the order of a stored document. One that somebody else has put
// there and that has none is older than any of ours.
func orderIn(body []byte) geo.Order {
	var stored struct {
		Source struct {
			EnqueuedTime   time.Time `json:"enqueuedTime"`
			SequenceNumber int64     `json:"sequenceNumber"`
			Index          int       `json:"index"`
		} `json:"source"`
	}
	if err := json.Unmarshal(body, &stored); err != nil || stored.Source.EnqueuedTime.IsZero() {
		return geo.Order{Enqueued: -1}
	}
	return geo.Order{Enqueued: stored.Source.EnqueuedTime.UnixMilli(), Sequence: stored.Source.SequenceNumber, Index: stored.Source.Index}
}
