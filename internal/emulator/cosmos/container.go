package cosmos

import (
	"fmt"
	"math/big"
	"slices"
	"sort"
	"strconv"
	"sync"
	"sync/atomic"

	"warmpath/internal/emulator/cosmos/epk"
)

// container is one container: its definition and its physical ranges. What a
// container shares between ranges is immutable or atomic, so that ranges work
// in parallel.
type container struct {
	server   *Server
	resource resource
	ridBytes []byte // the resource id, decoded
	self     string // dbs/<rid>/colls/<rid>/

	def     atomic.Pointer[definition]
	nextRID atomic.Uint64
	routing atomic.Pointer[routing]

	// mu covers what follows and changes of routing. It may be held when a
	// range's mutex is taken, never the other way round.
	mu       sync.Mutex
	retired  []*physical // ranges that were split
	rangeIDs int         // given out so far
	offer    offer
}

// routing is the set of a container's physical ranges at one time. It is
// immutable.
type routing struct {
	generation uint64
	ranges     []*physical // by bounds, without gaps
}

// locate finds the range whose bounds hold a hash.
func (r *routing) locate(hash epk.Value) *physical {
	i := sort.Search(len(r.ranges), func(i int) bool { return hash.Compare(r.ranges[i].max) < 0 })
	return r.ranges[i]
}

// byID finds a range by its id, nil if there is none, or none any more.
func (r *routing) byID(id string) *physical {
	i := slices.IndexFunc(r.ranges, func(p *physical) bool { return p.id == id })
	if i < 0 {
		return nil
	}
	return r.ranges[i]
}

// divide gives the container n ranges of even width below 3FFF..., where the
// values of version 2 of the hash end.
func (c *container) divide(n int) {
	last := new(big.Int).Sub(new(big.Int).Lsh(big.NewInt(1), 126), big.NewInt(1))
	bound := func(i int) epk.Value {
		switch i {
		case 0:
			return epk.Value{}
		case n:
			return epk.Max()
		}
		b := new(big.Int).Mul(last, big.NewInt(int64(i)))
		v, err := epk.Parse(fmt.Sprintf("%032X", b.Div(b, big.NewInt(int64(n)))))
		if err != nil {
			panic(err) // 32 hexadecimal digits always parse
		}
		return v
	}
	table := &routing{generation: 1}
	for i := range n {
		p := newPhysical(c, strconv.Itoa(i), bound(i), bound(i+1))
		p.made = table.generation
		table.ranges = append(table.ranges, p)
	}
	c.rangeIDs = n
	c.routing.Store(table)
}

// everyRange returns the ranges of now and those that were split.
func (c *container) everyRange() []*physical {
	c.mu.Lock()
	defer c.mu.Unlock()
	return slices.Concat(c.retired, c.routing.Load().ranges)
}
