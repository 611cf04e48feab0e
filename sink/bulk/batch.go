package bulk

import (
	"bytes"
	"sync"
	"time"
)

// batch is a request that is being put together, is under way or is being
// answered. Batches are used again; between uses they hold no operations.
type batch struct {
	ops       []*Operation
	lanes     []part
	size      int // upper bound of the encoded operations
	documents documentSet

	started  time.Time
	expected float64 // request units that the pacer set aside

	payload *payload
	sent    []int // indexes in ops of the operations in the request, in the order of their answers
	text    bytes.Buffer
	answers []answer
	tally   []Tally
}

// part is the operations of one lane in a batch.
type part struct {
	lane     *lane
	from, to int
}

func (w *Writer) newBatch() *batch {
	b := w.batches.Get().(*batch)
	b.payload = w.payloads.Get().(*payload)
	b.payload.users.Store(1)
	return b
}

func (w *Writer) freeBatch(b *batch) {
	b.payload.release()
	b.payload = nil
	clear(b.ops)
	clear(b.lanes)
	clear(b.answers) // they point into text
	b.ops, b.lanes, b.sent, b.answers, b.tally = b.ops[:0], b.lanes[:0], b.sent[:0], b.answers[:0], b.tally[:0]
	b.size, b.expected = 0, 0
	b.documents.reset()
	if b.text.Cap() > maxKept {
		b.text = bytes.Buffer{}
	}
	w.batches.Put(b)
}

func newPools() (batches, payloads *sync.Pool) {
	batches = &sync.Pool{New: func() any { return new(batch) }}
	payloads = new(sync.Pool)
	payloads.New = func() any { return &payload{pool: payloads} }
	return batches, payloads
}

// documentSet is a set of hashes. Emptying it costs nothing, which a map cannot
// say.
type documentSet struct {
	slots []documentSlot // a power of two, at least twice as many as are used
	used  int
	round uint32
}

type documentSlot struct {
	hash  uint64
	round uint32 // the slot is in use if this is the set's
}

const fewestSlots = 512

func (s *documentSet) reset() {
	s.used = 0
	if s.round++; s.round == 0 { // wrapped: old rounds would come to life
		clear(s.slots)
		s.round = 1
	}
}

// slot returns the slot of a hash, or the free one where it would go.
func (s *documentSet) slot(hash uint64) *documentSlot {
	mask := uint64(len(s.slots) - 1)
	for i := hash & mask; ; i = (i + 1) & mask {
		if p := &s.slots[i]; p.round != s.round || p.hash == hash {
			return p
		}
	}
}

func (s *documentSet) has(hash uint64) bool {
	return s.used > 0 && s.slot(hash).round == s.round
}

func (s *documentSet) add(hash uint64) {
	if 2*(s.used+1) > len(s.slots) {
		s.grow()
	}
	if p := s.slot(hash); p.round != s.round {
		p.hash, p.round = hash, s.round
		s.used++
	}
}

func (s *documentSet) grow() {
	old, round := s.slots, s.round
	s.slots = make([]documentSlot, max(fewestSlots, 2*len(old)))
	s.round, s.used = 1, 0
	for _, p := range old {
		if p.round == round {
			s.add(p.hash)
		}
	}
}
