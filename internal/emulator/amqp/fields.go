package amqp

import (
	"fmt"
)

// fields reads the fields of a composite in their order. The first error
// sticks; absent fields and nulls read as zero values.
type fields struct {
	d    decoder
	left int
	err  error
}

// descriptor consumes the described-type prefix of a composite and returns its
// numeric code.
func (d *decoder) descriptor() (uint64, error) {
	code, err := d.code()
	if err != nil {
		return 0, err
	}
	if code != codeDescribed {
		return 0, fmt.Errorf("expected a described type, got format code %#02x", code)
	}
	if code, err = d.code(); err != nil {
		return 0, err
	}
	switch code {
	case codeUlong0, codeSmallUlong, codeUlong:
		body, err := d.body(code)
		return unsigned(body), err
	}
	return 0, fmt.Errorf("expected a numeric descriptor, got format code %#02x", code)
}

// list consumes a list and returns a reader of its items.
func (d *decoder) list() (*fields, error) {
	code, err := d.code()
	if err != nil {
		return nil, err
	}
	switch code {
	case codeList0:
		return &fields{}, nil
	case codeList8, codeList32:
		body, err := d.body(code)
		if err != nil {
			return nil, err
		}
		f := &fields{d: decoder{body}}
		f.left, err = f.d.count(code)
		return f, err
	}
	return nil, fmt.Errorf("expected a list, got format code %#02x", code)
}

// openFields reads a whole composite of the given code. It returns nil for a
// null.
func openFields(raw []byte, want uint64) (*fields, error) {
	if len(raw) == 0 || raw[0] == codeNull {
		return nil, nil
	}
	d := decoder{raw}
	got, err := d.descriptor()
	if err != nil {
		return nil, err
	}
	if got != want {
		return nil, fmt.Errorf("expected descriptor %#02x, got %#02x", want, got)
	}
	return d.list()
}

// next consumes one field; ok is false for a null or absent one.
func (f *fields) next() (code byte, body []byte, ok bool) {
	if f.err != nil || f.left == 0 {
		return 0, nil, false
	}
	f.left--
	code, err := f.d.code()
	if err == nil && code != codeNull {
		body, err = f.d.body(code)
		ok = err == nil
	}
	f.err = err
	return code, body, ok
}

func (f *fields) unexpected(code byte) {
	if f.err == nil {
		f.err = fmt.Errorf("field has unexpected format code %#02x", code)
	}
}

// raw consumes one field as it is encoded; nil for a null or absent one.
func (f *fields) raw() []byte {
	if f.err != nil || f.left == 0 {
		return nil
	}
	f.left--
	var raw []byte
	raw, f.d.b, f.err = split(f.d.b)
	if f.err != nil || raw[0] == codeNull {
		return nil
	}
	return raw
}

func (f *fields) value() any {
	raw := f.raw()
	if raw == nil {
		return nil
	}
	v, _, err := Decode(raw)
	f.err = err
	return v
}

func (f *fields) mapping() Map {
	v := f.value()
	if v == nil {
		return nil
	}
	m, ok := v.(Map)
	if !ok && f.err == nil {
		f.err = fmt.Errorf("expected a map, got %T", v)
	}
	return m
}

// string reads a string or a symbol.
func (f *fields) string() string {
	code, body, ok := f.next()
	if !ok {
		return ""
	}
	switch code {
	case codeString8, codeString32, codeSymbol8, codeSymbol32:
		return string(body)
	}
	f.unexpected(code)
	return ""
}

func (f *fields) binary() []byte {
	code, body, ok := f.next()
	if ok && code != codeBinary8 && code != codeBinary32 {
		f.unexpected(code)
	}
	return body
}

func (f *fields) bool() bool {
	code, body, ok := f.next()
	if !ok {
		return false
	}
	switch code {
	case codeTrue:
		return true
	case codeFalse:
		return false
	case codeBool:
		return body[0] != 0
	}
	f.unexpected(code)
	return false
}

// unsigned reads an unsigned integer of any width up to bits. set is false for
// a null or absent field.
func (f *fields) unsigned(bits int) (v uint64, set bool) {
	code, body, ok := f.next()
	if !ok {
		return 0, false
	}
	width := 0
	switch code {
	case codeUbyte:
		width = 8
	case codeUshort:
		width = 16
	case codeUint0, codeSmallUint, codeUint:
		width = 32
	case codeUlong0, codeSmallUlong, codeUlong:
		width = 64
	}
	if width != bits {
		f.unexpected(code)
		return 0, false
	}
	return unsigned(body), true
}

func (f *fields) uint(absent uint32) uint32 {
	if v, set := f.unsigned(32); set {
		return uint32(v)
	}
	return absent
}

// symbols reads a field that may hold one symbol or an array of them.
func (f *fields) symbols() []Symbol {
	switch v := f.value().(type) {
	case nil:
	case Symbol:
		return []Symbol{v}
	case Array:
		out := make([]Symbol, 0, len(v))
		for _, item := range v {
			if s, ok := item.(Symbol); ok {
				out = append(out, s)
			}
		}
		return out
	default:
		if f.err == nil {
			f.err = fmt.Errorf("expected symbols, got %T", v)
		}
	}
	return nil
}
