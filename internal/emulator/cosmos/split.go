package cosmos

import (
	"errors"
	"fmt"
	"math/big"
	"slices"
	"strconv"

	"warmpath/internal/emulator/cosmos/epk"
)

// ErrNoRange is returned for a physical range that does not exist, or not any
// more.
var ErrNoRange = errors.New("no such physical range")

// SplitRange splits a physical range in the middle of its bounds into two, as
// the service does when a range has grown or more throughput is bought. From
// then on requests that name the old range are answered with 410/1002, and
// clients learn of the new ones, with the old one among their parents. Each new
// range may use as many request units as the old one.
func (s *Server) SplitRange(database, coll, rangeID string) error {
	c := s.container(database, coll)
	if c == nil {
		return fmt.Errorf("container %q of database %q: %w", coll, database, errOwner)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	old := c.routing.Load()
	p := old.byID(rangeID)
	if p == nil {
		return fmt.Errorf("range %q: %w", rangeID, ErrNoRange)
	}
	middle, ok := between(p.min, p.max)
	if !ok {
		return fmt.Errorf("range %q is too narrow to split", rangeID)
	}

	p.mu.Lock()
	defer p.mu.Unlock()
	table := &routing{generation: old.generation + 1}
	low, high := c.child(p, p.min, middle, table), c.child(p, middle, p.max, table)
	for key, part := range p.partitions {
		to := low
		if part.hash.Compare(middle) >= 0 {
			to = high
		}
		to.partitions[key] = part
	}
	for _, d := range p.order {
		if d.dead {
			continue
		}
		to := low
		if d.part.hash.Compare(middle) >= 0 {
			to = high
		}
		to.live++
		to.order = append(to.order, d)
	}
	at := slices.Index(old.ranges, p)
	table.ranges = slices.Concat(old.ranges[:at], []*physical{low, high}, old.ranges[at+1:])

	// The new table is in place before the old range is given up, so that who
	// finds it gone finds its children.
	c.retired = append(c.retired, p)
	c.routing.Store(table)
	p.gone = true
	p.partitions, p.order, p.live = nil, nil, 0
	return nil
}

// child makes a range that takes over a part of another one. The caller holds
// c.mu and p.mu.
func (c *container) child(p *physical, lo, hi epk.Value, table *routing) *physical {
	n := newPhysical(c, strconv.Itoa(c.rangeIDs), lo, hi)
	c.rangeIDs++
	n.parents = append(slices.Clone(p.parents), p.id)
	n.made = table.generation
	n.lsn = p.lsn
	return n
}

// between is the middle of two bounds, in the first 128 bits.
func between(lo, hi epk.Value) (epk.Value, bool) {
	number := func(v epk.Value) *big.Int {
		n := new(big.Int).SetUint64(v[0])
		return n.Lsh(n, 64).Or(n, new(big.Int).SetUint64(v[1]))
	}
	top := number(hi)
	if hi == epk.Max() {
		top = new(big.Int).Lsh(big.NewInt(1), 126) // hashes end here
	}
	middle := new(big.Int).Add(number(lo), top)
	middle.Rsh(middle, 1)
	v := epk.Value{new(big.Int).Rsh(middle, 64).Uint64(), middle.Uint64()}
	return v, v.Compare(lo) > 0 && v.Compare(hi) < 0
}
