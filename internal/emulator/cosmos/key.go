package cosmos

import (
	"bytes"
	"errors"
	"fmt"
	"strconv"

	"warmpath/internal/emulator/cosmos/epk"
	"warmpath/internal/emulator/cosmos/rawjson"
)

// maxKeyLength is the longest partition key value, in bytes (concepts-limits
// page of the documentation, with large partition keys).
const maxKeyLength = 2048

var (
	errKeyCount  = errors.New("the partition key supplied has fewer components than defined in the collection")
	errKeyValue  = errors.New("a partition key component must be a string, a number, a boolean, null or {}")
	errKeyLength = fmt.Errorf("partition key is longer than %d bytes", maxKeyLength)
)

// appendComponent encodes one component given as a raw JSON value; {} stands
// for a missing value, as SDKs send it.
func appendComponent(dst, raw []byte) ([]byte, error) {
	switch rawjson.KindOf(raw) {
	case rawjson.Null:
		return epk.AppendNull(dst), nil
	case rawjson.Bool:
		return epk.AppendBool(dst, raw[0] == 't'), nil
	case rawjson.Number:
		f, ok := rawjson.Float(raw)
		if !ok {
			return dst, errKeyValue
		}
		return epk.AppendNumber(dst, f), nil
	case rawjson.String:
		text := raw[1 : len(raw)-1]
		if bytes.IndexByte(text, '\\') >= 0 {
			text = rawjson.AppendUnquoted(nil, raw)
		}
		if len(text) > maxKeyLength {
			return dst, errKeyLength
		}
		return epk.AppendString(dst, text), nil
	case rawjson.Object:
		r := rawjson.NewReader(raw)
		r.EnterObject()
		if _, more := r.NextMember(); more {
			return dst, errKeyValue
		}
		return epk.AppendUndefined(dst), nil
	default:
		return dst, errKeyValue
	}
}

// appendKey encodes a partition key as clients send it, a JSON array of
// components, and returns how many there were.
func appendKey(dst, array []byte) (encoded []byte, components int, err error) {
	r := rawjson.NewReader(array)
	if !r.EnterArray() {
		return dst, 0, errors.New("the partition key is not a JSON array")
	}
	for r.NextElement() {
		raw := r.Value()
		if r.Err() != nil {
			break
		}
		if components == epk.MaxComponents {
			return dst, 0, errors.New("the partition key has too many components")
		}
		if dst, err = appendComponent(dst, raw); err != nil {
			return dst, 0, err
		}
		components++
	}
	if err := r.End(); err != nil {
		return dst, 0, fmt.Errorf("partition key: %w", err)
	}
	return dst, components, nil
}

// appendKey encodes the key that a scanned document carries. A missing
// component, or one that is an array or an object, is undefined.
func (s *scan) appendKey(dst []byte, components int) []byte {
	for _, raw := range s.key[:components] {
		kind := rawjson.KindOf(raw)
		if kind == rawjson.Invalid || kind == rawjson.Object || kind == rawjson.Array {
			dst = epk.AppendUndefined(dst)
			continue
		}
		encoded, err := appendComponent(dst, raw)
		if err != nil {
			encoded = epk.AppendUndefined(dst)
		}
		dst = encoded
	}
	return dst
}

// hash is the effective partition key of an encoded key. Containers of hash
// version 1 are placed by version 2 as well: no client can see where a point
// operation lands, and clients that place documents themselves must refuse
// version 1.
func (d *definition) hash(encoded []byte) epk.Value {
	if d.PartitionKey.Kind == kindMultiHash {
		return epk.MultiHash(encoded)
	}
	return epk.Hash(encoded)
}

// keyJSON writes an encoded key as clients send it.
func keyJSON(encoded string) string {
	out := []byte{'['}
	for i, c := range epk.Components([]byte(encoded)) {
		if i > 0 {
			out = append(out, ',')
		}
		switch c := c.(type) {
		case nil:
			out = append(out, "null"...)
		case bool:
			out = strconv.AppendBool(out, c)
		case float64:
			out = strconv.AppendFloat(out, c, 'g', -1, 64)
		case string:
			out = rawjson.AppendQuoted(out, c)
		default:
			out = append(out, "{}"...)
		}
	}
	return string(append(out, ']'))
}
