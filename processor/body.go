package processor

import (
	"bytes"
	"encoding/base64"
	"fmt"
	"math"
	"reflect"
	"slices"
	"strconv"
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/messaging/azeventhubs/v2"
)

// bodyOf returns the bytes that a message carries, in whichever of the body
// sections of AMQP 1.0 (messaging 3.2.6 to 3.2.8) its sender has put them:
//
//   - data sections, joined: senders cut long bodies;
//   - a value that is text or binary, as it is;
//   - a value of any other type, a map above all, as JSON;
//   - sequence sections, as one JSON array of all their elements;
//   - no section at all, or a null value, as an empty body.
//
// The SDK's own Body knows a single data section and nothing else. What is
// returned may be the message's own memory: it is only to be read.
func bodyOf(e *azeventhubs.ReceivedEventData) []byte {
	if e.RawAMQPMessage == nil {
		return e.Body
	}
	switch sections := &e.RawAMQPMessage.Body; {
	case len(sections.Data) == 1:
		return sections.Data[0]
	case len(sections.Data) > 1:
		return slices.Concat(sections.Data...)
	case len(sections.Sequence) > 0:
		return appendJSON(nil, reflect.ValueOf(slices.Concat(sections.Sequence...)), 0)
	default:
		return valueBody(sections.Value)
	}
}

// valueBody returns the bytes of a value section.
func valueBody(value any) []byte {
	switch value := value.(type) {
	case nil:
		return nil
	case []byte:
		return value
	case string:
		return []byte(value)
	}
	v := reflect.ValueOf(value)
	if v.Kind() == reflect.String { // a symbol
		return []byte(v.String())
	}
	return appendJSON(nil, v, 0)
}

// maxNesting is where rendering a value ends, deeper than any JSON is read: the
// result is cut short there, so that it is refused like any other body that
// nests too deeply.
const maxNesting = 10_001

// appendJSON appends a value as the SDK decodes the types of AMQP 1.0 (types
// 1.6). What JSON has no form for becomes text, which no number is read from:
// NaN and the infinities by their names, binary as base64, a timestamp as RFC
// 3339, a UUID in its usual form. Text that is not UTF-8 stays as it is, for
// the decoder to refuse.
func appendJSON(dst []byte, v reflect.Value, depth int) []byte {
	for v.Kind() == reflect.Interface || v.Kind() == reflect.Pointer {
		v = v.Elem() // a nil one becomes invalid
	}
	if depth > maxNesting {
		return dst
	}
	if !v.IsValid() {
		return append(dst, "null"...)
	}
	switch value := v.Interface().(type) {
	case time.Time:
		return appendText(dst, value.UTC().Format(time.RFC3339Nano))
	case []byte:
		return appendText(dst, base64.StdEncoding.EncodeToString(value))
	case fmt.Stringer: // a UUID
		return appendText(dst, value.String())
	}
	switch v.Kind() {
	case reflect.Map:
		return appendMap(dst, v, depth)
	case reflect.Slice, reflect.Array:
		dst = append(dst, '[')
		for i := range v.Len() {
			if i > 0 {
				dst = append(dst, ',')
			}
			dst = appendJSON(dst, v.Index(i), depth+1)
		}
		return append(dst, ']')
	case reflect.String:
		return appendText(dst, v.String())
	}
	if scalar, ok := appendScalar(dst, v); ok {
		return scalar
	}
	return appendText(dst, v.Type().String()) // nothing that carries a position
}

// appendMap appends a map with its members in the order of their keys, so that
// the same message is the same body each time it is delivered. Keys that are no
// text become text.
func appendMap(dst []byte, v reflect.Value, depth int) []byte {
	type member struct {
		key   []byte
		value reflect.Value
	}
	members := make([]member, 0, v.Len())
	for entries := v.MapRange(); entries.Next(); {
		key := appendJSON(nil, entries.Key(), 0)
		if key[0] != '"' {
			key = appendText(nil, string(key))
		}
		members = append(members, member{key, entries.Value()})
	}
	slices.SortFunc(members, func(a, b member) int { return bytes.Compare(a.key, b.key) })
	dst = append(dst, '{')
	for i, m := range members {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = append(append(dst, m.key...), ':')
		dst = appendJSON(dst, m.value, depth+1)
	}
	return append(dst, '}')
}

// appendScalar appends a number or a boolean. A float is written as short as
// its own width allows: a device that sends 47.757084 as a 32-bit float means
// that number, not the 64-bit one next to it.
func appendScalar(dst []byte, v reflect.Value) ([]byte, bool) {
	switch v.Kind() {
	case reflect.Bool:
		return strconv.AppendBool(dst, v.Bool()), true
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		return strconv.AppendInt(dst, v.Int(), 10), true
	case reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64:
		return strconv.AppendUint(dst, v.Uint(), 10), true
	case reflect.Float32, reflect.Float64:
		f := v.Float()
		if math.IsNaN(f) || math.IsInf(f, 0) {
			return appendText(dst, strconv.FormatFloat(f, 'g', -1, 64)), true
		}
		return strconv.AppendFloat(dst, f, 'g', -1, v.Type().Bits()), true
	default:
		return dst, false
	}
}

// appendText appends a JSON string. Only what JSON does not allow within one is
// escaped (RFC 8259, 7).
func appendText(dst []byte, text string) []byte {
	const hex = "0123456789abcdef"
	dst = append(dst, '"')
	for i := range len(text) {
		switch c := text[i]; {
		case c == '"' || c == '\\':
			dst = append(dst, '\\', c)
		case c < ' ':
			dst = append(dst, '\\', 'u', '0', '0', hex[c>>4], hex[c&15])
		default:
			dst = append(dst, c)
		}
	}
	return append(dst, '"')
}
