package cosmos

import (
	"cmp"
	"slices"
	"time"
)

// Write is one accepted write, as the journal tells it.
type Write struct {
	// Sequence numbers the writes of the whole server in the order in which
	// they were committed. It has gaps where other containers wrote.
	Sequence uint64
	Op       string // Create, Upsert, Replace or Delete
	Key      string // the partition key as a JSON array, such as ["drone-1"]
	ID       string
	ETag     string // after the write
	Body     []byte // as sent, without system properties; nil for Delete. Not to be changed.
	Time     time.Time
	Range    string // id of the physical range it was committed on
}

// record is a Write as a range keeps it: small, and rendered when asked for.
type record struct {
	version  uint64
	modified int64
	at       time.Time
	doc      *document // only its id and its partition's key, which never change
	body     []byte
	verb     verb
}

func newRecord(v verb, doc *document, now time.Time) record {
	r := record{version: doc.version, modified: doc.modified, at: now, doc: doc, verb: v}
	if v != verbDelete {
		r.body = doc.body
	}
	return r
}

// Journal returns every write that was accepted for a container, in the order
// of commit, since the container was created. It is nil for a container that
// does not exist and for a server started with [WithoutJournal].
func (s *Server) Journal(database, coll string) []Write {
	c := s.container(database, coll)
	if c == nil {
		return nil
	}
	var out []Write
	for _, p := range c.everyRange() {
		p.mu.Lock()
		records := p.journal
		p.mu.Unlock()
		// Records are only ever appended, so the slice may be read unlocked.
		for i := range records {
			r := &records[i]
			st := state{version: r.version, modified: r.modified}
			out = append(out, Write{
				Sequence: r.version,
				Op:       r.verb.String(),
				Key:      keyJSON(r.doc.part.key),
				ID:       r.doc.id,
				ETag:     st.etag(),
				Body:     r.body,
				Time:     r.at,
				Range:    p.id,
			})
		}
	}
	slices.SortFunc(out, func(a, b Write) int { return cmp.Compare(a.Sequence, b.Sequence) })
	return out
}
