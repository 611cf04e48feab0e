package sql

import (
	"bytes"
	"cmp"
	"encoding/json"
	"math"
	"reflect"
	"strconv"

	"warmpath/internal/emulator/cosmos/rawjson"
)

// kind is the kind of a value. The order of the kinds is that in which ORDER BY
// sorts them.
type kind uint8

const (
	undefined kind = iota
	null
	boolean
	number
	text
	array
	object
)

// value is what an expression comes to. The zero value is undefined.
type value struct {
	kind  kind
	truth bool
	num   float64
	text  []byte // decoded
	raw   []byte // JSON, of arrays and objects
}

func boolValue(b bool) value { return value{kind: boolean, truth: b} }

// numberValue is undefined for what JSON cannot say.
func numberValue(f float64) value {
	if math.IsNaN(f) || math.IsInf(f, 0) {
		return value{}
	}
	return value{kind: number, num: f}
}

// rawValue makes a value of JSON that was checked before.
func rawValue(raw []byte) value {
	switch rawjson.KindOf(raw) {
	case rawjson.Null:
		return value{kind: null}
	case rawjson.Bool:
		return boolValue(raw[0] == 't')
	case rawjson.Number:
		f, ok := rawjson.Float(raw)
		if !ok {
			return value{}
		}
		return value{kind: number, num: f}
	case rawjson.String:
		s := raw[1 : len(raw)-1]
		if bytes.IndexByte(s, '\\') >= 0 {
			s = rawjson.AppendUnquoted(nil, raw)
		}
		return value{kind: text, text: s}
	case rawjson.Array:
		return value{kind: array, raw: raw}
	case rawjson.Object:
		return value{kind: object, raw: raw}
	default:
		return value{}
	}
}

func (v value) isTrue() bool { return v.kind == boolean && v.truth }

// appendTo writes the value as JSON; undefined is not written.
func (v value) appendTo(dst []byte) []byte {
	switch v.kind {
	case null:
		return append(dst, "null"...)
	case boolean:
		return strconv.AppendBool(dst, v.truth)
	case number:
		format := byte('f')
		if a := math.Abs(v.num); a != 0 && (a < 1e-6 || a >= 1e21) {
			format = 'e'
		}
		return strconv.AppendFloat(dst, v.num, format, -1, 64)
	case text:
		return rawjson.AppendQuoted(dst, string(v.text))
	default:
		return append(dst, v.raw...)
	}
}

// equal compares as '=' does: values of different kinds are not comparable.
func (v value) equal(w value) (same, comparable bool) {
	if v.kind != w.kind || v.kind == undefined {
		return false, false
	}
	switch v.kind {
	case null:
		return true, true
	case boolean:
		return v.truth == w.truth, true
	case number:
		return v.num == w.num, true
	case text:
		return bytes.Equal(v.text, w.text), true
	default:
		return sameJSON(v.raw, w.raw), true
	}
}

// sameJSON compares two arrays or objects by content.
func sameJSON(a, b []byte) bool {
	if bytes.Equal(a, b) {
		return true
	}
	var x, y any
	if json.Unmarshal(a, &x) != nil || json.Unmarshal(b, &y) != nil {
		return false
	}
	return reflect.DeepEqual(x, y)
}

// less compares as '<' does: only scalars of one kind are comparable.
func (v value) compare(w value) (order int, comparable bool) {
	if v.kind != w.kind || v.kind == undefined || v.kind >= array {
		return 0, false
	}
	return v.order(w), true
}

// order is a total order of all values, in which ORDER BY sorts: first by kind,
// then by value. Arrays and objects of a kind are equal.
func (v value) order(w value) int {
	if v.kind != w.kind {
		return cmp.Compare(v.kind, w.kind)
	}
	switch v.kind {
	case boolean:
		switch {
		case v.truth == w.truth:
			return 0
		case w.truth:
			return -1
		default:
			return 1
		}
	case number:
		return cmp.Compare(v.num, w.num)
	case text:
		return bytes.Compare(v.text, w.text)
	default:
		return 0
	}
}

// member is the member of an object with a name, the last one if there are
// several.
func (v value) member(name string) value {
	if v.kind != object {
		return value{}
	}
	var found []byte
	r := rawjson.NewTrustedReader(v.raw)
	r.EnterObject()
	for {
		n, ok := r.NextMember()
		if !ok {
			return rawValue(found)
		}
		if raw := r.Value(); string(n) == name {
			found = raw
		}
	}
}

// elements calls yield for each element of an array until it returns false.
func (v value) elements(yield func(value) bool) {
	if v.kind != array {
		return
	}
	r := rawjson.NewTrustedReader(v.raw)
	r.EnterArray()
	for r.NextElement() {
		if !yield(rawValue(r.Value())) {
			return
		}
	}
}

// element is the i-th element of an array.
func (v value) element(i int) value {
	n := 0
	for e := range v.elements {
		if n == i {
			return e
		}
		n++
	}
	return value{}
}

// members calls yield for each member of an object until it returns false.
func (v value) members(yield func(string, value) bool) {
	if v.kind != object {
		return
	}
	r := rawjson.NewTrustedReader(v.raw)
	r.EnterObject()
	for {
		name, ok := r.NextMember()
		if !ok || !yield(string(name), rawValue(r.Value())) {
			return
		}
	}
}
