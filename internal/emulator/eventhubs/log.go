package eventhubs

import (
	"sort"
	"sync"
)

const (
	// firstOffset is the offset of a partition's first event. Anything above 0
	// keeps offsets and sequence numbers apart for good, as every event has
	// more than one byte.
	firstOffset = 64
	// Chunks grow from minChunk to maxChunk bytes, so that a hub with many
	// quiet partitions stays small.
	minChunk = 16 << 10
	maxChunk = 1 << 20
)

// log is the append-only log of one partition: encoded events in byte arenas
// with an index beside each. There is no object per event.
//
// Bytes, once appended, are never changed, so that slices of them may be used
// without a lock for as long as one likes.
type log struct {
	mu      sync.RWMutex // covers what follows
	chunks  []*chunk     // in order; the last one is being filled
	begin   int64        // sequence number of the oldest event kept
	next    int64        // sequence number of the next event
	offset  int64        // offset of the next event
	last    int64        // offset of the newest event, kept or not
	newest  int64        // enqueued time of the newest event, Unix ms
	gap     int64        // sequence numbers to leave out before the next event
	scratch []byte
}

type chunk struct {
	first   int64 // sequence number of its first event
	offset  int64 // offset of its first event
	data    []byte
	ends    []uint32 // of event i in data
	enqueue []int64  // enqueued time of event i, Unix ms
}

func (c *chunk) start(i int) uint32 {
	if i == 0 {
		return 0
	}
	return c.ends[i-1]
}

func newLog() *log { return &log{offset: firstOffset} }

// append adds the event that encode appends to its argument, given its sequence
// number and offset.
func (l *log) append(enqueued int64, encode func(b []byte, sequence, offset int64) []byte) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.next += l.gap
	l.gap = 0
	offset := l.offset
	l.scratch = encode(l.scratch[:0], l.next, offset)
	c := l.room(len(l.scratch))
	c.data = append(c.data, l.scratch...)
	c.ends = append(c.ends, uint32(len(c.data)))
	c.enqueue = append(c.enqueue, enqueued)
	l.next++
	l.offset += int64(len(l.scratch))
	l.last, l.newest = offset, enqueued
}

// room returns a chunk that can take an event of n bytes.
func (l *log) room(n int) *chunk {
	size := minChunk
	if len(l.chunks) > 0 {
		last := l.chunks[len(l.chunks)-1]
		if last.first+int64(len(last.ends)) == l.next && cap(last.data)-len(last.data) >= n {
			return last
		}
		size = min(maxChunk, 2*cap(last.data))
	}
	c := &chunk{first: l.next, offset: l.offset, data: make([]byte, 0, max(size, n))}
	l.chunks = append(l.chunks, c)
	return c
}

// read appends to out the events from sequence number from on, until out is
// full, there are no more, or numbers were skipped. It returns the sequence
// number of the first, which is greater than from if the events asked for were
// trimmed or never were.
func (l *log) read(from int64, out [][]byte) (first int64, events [][]byte) {
	l.mu.RLock()
	defer l.mu.RUnlock()
	first = max(from, l.begin)
	n := first
	for at := l.find(func(c *chunk) bool { return c.first > n }); at < len(l.chunks) && len(out) < cap(out); at++ {
		c := l.chunks[at]
		if c.first > n {
			if len(out) > 0 {
				break
			}
			first, n = c.first, c.first
		}
		for i := int(n - c.first); i < len(c.ends) && len(out) < cap(out); i++ {
			out = append(out, c.data[c.start(i):c.ends[i]:c.ends[i]])
			n++
		}
	}
	return first, out
}

// skip leaves out n sequence numbers before the next event.
func (l *log) skip(n int64) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.gap += n
}

// find returns the index of the last chunk for which after is false; after must
// turn from false to true once. It is 0 if there is none.
func (l *log) find(after func(*chunk) bool) int {
	return max(0, sort.Search(len(l.chunks), func(i int) bool { return after(l.chunks[i]) })-1)
}

// afterOffset returns the sequence number of the first event at a greater
// offset, or at the very one if inclusive.
func (l *log) afterOffset(offset int64, inclusive bool) int64 {
	if inclusive {
		offset--
	}
	l.mu.RLock()
	defer l.mu.RUnlock()
	if len(l.chunks) == 0 || offset >= l.last {
		return l.next
	}
	c := l.chunks[l.find(func(c *chunk) bool { return c.offset > offset })]
	i := sort.Search(len(c.ends), func(i int) bool { return c.offset+int64(c.start(i)) > offset })
	return max(l.begin, c.first+int64(i))
}

// afterTime returns the sequence number of the first event that was enqueued
// after ms, or at it if inclusive. Enqueued times need not be in order.
func (l *log) afterTime(ms int64, inclusive bool) int64 {
	if inclusive {
		ms--
	}
	l.mu.RLock()
	defer l.mu.RUnlock()
	for _, c := range l.chunks {
		for i, t := range c.enqueue {
			if t > ms && c.first+int64(i) >= l.begin {
				return c.first + int64(i)
			}
		}
	}
	return l.next
}

// trim drops the events before a sequence number.
func (l *log) trim(before int64) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.trimLocked(before)
}

func (l *log) trimLocked(before int64) {
	l.begin = max(l.begin, min(before, l.next))
	keep := 0
	for keep < len(l.chunks) && l.chunks[keep].first+int64(len(l.chunks[keep].ends)) <= l.begin {
		l.chunks[keep] = nil // the slice's array must not keep it
		keep++
	}
	l.chunks = l.chunks[keep:]
}

// expire drops the events at the front that were enqueued before ms.
func (l *log) expire(ms int64) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, c := range l.chunks {
		for i := max(0, int(l.begin-c.first)); i < len(c.enqueue); i++ {
			if c.enqueue[i] >= ms {
				l.trimLocked(c.first + int64(i))
				return
			}
		}
	}
	l.trimLocked(l.next)
}
