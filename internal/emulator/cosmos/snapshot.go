package cosmos

import (
	"sort"
	"strings"
	"time"
)

// chunk is how many documents are taken at once while a range's mutex is held,
// so that a long query lets writes pass between.
const chunk = 1024

// after returns the next live documents of a stretch in order of rid, of the
// keys that start with prefix. end tells that there are no more. The caller
// holds p.mu.
func (p *physical) after(st *stretch, prefix []byte, now time.Time) (docs []view, end bool) {
	ttl, unix := p.coll.def.Load().defaultExpiration, now.Unix()
	// A stretch that covers the range needs no look at the hashes.
	covers := st.lo.Compare(p.min) <= 0 && st.hi.Compare(p.max) >= 0
	i := sort.Search(len(p.order), func(i int) bool { return p.order[i].rid > st.after })
	for ; i < len(p.order); i++ {
		d := p.order[i]
		if d.dead || d.expired(unix, ttl) {
			continue
		}
		if !covers && (d.part.hash.Compare(st.lo) < 0 || d.part.hash.Compare(st.hi) >= 0) {
			continue
		}
		if len(prefix) > 0 && !strings.HasPrefix(d.part.key, string(prefix)) {
			continue
		}
		if len(docs) == chunk {
			return docs, false
		}
		docs = append(docs, view{d.rid, d.state})
	}
	return docs, true
}

// ofKey is after for one logical partition.
func (p *physical) ofKey(key string, rid uint64, now time.Time) (docs []view, end bool) {
	part := p.partitions[key]
	if part == nil {
		return nil, true
	}
	ttl, unix := p.coll.def.Load().defaultExpiration, now.Unix()
	for d := part.first; d != nil; d = d.next {
		if d.rid <= rid || d.expired(unix, ttl) {
			continue
		}
		if len(docs) == chunk {
			return docs, false
		}
		docs = append(docs, view{d.rid, d.state})
	}
	return docs, true
}

// Document is one stored document.
type Document struct {
	Key  string // the partition key as a JSON array, such as ["drone-1"]
	ID   string
	ETag string
	Body []byte // as sent, without system properties. Not to be changed.
}

// Documents calls yield for every document of a container that has not expired,
// range by range and the oldest first, until it returns false. What is written
// meanwhile may or may not be seen.
func (s *Server) Documents(database, coll string) func(yield func(Document) bool) {
	return func(yield func(Document) bool) {
		c := s.container(database, coll)
		if c == nil {
			return
		}
		ttl, now := c.def.Load().defaultExpiration, s.now().Unix()
		for _, p := range c.routing.Load().ranges {
			var docs []Document
			p.mu.Lock()
			for _, d := range p.order {
				if !d.dead && !d.expired(now, ttl) {
					docs = append(docs, Document{d.part.key, d.id, d.etag(), d.body})
				}
			}
			p.mu.Unlock()
			for _, d := range docs {
				d.Key = keyJSON(d.Key)
				if !yield(d) {
					return
				}
			}
		}
	}
}
