package amqp

// These are the AMQP types that have no Go type of their own (1.6). The others
// decode to nil, bool, uint8..uint64, int8..int64, float32, float64, time.Time (in UTC,
// milliseconds), []byte and string.
type (
	// Symbol is a name from a constrained domain.
	Symbol string
	// Char is a single Unicode code point.
	Char rune
	// UUID is a universally unique identifier.
	UUID [16]byte
	// Decimal32 is an IEEE 754-2008 decimal as it stands on the wire. Nothing
	// here computes with it.
	Decimal32 [4]byte
	// Decimal64 is the same of twice the width.
	Decimal64 [8]byte
	// Decimal128 is the same of four times the width.
	Decimal128 [16]byte

	// List is a sequence of values of any types.
	List []any
	// Array is a sequence of values of one type.
	Array []any
	// Map is a mapping in the order of the wire. A slice, because AMQP keys may
	// be of types that Go cannot use as keys, and the order is worth keeping.
	Map []Pair
	// Pair is one entry of a Map.
	Pair struct{ Key, Value any }
	// Described is a value with a descriptor that says what it means.
	Described struct{ Descriptor, Value any }
)

// Get returns the value under a key that is the given string or symbol, or nil.
func (m Map) Get(key string) any {
	for _, p := range m {
		switch k := p.Key.(type) {
		case string:
			if k == key {
				return p.Value
			}
		case Symbol:
			if string(k) == key {
				return p.Value
			}
		}
	}
	return nil
}

// String returns the string or symbol under a key, or "".
func (m Map) String(key string) string {
	switch v := m.Get(key).(type) {
	case string:
		return v
	case Symbol:
		return string(v)
	}
	return ""
}

// Format codes of the primitive types (1.6). The high nibble gives the width of
// what follows: 4 nothing, 5 one byte, 6 two, 7 four, 8 eight, 9 sixteen, a and b
// a size of one or four bytes and that many bytes, c and d the same for lists
// and maps, e and f for arrays.
const (
	codeDescribed  = 0x00
	codeNull       = 0x40
	codeTrue       = 0x41
	codeFalse      = 0x42
	codeUint0      = 0x43
	codeUlong0     = 0x44
	codeList0      = 0x45
	codeUbyte      = 0x50
	codeByte       = 0x51
	codeSmallUint  = 0x52
	codeSmallUlong = 0x53
	codeSmallInt   = 0x54
	codeSmallLong  = 0x55
	codeBool       = 0x56
	codeUshort     = 0x60
	codeShort      = 0x61
	codeUint       = 0x70
	codeInt        = 0x71
	codeFloat      = 0x72
	codeChar       = 0x73
	codeDecimal32  = 0x74
	codeUlong      = 0x80
	codeLong       = 0x81
	codeDouble     = 0x82
	codeTimestamp  = 0x83
	codeDecimal64  = 0x84
	codeDecimal128 = 0x94
	codeUUID       = 0x98
	codeBinary8    = 0xa0
	codeString8    = 0xa1
	codeSymbol8    = 0xa3
	codeBinary32   = 0xb0
	codeString32   = 0xb1
	codeSymbol32   = 0xb3
	codeList8      = 0xc0
	codeMap8       = 0xc1
	codeList32     = 0xd0
	codeMap32      = 0xd1
	codeArray8     = 0xe0
	codeArray32    = 0xf0
)
