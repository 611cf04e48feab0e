package amqp

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"time"
)

const (
	// maxDepth bounds how deep lists, maps, arrays and descriptors may nest.
	maxDepth = 32
	// maxEmptyItems bounds arrays whose items occupy no bytes on the wire; the
	// size of every other compound bounds its own count.
	maxEmptyItems = 4096
)

var (
	errShort = errors.New("value is cut short")
	errDepth = errors.New("values nest too deep")
)

// Decode reads one value and returns what follows it. Byte slices in the value
// are parts of b. It fails on a value that is cut short, has an unknown format
// code, or nests deeper than 32 levels.
func Decode(b []byte) (v any, rest []byte, err error) {
	d := decoder{b}
	v, err = d.value(maxDepth)
	return v, d.b, err
}

// DecodeMap reads a map and fails on anything else, or if bytes follow it.
func DecodeMap(b []byte) (Map, error) {
	v, rest, err := Decode(b)
	if err != nil {
		return nil, err
	}
	m, ok := v.(Map)
	if !ok || len(rest) > 0 {
		return nil, fmt.Errorf("expected a map, got %T and %d bytes more", v, len(rest))
	}
	return m, nil
}

// split cuts the encoded value at the front of b off without decoding it. It
// trusts the sizes inside: a compound's items are not looked at.
func split(b []byte) (raw, rest []byte, err error) {
	d := decoder{b}
	if err := d.skip(maxDepth); err != nil {
		return nil, nil, err
	}
	return b[:len(b)-len(d.b)], d.b, nil
}

// decoder consumes encoded values from the front of b.
type decoder struct{ b []byte }

func (d *decoder) take(n int) ([]byte, error) {
	if n < 0 || n > len(d.b) {
		return nil, errShort
	}
	head := d.b[:n:n]
	d.b = d.b[n:]
	return head, nil
}

func (d *decoder) code() (byte, error) {
	if len(d.b) == 0 {
		return 0, errShort
	}
	c := d.b[0]
	d.b = d.b[1:]
	return c, nil
}

// body consumes what follows the given format code, without its size prefix.
func (d *decoder) body(code byte) ([]byte, error) {
	switch code >> 4 {
	case 0x4:
		return nil, nil
	case 0x5, 0x6, 0x7, 0x8, 0x9:
		return d.take(1 << (code>>4 - 5))
	case 0xa, 0xc, 0xe:
		size, err := d.take(1)
		if err != nil {
			return nil, err
		}
		return d.take(int(size[0]))
	case 0xb, 0xd, 0xf:
		size, err := d.take(4)
		if err != nil {
			return nil, err
		}
		n := binary.BigEndian.Uint32(size)
		if uint64(n) > uint64(len(d.b)) {
			return nil, errShort
		}
		return d.take(int(n))
	}
	return nil, fmt.Errorf("format code %#02x is unknown", code)
}

func (d *decoder) skip(depth int) error {
	for ; depth > 0; depth-- {
		code, err := d.code()
		if err != nil {
			return err
		}
		if code != codeDescribed {
			_, err := d.body(code)
			return err
		}
		if err := d.skip(depth - 1); err != nil {
			return err
		}
	}
	return errDepth
}

func (d *decoder) value(depth int) (any, error) {
	if depth == 0 {
		return nil, errDepth
	}
	code, err := d.code()
	if err != nil {
		return nil, err
	}
	if code == codeDescribed {
		descriptor, err := d.value(depth - 1)
		if err != nil {
			return nil, err
		}
		v, err := d.value(depth - 1)
		return Described{descriptor, v}, err
	}
	body, err := d.body(code)
	if err != nil {
		return nil, err
	}
	return decodeBody(code, body, depth)
}

