package eventhubs

import (
	"encoding/binary"
	"math/rand/v2"
	"testing"
)

// entry is an event as the model of the log remembers it.
type entry struct{ sequence, offset, time, size int64 }

// A log of many chunks, with events larger than a chunk, skipped numbers and
// trimmed fronts, answers every question as a plain slice does.
func TestLogAgainstModel(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	for range 6 {
		l := newLog()
		var kept []entry
		var next, clock int64
		offset := int64(firstOffset)
		for range 2000 {
			switch n := random.IntN(1000); {
			case n < 2:
				skipped := random.Int64N(5) + 1
				l.skip(skipped)
				next += skipped
			case n < 4 && len(kept) > 0:
				drop := random.IntN(len(kept))
				l.trim(kept[drop].sequence)
				kept = kept[drop:]
			case n < 5 && len(kept) > 0:
				oldest := kept[random.IntN(len(kept))].time
				l.expire(oldest)
				for len(kept) > 0 && kept[0].time < oldest {
					kept = kept[1:]
				}
			default:
				size := 8 + random.Int64N(400)
				if n == 999 {
					size = 3 * minChunk
				}
				clock += random.Int64N(3)
				l.append(clock, func(b []byte, sequence, at int64) []byte {
					if sequence != next || at != offset {
						t.Fatalf("appended as %d at %d, want %d at %d", sequence, at, next, offset)
					}
					b = binary.BigEndian.AppendUint64(b, uint64(sequence))
					return append(b, make([]byte, size-8)...)
				})
				kept = append(kept, entry{next, offset, clock, size})
				next++
				offset += size
			}
		}
		checkLog(t, random, l, kept, next)
	}
}

func checkLog(t *testing.T, random *rand.Rand, l *log, kept []entry, next int64) {
	t.Helper()
	first := func(ok func(entry) bool) int64 {
		for _, e := range kept {
			if ok(e) {
				return e.sequence
			}
		}
		return next
	}
	// Any number in a gap leads to the event after it.
	leads := func(sequence int64) int64 {
		return first(func(e entry) bool { return e.sequence >= sequence })
	}
	for range 200 {
		e := kept[random.IntN(len(kept))]
		jitter := random.Int64N(3) - 1
		o := e.offset + jitter
		if got, want := leads(l.afterOffset(o, false)), first(func(e entry) bool { return e.offset > o }); got != want {
			t.Fatalf("after offset %d: %d, want %d", o, got, want)
		}
		if got, want := leads(l.afterOffset(o, true)), first(func(e entry) bool { return e.offset >= o }); got != want {
			t.Fatalf("from offset %d: %d, want %d", o, got, want)
		}
		at := e.time + jitter
		if got, want := leads(l.afterTime(at, false)), first(func(e entry) bool { return e.time > at }); got != want {
			t.Fatalf("after time %d: %d, want %d", at, got, want)
		}
	}
	// Reading from any number on gives what is kept, in order.
	for range 20 {
		from := random.Int64N(next + 1)
		var want []entry
		for _, e := range kept {
			if e.sequence >= from {
				want = append(want, e)
			}
		}
		for at := from; ; {
			start, events := l.read(at, make([][]byte, 0, 1+random.IntN(100)))
			if len(events) == 0 {
				break
			}
			for i, b := range events {
				if len(want) == 0 {
					t.Fatalf("from %d: event %d is too many", from, start+int64(i))
				}
				if got := int64(binary.BigEndian.Uint64(b)); got != want[0].sequence || got != start+int64(i) || int64(len(b)) != want[0].size {
					t.Fatalf("from %d: read event %d of %d bytes as %d, want %d of %d", from, got, len(b), start+int64(i), want[0].sequence, want[0].size)
				}
				want = want[1:]
			}
			at = start + int64(len(events))
		}
		if len(want) > 0 {
			t.Fatalf("from %d: %d events are missing, the first is %d", from, len(want), want[0].sequence)
		}
	}
}

// What was trimmed is given back to the memory, chunk by chunk.
func TestTrimFreesChunks(t *testing.T) {
	l := newLog()
	for range 1000 {
		l.append(0, func(b []byte, _, _ int64) []byte { return append(b, make([]byte, 1000)...) })
	}
	before := len(l.chunks)
	l.trim(990)
	if len(l.chunks) != 1 || before < 3 {
		t.Errorf("%d chunks of %d are left, want 1", len(l.chunks), before)
	}
	l.trim(5000)
	if len(l.chunks) != 0 || l.begin != 1000 {
		t.Errorf("%d chunks are left, the log begins at %d", len(l.chunks), l.begin)
	}
	if got := l.afterOffset(firstOffset, false); got != 1000 {
		t.Errorf("an old offset leads to %d, want 1000", got)
	}
}
