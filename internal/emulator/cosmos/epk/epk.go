// Package epk computes effective partition keys: the hash by which Cosmos DB
// decides which physical partition holds a logical partition.
//
// A partition key is first encoded, component by component, into bytes
// ([AppendString] and its sisters). The encoding is self-delimiting, so it also
// serves as the identity of a key. [Hash] and [MultiHash] then turn the bytes
// into a [Value], which is compared against the bounds of physical partitions.
//
// Only version 2 of the hash is here. Version 1 is not: the public SDKs
// disagree about it.
//
// All functions are pure and safe for concurrent use.
package epk

import (
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"math"
	"strings"
)

// Markers that start an encoded component.
const (
	markUndefined = 0x00
	markNull      = 0x01
	markFalse     = 0x02
	markTrue      = 0x03
	markNumber    = 0x05
	markString    = 0x08

	// stringEnd cannot occur in UTF-8, which is what makes the encoding
	// self-delimiting.
	stringEnd = 0xFF
)

// MaxComponents is the number of paths a hierarchical key can have.
const MaxComponents = 3

// topBits clears the two highest bits of a hash: the service keeps all hashes
// below "40" so that "FF" can serve as the end of the key space.
const topBits = 1<<62 - 1

// AppendString appends the encoding of a string component. s must be UTF-8.
func AppendString[T string | []byte](dst []byte, s T) []byte {
	dst = append(dst, markString)
	dst = append(dst, s...)
	return append(dst, stringEnd)
}

// AppendNumber appends the encoding of a number component.
func AppendNumber(dst []byte, f float64) []byte {
	dst = append(dst, markNumber)
	return binary.LittleEndian.AppendUint64(dst, math.Float64bits(f))
}

// AppendBool appends the encoding of a boolean component.
func AppendBool(dst []byte, b bool) []byte {
	if b {
		return append(dst, markTrue)
	}
	return append(dst, markFalse)
}

// AppendNull appends the encoding of a null component.
func AppendNull(dst []byte) []byte { return append(dst, markNull) }

// AppendUndefined appends the encoding of a component that the document does
// not have.
func AppendUndefined(dst []byte) []byte { return append(dst, markUndefined) }

// Component is one decoded component of an encoded key: nil for null,
// [Undefined], a bool, a float64 or a string.
type Component any

// Undefined is the component of a document that lacks the key path.
type Undefined struct{}

// Components decodes what the Append functions encoded. It stops at the first
// byte that none of them writes.
func Components(encoded []byte) []Component {
	var out []Component
	for len(encoded) > 0 {
		n := componentLen(encoded)
		switch encoded[0] {
		case markUndefined:
			out = append(out, Undefined{})
		case markNull:
			out = append(out, nil)
		case markFalse, markTrue:
			out = append(out, encoded[0] == markTrue)
		case markNumber:
			if n < 9 {
				return out
			}
			out = append(out, math.Float64frombits(binary.LittleEndian.Uint64(encoded[1:9])))
		case markString:
			if encoded[n-1] != stringEnd {
				return out
			}
			out = append(out, string(encoded[1:n-1]))
		default:
			return out
		}
		encoded = encoded[n:]
	}
	return out
}

// componentLen is the length of the first component of a non-empty encoding.
func componentLen(b []byte) int {
	switch b[0] {
	case markNumber:
		return min(9, len(b))
	case markString:
		for i, c := range b {
			if c == stringEnd {
				return i + 1
			}
		}
		return len(b)
	default:
		return 1
	}
}

// Value is an effective partition key: up to three 128-bit numbers, most
// significant word first, padded with zeros. Padding is what the service's
// length-aware comparison amounts to: "AB" and "AB00" are the same bound.
type Value [2 * MaxComponents]uint64

// Hash is the effective key of a container of kind Hash: one hash over all the
// components together.
func Hash(encoded []byte) Value {
	low, high := murmur3(encoded)
	return Value{high & topBits, low}
}

// MultiHash is the effective key of a container of kind MultiHash: every
// component hashed alone, one after the other. A prefix of a key has the
// effective key of its first document, see [Value.PrefixEnd].
func MultiHash(encoded []byte) Value {
	var v Value
	for i := 0; len(encoded) > 0 && i < MaxComponents; i++ {
		n := componentLen(encoded)
		low, high := murmur3(encoded[:n])
		v[2*i], v[2*i+1] = high&topBits, low
		encoded = encoded[n:]
	}
	return v
}

// Max is the end of the key space, written "FF".
func Max() Value { return Value{0xFF << 56} }

// Compare is negative, zero or positive as v comes before, at or after w.
func (v Value) Compare(w Value) int {
	for i := range v {
		if v[i] != w[i] {
			if v[i] < w[i] {
				return -1
			}
			return 1
		}
	}
	return 0
}

// PrefixEnd is the exclusive end of the keys that start with the first n
// components of v.
func (v Value) PrefixEnd(n int) Value {
	for i := 2 * n; i < len(v); i++ {
		v[i] = 0
	}
	for i := 2*n - 1; i >= 0; i-- {
		v[i]++
		if v[i] != 0 {
			break
		}
	}
	return v
}

// String is the bound as the service writes it: upper-case hexadecimal, "" for
// the start of the key space and "FF" for its end, otherwise 32 digits for
// every component that is not all zeros.
func (v Value) String() string {
	if v == (Value{}) {
		return ""
	}
	if v == Max() {
		return "FF"
	}
	words := len(v)
	for words > 2 && v[words-1] == 0 && v[words-2] == 0 {
		words -= 2
	}
	b := make([]byte, 0, 8*words)
	for _, w := range v[:words] {
		b = binary.BigEndian.AppendUint64(b, w)
	}
	return strings.ToUpper(hex.EncodeToString(b))
}

// Parse reads what String writes, and shorter forms: missing digits are zeros.
func Parse(s string) (Value, error) {
	var v Value
	if len(s) > 16*len(v) {
		return v, fmt.Errorf("effective partition key of %d digits: at most %d", len(s), 16*len(v))
	}
	padded := s + strings.Repeat("0", 16*len(v)-len(s))
	b, err := hex.DecodeString(padded)
	if err != nil {
		return v, fmt.Errorf("effective partition key %q: %w", s, err)
	}
	for i := range v {
		v[i] = binary.BigEndian.Uint64(b[8*i:])
	}
	return v, nil
}