// decodeBody makes a value of what the format code said and the bytes after it.
// body has the length that the code prescribes.
func decodeBody(code byte, body []byte, depth int) (any, error) {
	switch code {
	case codeNull:
		return nil, nil
	case codeTrue:
		return true, nil
	case codeFalse:
		return false, nil
	case codeBool:
		return body[0] != 0, nil
	case codeUbyte:
		return body[0], nil
	case codeByte:
		return int8(body[0]), nil
	case codeUshort:
		return binary.BigEndian.Uint16(body), nil
	case codeShort:
		return int16(binary.BigEndian.Uint16(body)), nil
	case codeUint0, codeSmallUint, codeUint:
		return uint32(unsigned(body)), nil
	case codeUlong0, codeSmallUlong, codeUlong:
		return unsigned(body), nil
	case codeSmallInt:
		return int32(int8(body[0])), nil
	case codeInt:
		return int32(binary.BigEndian.Uint32(body)), nil
	case codeSmallLong:
		return int64(int8(body[0])), nil
	case codeLong:
		return int64(binary.BigEndian.Uint64(body)), nil
	case codeFloat:
		return math.Float32frombits(binary.BigEndian.Uint32(body)), nil
	case codeDouble:
		return math.Float64frombits(binary.BigEndian.Uint64(body)), nil
	case codeChar:
		return Char(binary.BigEndian.Uint32(body)), nil
	case codeTimestamp:
		return time.UnixMilli(int64(binary.BigEndian.Uint64(body))).UTC(), nil
	case codeDecimal32:
		return Decimal32(body), nil
	case codeDecimal64:
		return Decimal64(body), nil
	case codeDecimal128:
		return Decimal128(body), nil
	case codeUUID:
		return UUID(body), nil
	case codeBinary8, codeBinary32:
		return body, nil
	case codeString8, codeString32:
		return string(body), nil
	case codeSymbol8, codeSymbol32:
		return Symbol(body), nil
	case codeList0:
		return List{}, nil
	case codeList8, codeList32:
		items, err := decodeItems(code, body, depth)
		return List(items), err
	case codeMap8, codeMap32:
		items, err := decodeItems(code, body, depth)
		if err != nil {
			return nil, err
		}
		if len(items)%2 != 0 {
			return nil, errors.New("map has a key without a value")
		}
		m := make(Map, len(items)/2)
		for i := range m {
			m[i] = Pair{items[2*i], items[2*i+1]}
		}
		return m, nil
	case codeArray8, codeArray32:
		return decodeArray(code, body, depth)
	}
	return nil, fmt.Errorf("format code %#02x is unknown", code)
}

func unsigned(body []byte) (v uint64) {
	for _, b := range body {
		v = v<<8 | uint64(b)
	}
	return v
}

// count consumes the number of items at the head of a compound's body; it is as
// wide as the size before it was.
func (d *decoder) count(code byte) (int, error) {
	width := 1
	if code>>4 == 0xd || code>>4 == 0xf {
		width = 4
	}
	b, err := d.take(width)
	if err != nil {
		return 0, err
	}
	n := unsigned(b)
	if n > uint64(max(len(d.b), maxEmptyItems)) {
		return 0, fmt.Errorf("%d items cannot stand in %d bytes", n, len(d.b))
	}
	return int(n), nil
}

func decodeItems(code byte, body []byte, depth int) ([]any, error) {
	d := decoder{body}
	n, err := d.count(code)
	if err != nil {
		return nil, err
	}
	if n > len(d.b) { // an item of a list or map has at least its format code
		return nil, errShort
	}
	items := make([]any, n)
	for i := range items {
		if items[i], err = d.value(depth - 1); err != nil {
			return nil, err
		}
	}
	if len(d.b) > 0 {
		return nil, fmt.Errorf("%d bytes follow the last item", len(d.b))
	}
	return items, nil
}

// decodeArray reads an array: one constructor, possibly described, then the
// items without constructors of their own (1.6.24).
func decodeArray(code byte, body []byte, depth int) (any, error) {
	d := decoder{body}
	n, err := d.count(code)
	if err != nil {
		return nil, err
	}
	var descriptors []any
	item, err := d.code()
	for ; err == nil && item == codeDescribed; item, err = d.code() {
		if depth -= 2; depth <= 0 {
			return nil, errDepth
		}
		descriptor, err := d.value(depth)
		if err != nil {
			return nil, err
		}
		descriptors = append(descriptors, descriptor)
	}
	if err != nil {
		return nil, err
	}
	if n > len(d.b) && item>>4 != 0x4 {
		return nil, errShort
	}
	if depth <= 1 {
		return nil, errDepth
	}
	items := make(Array, n)
	for i := range items {
		body, err := d.body(item)
		if err != nil {
			return nil, err
		}
		v, err := decodeBody(item, body, depth-1)
		if err != nil {
			return nil, err
		}
		for j := len(descriptors) - 1; j >= 0; j-- {
			v = Described{descriptors[j], v}
		}
		items[i] = v
	}
	if len(d.b) > 0 {
		return nil, fmt.Errorf("%d bytes follow the last item", len(d.b))
	}
	return items, nil
}
