package bulk

import (
	"encoding/binary"
	"encoding/hex"
	"fmt"
)

// position is an effective partition key, the place of a logical partition in
// the key space that the physical ranges divide: one 128-bit number per hashed
// component, most significant word first, missing ones zero.
//
// Zeros are also what the service's comparison of bounds of unlike length comes
// to: "AB" and "AB00" are the same bound.
type position [2 * maxKeyComponents]uint64

// endOfSpace is what the service writes as "FF". Positions are below it because
// the hash clears the two highest bits of every component.
func endOfSpace() position { return position{0xFF << 56} }

const positionMask = 1<<62 - 1

// positionOf hashes a key with version 2 of the hash: all components of a
// simple key together, each component of a hierarchical one alone.
func positionOf(k *Key, hierarchical bool) position {
	var p position
	var space [128]byte
	hashed := k.first.appendHashed(space[:0])
	if !hierarchical {
		for i := range k.rest {
			hashed = k.rest[i].appendHashed(hashed)
		}
		low, high := murmur3(hashed)
		p[0], p[1] = high&positionMask, low
		return p
	}
	for i := 0; ; i++ {
		low, high := murmur3(hashed)
		p[2*i], p[2*i+1] = high&positionMask, low
		if i == len(k.rest) || i+1 == maxKeyComponents {
			return p
		}
		hashed = k.rest[i].appendHashed(hashed[:0])
	}
}

// compare is negative, zero or positive as p lies before, at or after q.
func (p *position) compare(q *position) int {
	for i := range p {
		if p[i] != q[i] {
			if p[i] < q[i] {
				return -1
			}
			return 1
		}
	}
	return 0
}

// parsePosition reads a bound of a physical range: hexadecimal digits, of which
// the missing ones are zeros.
func parsePosition(s string) (position, error) {
	var p position
	var digits [16 * len(p)]byte
	for i := range digits {
		digits[i] = '0'
	}
	if len(s) > len(digits) {
		return p, fmt.Errorf("bound of %d digits, expected at most %d", len(s), len(digits))
	}
	copy(digits[:], s)
	var raw [8 * len(p)]byte
	if _, err := hex.Decode(raw[:], digits[:]); err != nil {
		return p, fmt.Errorf("bound %.100q: %w", s, err)
	}
	for i := range p {
		p[i] = binary.BigEndian.Uint64(raw[8*i:])
	}
	return p, nil
}
