package amqp

import (
	"encoding/hex"
	"reflect"
	"strings"
	"testing"
	"time"
)

// values pairs encodings with what they mean. The first encoding of a value is
// the one that is made; the others must be understood.
var values = []struct {
	name  string
	value any
	made  string
	also  []string
}{
	{"null", nil, "40", nil},
	{"true", true, "41", []string{"5601"}},
	{"false", false, "42", []string{"5600"}},
	{"ubyte", uint8(7), "5007", nil},
	{"ushort", uint16(0x1234), "60 1234", nil},
	{"uint zero", uint32(0), "43", []string{"5200", "70 00000000"}},
	{"uint small", uint32(255), "52 ff", []string{"70 000000ff"}},
	{"uint", uint32(256), "70 00000100", nil},
	{"ulong zero", uint64(0), "44", []string{"5300", "80 0000000000000000"}},
	{"ulong small", uint64(0x24), "53 24", nil},
	{"ulong", uint64(0x0000468C00000004), "80 0000468c00000004", nil},
	{"byte", int8(-1), "51 ff", nil},
	{"short", int16(-2), "61 fffe", nil},
	{"int small", int32(-128), "54 80", []string{"71 ffffff80"}},
	{"int", int32(200), "71 000000c8", nil},
	{"long small", int64(127), "55 7f", []string{"81 000000000000007f"}},
	{"long", int64(-129), "81 ffffffffffffff7f", nil},
	{"float", float32(1.5), "72 3fc00000", nil},
	{"double", 1.5, "82 3ff8000000000000", nil},
	{"char", Char('Z'), "73 0000005a", nil},
	{"timestamp", time.Date(2011, 7, 26, 18, 21, 3, 521e6, time.UTC), "83 00000131 67adb8a1", nil},
	{"decimal32", Decimal32{1, 2, 3, 4}, "74 01020304", nil},
	{"decimal64", Decimal64{1}, "84 01000000 00000000", nil},
	{"decimal128", Decimal128{15: 1}, "94 00000000 00000000 00000000 00000001", nil},
	{"uuid", UUID{0: 0xaa, 15: 0xbb}, "98 aa000000 00000000 00000000 000000bb", nil},
	{"binary", []byte{1, 2}, "a0 02 0102", []string{"b0 00000002 0102"}},
	{"string", "añ", "a1 03 61c3b1", []string{"b1 00000003 61c3b1"}},
	{"symbol", Symbol("abc"), "a3 03 616263", []string{"b3 00000003 616263"}},
	{"empty list", List{}, "45", []string{"c0 01 00", "d0 00000004 00000000"}},
	{"list", List{uint32(0), "a", nil}, "c0 06 03 43 a10161 40", []string{"d0 00000009 00000003 43 a10161 40"}},
	{"map", Map{{Symbol("k"), int32(1)}, {"k", nil}}, "c1 0a 04 a3016b 5401 a1016b 40", nil},
	{"array of symbols", Array{Symbol("A"), Symbol("BC")}, "f0 00000010 00000002 b3 00000001 41 00000002 4243",
		[]string{"e0 07 02 a3 01 41 02 4243"}},
	{"array of booleans", Array{true, false}, "f0 00000007 00000002 56 01 00", []string{"e0 04 02 56 01 00"}},
	{"empty array", Array{}, "f0 00000005 00000000 40", []string{"e0 02 00 a3"}},
	{"array of lists", Array{List{true}, List{}}, "f0 00000016 00000002 d0 00000005 00000001 41 00000004 00000000", nil},
	{"array of described", Array{Described{uint64(1), "a"}, Described{uint64(1), "b"}},
		"f0 00000012 00000002 00 5301 b1 00000001 61 00000001 62", []string{"e0 09 02 00 5301 a1 0161 0162"}},
	{"described", Described{Symbol("d"), uint32(1)}, "00 a30164 5201", nil},
}

