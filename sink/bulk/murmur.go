package bulk

import (
	"encoding/binary"
	"math/bits"
)

// Multipliers of MurmurHash3 for 128 bits on 64-bit machines, as published by
// its author (github.com/aappleby/smhasher, MurmurHash3.cpp, public domain).
const (
	murmurC1 = 0x87c37b91114253d5
	murmurC2 = 0x4cf5ad432745937f
)

// murmur3 hashes data with seed 0 to two words, the first of which is the less
// significant half of an effective partition key.
func murmur3(data []byte) (h1, h2 uint64) {
	length := uint64(len(data))
	for ; len(data) >= 16; data = data[16:] {
		h1 ^= murmurMix1(binary.LittleEndian.Uint64(data))
		h1 = bits.RotateLeft64(h1, 27) + h2
		h1 = h1*5 + 0x52dce729
		h2 ^= murmurMix2(binary.LittleEndian.Uint64(data[8:]))
		h2 = bits.RotateLeft64(h2, 31) + h1
		h2 = h2*5 + 0x38495ab5
	}
	// What is left is hashed as if zeros followed it, but without the additions.
	var tail [16]byte
	copy(tail[:], data)
	if len(data) > 8 {
		h2 ^= murmurMix2(binary.LittleEndian.Uint64(tail[8:]))
	}
	if len(data) > 0 {
		h1 ^= murmurMix1(binary.LittleEndian.Uint64(tail[:]))
	}
	h1 ^= length
	h2 ^= length
	h1 += h2
	h2 += h1
	h1 = murmurFinal(h1)
	h2 = murmurFinal(h2)
	h1 += h2
	h2 += h1
	return h1, h2
}

func murmurMix1(k uint64) uint64 {
	return bits.RotateLeft64(k*murmurC1, 31) * murmurC2
}

func murmurMix2(k uint64) uint64 {
	return bits.RotateLeft64(k*murmurC2, 33) * murmurC1
}

func murmurFinal(k uint64) uint64 {
	k ^= k >> 33
	k *= 0xff51afd7ed558ccd
	k ^= k >> 33
	k *= 0xc4ceb9fe1a85ec53
	return k ^ k>>33
}
