// Package rawjson reads JSON where it lies, in one pass and without building
// values: what a server needs that stores documents as the bytes it was sent
// and looks only at a few members of each.
//
// A [Reader] is pulled: the caller asks for the next member or element, then
// either enters it, takes its raw bytes, or skips it. Everything that is passed
// over has been checked: syntax (RFC 8259), UTF-8 and a bound on nesting.
//
// A Reader is used by one goroutine. The slices it returns are parts of its
// input, never copies, except names that were written with escapes.
package rawjson

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math/bits"
	"unicode/utf8"
)

// MaxDepth is how deep values may nest. It is the service's own limit.
const MaxDepth = 128

// ErrDepth is returned for values that nest deeper than MaxDepth.
var ErrDepth = errors.New("json nests too deep")

// SyntaxError says where and why an input is not JSON.
type SyntaxError struct {
	Offset int
	Reason string
}

// Error names the offset and the reason.
func (e *SyntaxError) Error() string {
	return fmt.Sprintf("invalid json at offset %d: %s", e.Offset, e.Reason)
}

// Kind is the kind of a value, told from its first byte.
type Kind byte

// The kinds of values.
const (
	Invalid Kind = iota
	Null
	Bool
	Number
	String
	Array
	Object
)

// KindOf tells the kind of a raw value from its first byte.
func KindOf(raw []byte) Kind {
	if len(raw) == 0 {
		return Invalid
	}
	switch c := raw[0]; {
	case c == 'n':
		return Null
	case c == 't', c == 'f':
		return Bool
	case c == '"':
		return String
	case c == '[':
		return Array
	case c == '{':
		return Object
	case c == '-', '0' <= c && c <= '9':
		return Number
	default:
		return Invalid
	}
}

// Reader reads one JSON text. Its error is sticky: after the first fault every
// method reports the end, and Err tells why.
type Reader struct {
	data  []byte
	pos   int
	depth int
	first bool // no member or element of the innermost open value was read yet
	err   error
}

// NewReader returns a Reader over data, which must not change while it is used.
func NewReader(data []byte) Reader {
	r := Reader{data: data}
	if !utf8.Valid(data) {
		r.fail("text is not UTF-8")
	}
	return r
}

// NewTrustedReader returns a Reader over data that a Reader has passed over
// before: it is not checked again to be UTF-8.
func NewTrustedReader(data []byte) Reader { return Reader{data: data} }

// Err is the first fault met, or nil.
func (r *Reader) Err() error { return r.err }

// End checks that nothing but white space follows.
func (r *Reader) End() error {
	r.space()
	if r.err == nil && r.pos < len(r.data) {
		r.fail("text after the value")
	}
	return r.err
}

// Kind tells the kind of the next value without reading it.
func (r *Reader) Kind() Kind {
	r.space()
	if r.err != nil {
		return Invalid
	}
	return KindOf(r.data[r.pos:])
}

// Offset is the position of the next value, or of the byte after the last one.
func (r *Reader) Offset() int {
	r.space()
	return r.pos
}

// Since returns the input from a position that Offset told up to here.
func (r *Reader) Since(offset int) []byte { return r.data[offset:r.pos] }

// EnterObject enters the object that comes next. NextMember leaves it at its
// end.
func (r *Reader) EnterObject() bool { return r.enter('{') }

// EnterArray enters the array that comes next. NextElement leaves it at its
// end.
func (r *Reader) EnterArray() bool { return r.enter('[') }

func (r *Reader) enter(open byte) bool {
	r.space()
	if r.err != nil || r.pos >= len(r.data) || r.data[r.pos] != open {
		r.fail("expected " + string(open))
		return false
	}
	if r.depth >= MaxDepth {
		r.err = ErrDepth
		return false
	}
	r.pos++
	r.depth++
	r.first = true
	return true
}

// NextMember reads the name of the next member of the object that was entered,
// or leaves the object and returns false.
func (r *Reader) NextMember() (name []byte, ok bool) {
	if !r.more('}') {
		return nil, false
	}
	r.space()
	raw, escaped := r.text()
	r.colon()
	if r.err != nil {
		return nil, false
	}
	if escaped {
		return AppendUnquoted(nil, raw), true
	}
	return raw[1 : len(raw)-1], true
}

// colon passes over what stands between a name and its value.
func (r *Reader) colon() {
	r.space()
	if r.pos >= len(r.data) || r.data[r.pos] != ':' {
		r.fail("expected ':'")
		return
	}
	r.pos++
}

// NextElement moves to the next element of the array that was entered, or
// leaves the array and returns false.
func (r *Reader) NextElement() bool { return r.more(']') }

func (r *Reader) more(closing byte) bool {
	r.space()
	if r.err != nil {
		return false
	}
	if r.pos >= len(r.data) {
		r.fail("unexpected end")
		return false
	}
	if r.data[r.pos] == closing {
		r.pos++
		r.depth--
		r.first = false // the closed value is one of its parent's
		return false
	}
	if !r.first {
		if r.data[r.pos] != ',' {
			r.fail("expected ',' or " + string(closing))
			return false
		}
		r.pos++
	}
	r.first = false
	return true
}

