package amqp

import (
	"encoding/binary"
	"fmt"
	"math"
	"time"
)

// Append appends the encoding of a value to b: any Go type that [Decode]
// returns, and int (as long), map-like [Map], []string and []Symbol (as arrays).
// Small values take their short forms. It panics on any other type, which is a
// mistake in the calling program, not in what a peer sent.
func Append(b []byte, v any) []byte {
	switch v := v.(type) {
	case nil:
		return append(b, codeNull)
	case bool:
		return appendBool(b, v)
	case uint32:
		return appendUint(b, v)
	case uint64:
		return appendUlong(b, v)
	case int32:
		if v == int32(int8(v)) {
			return append(b, codeSmallInt, byte(v))
		}
	case int64:
		return appendLong(b, v)
	case int:
		return appendLong(b, int64(v))
	case []byte:
		return appendVariable(b, codeBinary8, codeBinary32, v)
	case string:
		return appendVariable(b, codeString8, codeString32, v)
	case Symbol:
		return appendVariable(b, codeSymbol8, codeSymbol32, v)
	case List:
		if len(v) == 0 {
			return append(b, codeList0)
		}
		w := openList(b)
		for _, item := range v {
			w.value(item)
		}
		return w.close()
	case Map:
		w := openMap(b)
		for _, p := range v {
			w.value(p.Key)
			w.value(p.Value)
		}
		return w.close()
	case Described:
		return Append(Append(append(b, codeDescribed), v.Descriptor), v.Value)
	}
	return appendWide(appendWideConstructor(b, v), v)
}

func appendBool(b []byte, v bool) []byte {
	if v {
		return append(b, codeTrue)
	}
	return append(b, codeFalse)
}

func appendUint(b []byte, v uint32) []byte {
	switch {
	case v == 0:
		return append(b, codeUint0)
	case v <= math.MaxUint8:
		return append(b, codeSmallUint, byte(v))
	}
	return binary.BigEndian.AppendUint32(append(b, codeUint), v)
}

func appendUlong(b []byte, v uint64) []byte {
	switch {
	case v == 0:
		return append(b, codeUlong0)
	case v <= math.MaxUint8:
		return append(b, codeSmallUlong, byte(v))
	}
	return binary.BigEndian.AppendUint64(append(b, codeUlong), v)
}

func appendLong(b []byte, v int64) []byte {
	if v == int64(int8(v)) {
		return append(b, codeSmallLong, byte(v))
	}
	return binary.BigEndian.AppendUint64(append(b, codeLong), uint64(v))
}

func appendVariable[T ~string | ~[]byte](b []byte, short, long byte, v T) []byte {
	if len(v) <= math.MaxUint8 {
		b = append(b, short, byte(len(v)))
	} else {
		b = binary.BigEndian.AppendUint32(append(b, long), uint32(len(v)))
	}
	return append(b, v...)
}

// appendWideConstructor appends the constructor that every value of v's type
// can follow; arrays need one for all their items.
func appendWideConstructor(b []byte, v any) []byte {
	switch v := v.(type) {
	case nil:
		return append(b, codeNull)
	case bool:
		return append(b, codeBool)
	case uint8:
		return append(b, codeUbyte)
	case uint16:
		return append(b, codeUshort)
	case uint32:
		return append(b, codeUint)
	case uint64:
		return append(b, codeUlong)
	case int8:
		return append(b, codeByte)
	case int16:
		return append(b, codeShort)
	case int32:
		return append(b, codeInt)
	case int64, int:
		return append(b, codeLong)
	case float32:
		return append(b, codeFloat)
	case float64:
		return append(b, codeDouble)
	case Char:
		return append(b, codeChar)
	case time.Time:
		return append(b, codeTimestamp)
	case Decimal32:
		return append(b, codeDecimal32)
	case Decimal64:
		return append(b, codeDecimal64)
	case Decimal128:
		return append(b, codeDecimal128)
	case UUID:
		return append(b, codeUUID)
	case []byte:
		return append(b, codeBinary32)
	case string:
		return append(b, codeString32)
	case Symbol:
		return append(b, codeSymbol32)
	case List:
		return append(b, codeList32)
	case Map:
		return append(b, codeMap32)
	case Array, []string, []Symbol:
		return append(b, codeArray32)
	case Described:
		return appendWideConstructor(Append(append(b, codeDescribed), v.Descriptor), v.Value)
	}
	panic(fmt.Sprintf("amqp: no encoding for %T", v))
}

