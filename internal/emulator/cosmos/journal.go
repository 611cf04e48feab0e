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
	Op       string // Create, Upsert, Replace, Patch or Delete
	Key      string // the partition key as a JSON array, such as ["drone-1"]
	ID       string
	ETag     string // after the write
	Body     []byte // as sent, without system properties; nil for Delete. Not to be changed.
	Time     time.Time
	Range    string // id of the physical range it was committed on
}

// record is a Write as a range keeps it: small, and rendered when asked for.
type record struct {
	version uint64
	at      int64     // unix nanoseconds
	doc     *document // only its id and its partition's key, which never change
	body    []byte
	verb    verb
}

func newRecord(v verb, doc *document, now time.Time) record {
	r := record{version: doc.version, at: now.UnixNano(), doc: doc, verb: v}
	if v != verbDelete {
		r.body = doc.body
	}
	return r
}

// journal is a range's list of records. It grows by chunks, as copying it for
// room would cost more than all the rest of a write.
type journal struct{ chunks [][]record }

const journalChunk = 1024

func (j *journal) add(r record) {
	last := len(j.chunks) - 1
	if last < 0 || len(j.chunks[last]) == journalChunk {
		j.chunks = append(j.chunks, make([]record, 0, journalChunk))
		last++
	}
	j.chunks[last] = append(j.chunks[last], r)
}

func (j *journal) len() int {
	n := len(j.chunks)
	if n == 0 {
		return 0
	}
	return (n-1)*journalChunk + len(j.chunks[n-1])
}

// cut drops what came after the first n records.
func (j *journal) cut(n int) {
	for j.len() > n {
		last := len(j.chunks) - 1
		if keep := n - last*journalChunk; keep > 0 {
			j.chunks[last] = j.chunks[last][:keep]
		} else {
			j.chunks = j.chunks[:last]
		}
	}
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
		chunks := slices.Clone(p.journal.chunks)
		p.mu.Unlock()
		// Records are never changed, so they may be read without the lock.
		for _, chunk := range chunks {
			for i := range chunk {
				out = append(out, chunk[i].write(p.id))
			}
		}
	}
	slices.SortFunc(out, func(a, b Write) int { return cmp.Compare(a.Sequence, b.Sequence) })
	return out
}

func (r *record) write(rangeID string) Write {
	at := time.Unix(0, r.at)
	st := state{version: r.version, modified: at.Unix()}
	return Write{
		Sequence: r.version,
		Op:       r.verb.String(),
		Key:      keyJSON(r.doc.part.key),
		ID:       r.doc.id,
		ETag:     st.etag(),
		Body:     r.body,
		Time:     at,
		Range:    rangeID,
	}
}