// Value reads the next value and returns its raw bytes, nil after a fault.
func (r *Reader) Value() []byte {
	raw, _ := r.Count()
	return raw
}

// Count reads the next value and returns its raw bytes and how many scalars it
// holds.
func (r *Reader) Count() (raw []byte, scalars int) {
	r.space()
	start := r.pos
	scalars = r.skip()
	if r.err != nil {
		return nil, 0
	}
	r.first = false
	return r.data[start:r.pos], scalars
}

func (r *Reader) fail(reason string) {
	if r.err == nil {
		r.err = &SyntaxError{Offset: r.pos, Reason: reason}
	}
}

func (r *Reader) space() {
	for r.pos < len(r.data) && r.data[r.pos] <= ' ' {
		switch r.data[r.pos] {
		case ' ', '\t', '\n', '\r':
			r.pos++
		default:
			return
		}
	}
}

// skip passes over one value, checking it, and counts its scalars.
func (r *Reader) skip() (scalars int) {
	if r.err != nil {
		return 0
	}
	if r.pos >= len(r.data) {
		r.fail("unexpected end")
		return 0
	}
	switch c := r.data[r.pos]; c {
	case '{':
		r.EnterObject()
		for r.more('}') {
			r.space()
			r.text()
			r.colon()
			r.space()
			scalars += r.skip()
		}
		return scalars
	case '[':
		r.EnterArray()
		for r.more(']') {
			r.space()
			scalars += r.skip()
		}
		return scalars
	case '"':
		r.text()
	case 't':
		r.literal("true")
	case 'f':
		r.literal("false")
	case 'n':
		r.literal("null")
	default:
		r.number()
	}
	return 1
}

func (r *Reader) literal(want string) {
	if end := r.pos + len(want); end <= len(r.data) && string(r.data[r.pos:end]) == want {
		r.pos = end
		return
	}
	r.fail("expected " + want)
}

// text passes over a string and returns it with its quotes, and whether it has
// escapes.
func (r *Reader) text() (raw []byte, escaped bool) {
	if r.err != nil {
		return nil, false
	}
	if r.pos >= len(r.data) || r.data[r.pos] != '"' {
		r.fail("expected a string")
		return nil, false
	}
	data := r.data
	for i := r.pos + 1; ; {
		i += plainLen(data[i:])
		switch {
		case i == len(data):
			r.pos = i
			r.fail("string without an end")
			return nil, false
		case data[i] == '"':
			raw = data[r.pos : i+1]
			r.pos = i + 1
			return raw, escaped
		case data[i] != '\\':
			r.pos = i
			r.fail("control character in a string")
			return nil, false
		}
		n := escapeLen(data[i:])
		if n == 0 {
			r.pos = i
			r.fail("unknown escape")
			return nil, false
		}
		i += n
		escaped = true
	}
}

// plainLen is how many bytes at the start of b stand for themselves inside a
// string. Strings are most of a document, so it looks at eight bytes at once:
// the lowest bit that is set in special marks the first byte that is a quote, a
// backslash or a control character.
func plainLen(b []byte) int {
	const ones, highs = 0x0101010101010101, 0x8080808080808080
	i := 0
	for ; i+8 <= len(b); i += 8 {
		w := binary.LittleEndian.Uint64(b[i:])
		quote, backslash := w^(ones*'"'), w^(ones*'\\')
		special := ((quote-ones)&^quote | (backslash-ones)&^backslash | (w-ones*' ')&^w) & highs
		if special != 0 {
			return i + bits.TrailingZeros64(special)/8
		}
	}
	for i < len(b) && plain[b[i]] {
		i++
	}
	return i
}

// plain tells the bytes that stand for themselves inside a string.
var plain = func() (t [256]bool) {
	for c := range t {
		t[c] = c >= 0x20 && c != '"' && c != '\\'
	}
	return t
}()

// escapeLen is the length of the escape sequence b starts with, 0 if it is
// none.
func escapeLen(b []byte) int {
	if len(b) < 2 {
		return 0
	}
	switch b[1] {
	case '"', '\\', '/', 'b', 'f', 'n', 'r', 't':
		return 2
	case 'u':
		if len(b) >= 6 {
			if _, ok := hex4(b[2:6]); ok {
				return 6
			}
		}
	}
	return 0
}

// number passes over a number.
func (r *Reader) number() {
	data, i := r.data, r.pos
	digits := func() bool {
		start := i
		for i < len(data) && '0' <= data[i] && data[i] <= '9' {
			i++
		}
		return i > start
	}
	if i < len(data) && data[i] == '-' {
		i++
	}
	switch {
	case i < len(data) && data[i] == '0':
		i++
	case !digits():
		r.fail("expected a value")
		return
	}
	if i < len(data) && data[i] == '.' {
		i++
		if !digits() {
			r.fail("expected a digit after the point")
			return
		}
	}
	if i < len(data) && (data[i] == 'e' || data[i] == 'E') {
		i++
		if i < len(data) && (data[i] == '+' || data[i] == '-') {
			i++
		}
		if !digits() {
			r.fail("expected a digit in the exponent")
			return
		}
	}
	r.pos = i
}
