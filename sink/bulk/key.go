package bulk

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"strconv"
	"unicode/utf8"
)

// Limits of the service on partition keys (learn.microsoft.com/azure/cosmos-db
// /concepts-limits, and .../hierarchical-partition-keys for the number of paths).
const (
	maxKeyBytes      = 2048
	maxKeyComponents = 3
)

// componentKind is the JSON type of a component. Its values are the marker
// bytes that the hash puts before a component.
type componentKind uint8

const (
	componentUndefined componentKind = 0x00
	componentNull      componentKind = 0x01
	componentFalse     componentKind = 0x02
	componentTrue      componentKind = 0x03
	componentNumber    componentKind = 0x05
	componentString    componentKind = 0x08
)

// Component is the value that a document has at one partition key path. The
// zero Component is [Undefined].
type Component struct {
	kind   componentKind
	number float64
	text   string
}

// String is a component for a JSON string: UTF-8 of at most 2,048 bytes.
func String(s string) Component { return Component{kind: componentString, text: s} }

// Number is a component for a JSON number. It must be finite. The service knows
// numbers as 64-bit floats, of which it tells 0 and -0 apart.
func Number(f float64) Component { return Component{kind: componentNumber, number: f} }

// Bool is a component for true or false.
func Bool(b bool) Component {
	if b {
		return Component{kind: componentTrue}
	}
	return Component{kind: componentFalse}
}

// Null is a component for null.
func Null() Component { return Component{kind: componentNull} }

// Undefined is a component for a document that has no value at the path.
func Undefined() Component { return Component{} }

// Key is a partition key: one component for every path of the container. It
// is immutable, and comparing two of the same container is what equality of
// their components says.
type Key struct {
	first Component
	rest  []Component // of a hierarchical key
	ok    bool        // false for the zero Key, which no container has
}

// StringKey is the key of a container with one path whose value is a string. It
// does not allocate.
func StringKey(s string) Key { return Key{first: String(s), ok: true} }

// NewKey is the key with the given components, in the order of the container's
// paths. Whether they fit the container is checked by [Writer.Submit].
func NewKey(first Component, rest ...Component) Key {
	return Key{first: first, rest: rest, ok: true}
}

var errNoKey = errors.New("the partition key is missing")

// check tells what is wrong with a key for a container with so many paths.
func (k *Key) check(paths int) error {
	if !k.ok {
		return errNoKey
	}
	if n := 1 + len(k.rest); n != paths {
		return fmt.Errorf("the partition key has %d components, the container has %d paths", n, paths)
	}
	if err := k.first.check(); err != nil {
		return err
	}
	for i := range k.rest {
		if err := k.rest[i].check(); err != nil {
			return err
		}
	}
	return nil
}

func (c *Component) check() error {
	switch c.kind {
	case componentString:
		if len(c.text) > maxKeyBytes {
			return fmt.Errorf("the partition key has %d bytes, allowed are up to %d", len(c.text), maxKeyBytes)
		}
		if !utf8.ValidString(c.text) {
			// It would be hashed as it is and sent as something else.
			return errors.New("the partition key is not valid UTF-8")
		}
	case componentNumber:
		if math.IsNaN(c.number) || math.IsInf(c.number, 0) {
			return fmt.Errorf("the partition key is %v, JSON has no such number", c.number)
		}
	}
	return nil
}

// stringEnd follows a string in what is hashed. No UTF-8 text contains it.
const stringEnd = 0xFF

// appendHashed appends the bytes of a component that are hashed.
func (c *Component) appendHashed(dst []byte) []byte {
	dst = append(dst, byte(c.kind))
	switch c.kind {
	case componentString:
		dst = append(dst, c.text...)
		dst = append(dst, stringEnd)
	case componentNumber:
		dst = binary.LittleEndian.AppendUint64(dst, math.Float64bits(c.number))
	}
	return dst
}

// appendQuotedJSON appends the key in the form in which an operation carries
// it: a JSON array inside a JSON string.
func (k *Key) appendQuotedJSON(dst []byte) []byte {
	dst = append(dst, `"[`...)
	dst = k.first.appendQuotedJSON(dst)
	for i := range k.rest {
		dst = append(dst, ',')
		dst = k.rest[i].appendQuotedJSON(dst)
	}
	return append(dst, `]"`...)
}

// appendQuotedJSON appends a component as JSON that stands inside a JSON string.
func (c *Component) appendQuotedJSON(dst []byte) []byte {
	switch c.kind {
	case componentString:
		dst = append(dst, `\"`...)
		dst = appendTwiceEscaped(dst, c.text)
		return append(dst, `\"`...)
	case componentNumber:
		return strconv.AppendFloat(dst, c.number, 'g', -1, 64)
	case componentNull:
		return append(dst, "null"...)
	case componentFalse:
		return append(dst, "false"...)
	case componentTrue:
		return append(dst, "true"...)
	default:
		return append(dst, "{}"...)
	}
}

// size is an upper bound of what appendQuotedJSON appends.
func (k *Key) size() int {
	n := 4 + k.first.size()
	for i := range k.rest {
		n += 1 + k.rest[i].size()
	}
	return n
}

func (c *Component) size() int {
	if c.kind != componentString {
		return 24 // the longest float64
	}
	n := 4
	for i := range len(c.text) {
		if isPlain(c.text[i]) {
			n++
		} else {
			n += 7 // a code unit is written as \\uXXXX and has at least one byte
		}
	}
	return n
}
