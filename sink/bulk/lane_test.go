package bulk

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"
)

// numbered makes operations whose document is i modulo documents and whose Index
// counts up.
func numbered(n, documents int) []*Operation {
	ops := make([]*Operation, n)
	for i := range ops {
		ops[i] = &Operation{Index: i}
		ops[i].document = uint64(i%documents + 1)
		ops[i].size = 10
	}
	return ops
}

func indexes(ops []*Operation) []int {
	out := []int{}
	for _, op := range ops {
		out = append(out, op.Index)
	}
	return out
}

func TestLanePick(t *testing.T) {
	now := simulationStart()
	tests := []struct {
		name   string
		ops    []*Operation
		change func([]*Operation)
		limits limits
		want   []int
		left   []int
		next   time.Duration // of the first that is not due, 0 for none
	}{
		{name: "all", ops: numbered(4, 4), limits: limits{ops: 10, bytes: 100}, want: []int{0, 1, 2, 3}, left: []int{}},
		{name: "as many as fit", ops: numbered(5, 5), limits: limits{ops: 3, bytes: 100}, want: []int{0, 1, 2}, left: []int{3, 4}},
		{name: "as much as fits", ops: numbered(5, 5), limits: limits{ops: 9, bytes: 25}, want: []int{0, 1}, left: []int{2, 3, 4}},
		{name: "one that is too large goes alone", ops: numbered(3, 3), limits: limits{ops: 9, bytes: 5}, want: []int{0}, left: []int{1, 2}},
		{name: "a document once", ops: numbered(7, 3), limits: limits{ops: 10, bytes: 100}, want: []int{0, 1, 2}, left: []int{3, 4, 5, 6}},
		{name: "one document only", ops: numbered(4, 1), limits: limits{ops: 10, bytes: 100}, want: []int{0}, left: []int{1, 2, 3}},
		{
			name: "not due, and what is behind it", ops: numbered(6, 3), limits: limits{ops: 10, bytes: 100},
			change: func(ops []*Operation) { ops[1].due = now.Add(time.Second) },
			want:   []int{0, 2}, left: []int{1, 3, 4, 5}, next: time.Second,
		},
		{
			name: "none is due", ops: numbered(2, 2), limits: limits{ops: 10, bytes: 100},
			change: func(ops []*Operation) { ops[0].due, ops[1].due = now.Add(2*time.Second), now.Add(time.Second) },
			want:   []int{}, left: []int{0, 1}, next: time.Second,
		},
		{
			name: "in little company", ops: numbered(6, 6), limits: limits{ops: 10, bytes: 100},
			change: func(ops []*Operation) { ops[1].company = 3 },
			want:   []int{0, 1, 2}, left: []int{3, 4, 5},
		},
		{
			name: "in less company than there is", ops: numbered(6, 6), limits: limits{ops: 10, bytes: 100},
			change: func(ops []*Operation) { ops[3].company = 2 },
			want:   []int{0, 1, 2}, left: []int{3, 4, 5},
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if tt.change != nil {
				tt.change(tt.ops)
			}
			var l lane
			for _, op := range tt.ops {
				l.push(op)
			}
			b := new(batch)
			l.pick(b, &tt.limits, now)
			if got := indexes(b.ops); !slices.Equal(got, tt.want) {
				t.Errorf("picked %v, want %v", got, tt.want)
			}
			if got := indexes(l.queue[l.head:]); !slices.Equal(got, tt.left) {
				t.Errorf("left %v, want %v", got, tt.left)
			}
			if want := now.Add(tt.next); tt.next > 0 && !tt.limits.next.Equal(want) {
				t.Errorf("next at %v, want %v", tt.limits.next, want)
			}
		})
	}
}

// Whatever is picked and put back, operations on one document leave in order and
// none gets lost.
func TestLaneKeepsOrder(t *testing.T) {
	rng := rand.New(rand.NewPCG(5, 6))
	for range 200 {
		documents := 1 + rng.IntN(12)
		ops := numbered(300, documents)
		var l lane
		b := new(batch)
		last := map[uint64]int{}
		settled := 0
		for settled < len(ops) {
			for n := rng.IntN(20); n > 0 && len(ops) > 0 && settled+l.len() < len(ops); n-- {
				l.push(ops[settled+l.len()])
			}
			b.ops, b.size = b.ops[:0], 0
			b.documents.reset()
			l.pick(b, &limits{ops: 1 + rng.IntN(10), bytes: 1000}, time.Time{})
			var back []*Operation
			for _, op := range b.ops {
				if rng.IntN(3) == 0 {
					back = append(back, op)
					continue
				}
				if was, ok := last[op.document]; ok && op.Index < was {
					t.Fatalf("document %d: %d after %d", op.document, op.Index, was)
				}
				last[op.document] = op.Index
				settled++
			}
			l.putBack(back)
		}
	}
}

func TestDocumentSet(t *testing.T) {
	var s documentSet
	rng := rand.New(rand.NewPCG(7, 8))
	for round := range 20 {
		if round == 10 {
			s.round = ^uint32(0) // the next reset wraps
			clear(s.slots)
			s.used = 0
		}
		s.reset()
		want := map[uint64]bool{}
		for range rng.IntN(2000) {
			h := rng.Uint64N(3000)
			if s.has(h) != want[h] {
				t.Fatalf("round %d: has(%d) = %v, want %v", round, h, s.has(h), want[h])
			}
			if rng.IntN(2) == 0 {
				s.add(h)
				want[h] = true
			}
		}
		if s.used != len(want) {
			t.Fatalf("round %d: %d used, want %d", round, s.used, len(want))
		}
	}
}

func TestBackOff(t *testing.T) {
	const first, most = 10 * time.Millisecond, time.Second
	for failures := 1; failures < 80; failures++ {
		middle := most
		if failures <= 7 {
			middle = first << (failures - 1)
		}
		for range 50 {
			if d := backOff(first, most, failures); d < middle/2 || d > middle*3/2 {
				t.Fatalf("after %d failures %v, want about %v", failures, d, middle)
			}
		}
	}
}

func TestKindString(t *testing.T) {
	for k, want := range map[Kind]string{Upsert: "Upsert", Create: "Create", Patch: "Patch", kinds: "Kind(6)"} {
		if got := fmt.Sprint(k); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}
