package epk

import (
	"encoding/binary"
	"math/bits"
)

// murmur3 is MurmurHash3_x64_128 with seed 0 (Austin Appleby, public domain):
// the function the service hashes partition keys with.
func murmur3(data []byte) (h1, h2 uint64) {
	const (
		c1 = 0x87c37b91114253d5
		c2 = 0x4cf5ad432745937f
	)
	length := uint64(len(data))
	for len(data) >= 16 {
		k1 := binary.LittleEndian.Uint64(data)
		k2 := binary.LittleEndian.Uint64(data[8:])
		data = data[16:]

		h1 ^= bits.RotateLeft64(k1*c1, 31) * c2
		h1 = (bits.RotateLeft64(h1, 27)+h2)*5 + 0x52dce729
		h2 ^= bits.RotateLeft64(k2*c2, 33) * c1
		h2 = (bits.RotateLeft64(h2, 31)+h1)*5 + 0x38495ab5
	}

	// The tail is the last block padded with zeros, which change nothing.
	var tail [16]byte
	copy(tail[:], data)
	h2 ^= bits.RotateLeft64(binary.LittleEndian.Uint64(tail[8:])*c2, 33) * c1
	h1 ^= bits.RotateLeft64(binary.LittleEndian.Uint64(tail[:])*c1, 31) * c2

	h1 ^= length
	h2 ^= length
	h1 += h2
	h2 += h1
	h1 = avalanche(h1)
	h2 = avalanche(h2)
	h1 += h2
	h2 += h1
	return h1, h2
}

// avalanche spreads every bit of k over the whole word.
func avalanche(k uint64) uint64 {
	k ^= k >> 33
	k *= 0xff51afd7ed558ccd
	k ^= k >> 33
	k *= 0xc4ceb9fe1a85ec53
	k ^= k >> 33
	return k
}