// appendWide appends what follows v's wide constructor.
func appendWide(b []byte, v any) []byte {
	switch v := v.(type) {
	case bool:
		if v {
			return append(b, 1)
		}
		return append(b, 0)
	case uint8:
		return append(b, v)
	case uint16:
		return binary.BigEndian.AppendUint16(b, v)
	case uint32:
		return binary.BigEndian.AppendUint32(b, v)
	case uint64:
		return binary.BigEndian.AppendUint64(b, v)
	case int8:
		return append(b, byte(v))
	case int16:
		return binary.BigEndian.AppendUint16(b, uint16(v))
	case int32:
		return binary.BigEndian.AppendUint32(b, uint32(v))
	case int64:
		return binary.BigEndian.AppendUint64(b, uint64(v))
	case int:
		return binary.BigEndian.AppendUint64(b, uint64(v))
	case float32:
		return binary.BigEndian.AppendUint32(b, math.Float32bits(v))
	case float64:
		return binary.BigEndian.AppendUint64(b, math.Float64bits(v))
	case Char:
		return binary.BigEndian.AppendUint32(b, uint32(v))
	case time.Time:
		return binary.BigEndian.AppendUint64(b, uint64(v.UnixMilli()))
	case Decimal32:
		return append(b, v[:]...)
	case Decimal64:
		return append(b, v[:]...)
	case Decimal128:
		return append(b, v[:]...)
	case UUID:
		return append(b, v[:]...)
	case []byte:
		return append(binary.BigEndian.AppendUint32(b, uint32(len(v))), v...)
	case string:
		return append(binary.BigEndian.AppendUint32(b, uint32(len(v))), v...)
	case Symbol:
		return append(binary.BigEndian.AppendUint32(b, uint32(len(v))), v...)
	case List:
		return appendWideCompound(b, v, Append)
	case Map:
		flat := make([]any, 0, 2*len(v))
		for _, p := range v {
			flat = append(flat, p.Key, p.Value)
		}
		return appendWideCompound(b, flat, Append)
	case Array:
		return appendArray(b, v)
	case []string:
		return appendArray(b, v)
	case []Symbol:
		return appendArray(b, v)
	case Described:
		return appendWide(b, v.Value)
	}
	return b
}

func appendWideCompound(b []byte, items []any, item func([]byte, any) []byte) []byte {
	at := len(b)
	b = binary.BigEndian.AppendUint32(append(b, 0, 0, 0, 0), uint32(len(items)))
	for _, v := range items {
		b = item(b, v)
	}
	binary.BigEndian.PutUint32(b[at:], uint32(len(b)-at-4))
	return b
}

// appendArray appends what follows an array32 code. The first item gives the
// constructor; an empty array of unknown type is one of strings or nulls.
func appendArray[T any](b []byte, items []T) []byte {
	at := len(b)
	b = binary.BigEndian.AppendUint32(append(b, 0, 0, 0, 0), uint32(len(items)))
	var first T
	if len(items) > 0 {
		first = items[0]
	}
	b = appendWideConstructor(b, first)
	for _, v := range items {
		b = appendWide(b, v)
	}
	binary.BigEndian.PutUint32(b[at:], uint32(len(b)-at-4))
	return b
}

// compound writes a list or map whose size is known only at its end. Nulls are
// held back until something follows them, so that trailing ones are never
// written: absent and null are the same in a composite (1.4).
type compound struct {
	b     []byte
	at    int // of the format code
	items int
	nulls int
}

// compoundHeader is the wide code, size and count that close may shorten.
const compoundHeader = 9

func openList(b []byte) compound {
	return compound{b: append(b, codeList32, 0, 0, 0, 0, 0, 0, 0, 0), at: len(b)}
}

func openMap(b []byte) compound {
	return compound{b: append(b, codeMap32, 0, 0, 0, 0, 0, 0, 0, 0), at: len(b)}
}

// openComposite begins a described list: a performative, section or state.
func openComposite(b []byte, code byte) compound {
	return openList(append(b, codeDescribed, codeSmallUlong, code))
}

func (w *compound) item() {
	for ; w.nulls > 0; w.nulls-- {
		w.b = append(w.b, codeNull)
		w.items++
	}
	w.items++
}

func (w *compound) null()           { w.nulls++ }
func (w *compound) value(v any)     { w.item(); w.b = Append(w.b, v) }
func (w *compound) bool(v bool)     { w.item(); w.b = appendBool(w.b, v) }
func (w *compound) ubyte(v uint8)   { w.item(); w.b = append(w.b, codeUbyte, v) }
func (w *compound) uint(v uint32)   { w.item(); w.b = appendUint(w.b, v) }
func (w *compound) string(v string) { w.item(); w.b = Append(w.b, v) }
func (w *compound) raw(v []byte)    { w.item(); w.b = append(w.b, v...) }
func (w *compound) symbols(v []Symbol) {
	if len(v) == 0 {
		w.null()
		return
	}
	w.value(v)
}

// optional writes null for false, so that it may be left out.
func (w *compound) optional(v bool) {
	if v {
		w.bool(true)
		return
	}
	w.null()
}

func (w *compound) close() []byte {
	body := w.b[w.at+compoundHeader:]
	if len(body)+1 <= math.MaxUint8 && w.items <= math.MaxUint8 {
		code := byte(codeList8)
		if w.b[w.at] == codeMap32 {
			code = codeMap8
		}
		short := w.b[w.at:]
		short[0], short[1], short[2] = code, byte(len(body)+1), byte(w.items)
		copy(short[3:], body)
		return w.b[:w.at+3+len(body)]
	}
	binary.BigEndian.PutUint32(w.b[w.at+1:], uint32(len(body)+4))
	binary.BigEndian.PutUint32(w.b[w.at+5:], uint32(w.items))
	return w.b
}