func unhex(t testing.TB, s string) []byte {
	t.Helper()
	b, err := hex.DecodeString(strings.ReplaceAll(s, " ", ""))
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func TestValues(t *testing.T) {
	for _, test := range values {
		t.Run(test.name, func(t *testing.T) {
			if got, want := Append(nil, test.value), unhex(t, test.made); string(got) != string(want) {
				t.Errorf("encoded as\n% x, want\n% x", got, want)
			}
			for _, encoding := range append(test.also, test.made) {
				got, rest, err := Decode(append(unhex(t, encoding), 0xee))
				if err != nil || !reflect.DeepEqual(got, test.value) {
					t.Errorf("%s decoded as %#v, error %v, want %#v", encoding, got, err, test.value)
				}
				if len(rest) != 1 {
					t.Errorf("%s left %d bytes, want 1", encoding, len(rest))
				}
			}
		})
	}
}

func TestConveniences(t *testing.T) {
	for _, test := range []struct{ value, want any }{
		{5, int64(5)},
		{[]string{"0", "1"}, Array{"0", "1"}},
		{[]string{}, Array{}},
		{[]Symbol{"a"}, Array{Symbol("a")}},
		{strings.Repeat("x", 300), strings.Repeat("x", 300)},
		{List{strings.Repeat("x", 300)}, List{strings.Repeat("x", 300)}},
	} {
		got, rest, err := Decode(Append(nil, test.value))
		if err != nil || len(rest) > 0 || !reflect.DeepEqual(got, test.want) {
			t.Errorf("%v came back as %#v, error %v", test.value, got, err)
		}
	}
}

func TestDecodeRefuses(t *testing.T) {
	deep := strings.Repeat("c0 ff 01 ", 200)
	for _, test := range []struct{ name, encoding string }{
		{"nothing", ""},
		{"unknown code", "30"},
		{"unassigned code", "57 00"},
		{"short integer", "70 000000"},
		{"short string", "a1 05 6162"},
		{"size beyond the end", "b1 ffffffff 00"},
		{"list of more items than bytes", "c0 03 05 40 40"},
		{"list with bytes after its items", "c0 03 01 40 40"},
		{"map with a key only", "c1 03 01 a100"},
		{"map that counts to 2^31", "d1 00000005 80000000 40"},
		{"array of 2^32-1 nulls", "f0 00000005 ffffffff 40"},
		{"array of 5000 nulls", "f0 00000005 00001388 40"},
		{"array without constructor", "e0 01 00"},
		{"array cut short", "e0 03 02 70 00"},
		{"lists too deep", deep},
		{"descriptors too deep", strings.Repeat("00", 64)},
		{"array descriptors too deep", "e0 ff 01" + strings.Repeat("00 40", 126) + "40"},
	} {
		if v, _, err := Decode(unhex(t, test.encoding)); err == nil {
			t.Errorf("%s: decoded as %#v, want an error", test.name, v)
		}
	}
}

// nested returns lists within lists, each honest about its size.
func nested(depth int) []byte {
	b := []byte{codeList0}
	for range depth - 1 {
		w := openList(nil)
		w.raw(b)
		b = w.close()
	}
	return b
}

func TestDepthLimit(t *testing.T) {
	if _, _, err := Decode(nested(maxDepth)); err != nil {
		t.Errorf("%d levels: %v", maxDepth, err)
	}
	if _, _, err := Decode(nested(maxDepth + 1)); err == nil {
		t.Errorf("%d levels were decoded", maxDepth+1)
	}
}

func TestMapLookup(t *testing.T) {
	m := Map{{Symbol("a"), "1"}, {"b", Symbol("2")}, {int32(3), "3"}}
	if got := m.String("a") + m.String("b") + m.String("c"); got != "12" {
		t.Errorf("got %q, want 12", got)
	}
	if m.Get("3") != nil {
		t.Error("a number was found by its digits")
	}
}
