package amqp

import (
	"fmt"
	"time"
)

// Section codes of a message (3.2).
const (
	SectionHeader                = 0x70
	SectionDeliveryAnnotations   = 0x71
	SectionAnnotations           = 0x72
	SectionProperties            = 0x73
	SectionApplicationProperties = 0x74
	SectionData                  = 0x75
	SectionSequence              = 0x76
	SectionValue                 = 0x77
	SectionFooter                = 0x78
)

// sectionNames are the symbolic descriptors that a peer may use instead.
var sectionNames = map[Symbol]uint64{
	"amqp:header:list":                SectionHeader,
	"amqp:delivery-annotations:map":   SectionDeliveryAnnotations,
	"amqp:message-annotations:map":    SectionAnnotations,
	"amqp:properties:list":            SectionProperties,
	"amqp:application-properties:map": SectionApplicationProperties,
	"amqp:data:binary":                SectionData,
	"amqp:amqp-sequence:list":         SectionSequence,
	"amqp:amqp-value:*":               SectionValue,
	"amqp:footer:map":                 SectionFooter,
}

// Sections is an encoded message cut at its section borders. The slices are
// parts of the message; the values in them are not checked.
type Sections struct {
	// Annotations, Properties and ApplicationProperties are the encoded values
	// of those sections, nil if the message has none.
	Annotations           []byte
	Properties            []byte
	ApplicationProperties []byte
	// Data holds the payload of each data section, Value the encoded value of
	// an amqp-value section.
	Data  [][]byte
	Value []byte
	// Bare is the message from its properties on: what no intermediary may
	// change.
	Bare []byte
}

// SplitMessage cuts a message. It fails on sections that are unknown, cut short
// or out of order.
func SplitMessage(b []byte) (Sections, error) {
	var m Sections
	d := decoder{b}
	last := uint64(SectionHeader)
	for len(d.b) > 0 {
		start := d.b
		code, err := d.section()
		if err != nil {
			return m, err
		}
		if code < last {
			return m, fmt.Errorf("section %#02x follows section %#02x", code, last)
		}
		last = code
		if code >= SectionProperties && m.Bare == nil {
			m.Bare = start
		}
		var raw []byte
		if raw, d.b, err = split(d.b); err != nil {
			return m, fmt.Errorf("section %#02x: %w", code, err)
		}
		switch code {
		case SectionAnnotations:
			m.Annotations = raw
		case SectionProperties:
			m.Properties = raw
		case SectionApplicationProperties:
			m.ApplicationProperties = raw
		case SectionData:
			if raw[0] != codeBinary8 && raw[0] != codeBinary32 {
				return m, fmt.Errorf("data section has format code %#02x", raw[0])
			}
			payload, err := (&decoder{raw[1:]}).body(raw[0])
			if err != nil {
				return m, err
			}
			m.Data = append(m.Data, payload)
		case SectionValue:
			m.Value = raw
		}
	}
	return m, nil
}

// section consumes the descriptor of a section.
func (d *decoder) section() (uint64, error) {
	code, err := d.code()
	if err != nil {
		return 0, err
	}
	if code != codeDescribed {
		return 0, fmt.Errorf("expected a section, got format code %#02x", code)
	}
	descriptor, err := d.value(2)
	if err != nil {
		return 0, err
	}
	switch v := descriptor.(type) {
	case uint64:
		if v >= SectionHeader && v <= SectionFooter {
			return v, nil
		}
	case Symbol:
		if code := sectionNames[v]; code != 0 {
			return code, nil
		}
	}
	return 0, fmt.Errorf("section %v is unknown", descriptor)
}

// Entry is one entry of an encoded map. Raw holds key and value, Value the value
// alone.
type Entry struct {
	Key        string // of a string or symbol key; other keys are ""
	Raw, Value []byte
}

// Entries cuts an encoded map into its entries without decoding the values.
func Entries(raw []byte) ([]Entry, error) {
	d := decoder{raw}
	code, err := d.code()
	if err != nil {
		return nil, err
	}
	if code == codeNull {
		return nil, nil
	}
	if code != codeMap8 && code != codeMap32 {
		return nil, fmt.Errorf("expected a map, got format code %#02x", code)
	}
	if d.b, err = d.body(code); err != nil {
		return nil, err
	}
	n, err := d.count(code)
	if err != nil {
		return nil, err
	}
	if n > len(d.b) || n%2 != 0 {
		return nil, fmt.Errorf("map of %d items in %d bytes", n, len(d.b))
	}
	entries := make([]Entry, n/2)
	for i := range entries {
		start := d.b
		key, rest, err := split(d.b)
		if err != nil {
			return nil, err
		}
		value, rest, err := split(rest)
		if err != nil {
			return nil, err
		}
		d.b = rest
		e := Entry{Raw: start[:len(key)+len(value)], Value: value}
		switch key[0] {
		case codeString8, codeString32, codeSymbol8, codeSymbol32:
			name, err := (&decoder{key[1:]}).body(key[0])
			if err != nil {
				return nil, err
			}
			e.Key = string(name)
		}
		entries[i] = e
	}
	return entries, nil
}

// Properties is the properties section (3.2.4). Zero fields are absent.
type Properties struct {
	MessageID          any // string, uint64, UUID or []byte
	UserID             []byte
	To                 string
	Subject            string
	ReplyTo            string
	CorrelationID      any // as MessageID
	ContentType        string
	ContentEncoding    string
	AbsoluteExpiryTime time.Time
	CreationTime       time.Time
	GroupID            string
	GroupSequence      uint32
	ReplyToGroupID     string
}

// DecodeProperties reads the value of a properties section; nil gives none.
func DecodeProperties(raw []byte) (p Properties, err error) {
	if len(raw) == 0 || raw[0] == codeNull {
		return p, nil
	}
	d := decoder{raw}
	f, err := d.list()
	if err != nil {
		return p, err
	}
	p.MessageID = f.value()
	p.UserID = f.binary()
	p.To = f.string()
	p.Subject = f.string()
	p.ReplyTo = f.string()
	p.CorrelationID = f.value()
	p.ContentType = f.string()
	p.ContentEncoding = f.string()
	p.AbsoluteExpiryTime, _ = f.value().(time.Time)
	p.CreationTime, _ = f.value().(time.Time)
	p.GroupID = f.string()
	p.GroupSequence = f.uint(0)
	p.ReplyToGroupID = f.string()
	return p, f.err
}

// AppendProperties appends a properties section, or nothing if p is empty.
func AppendProperties(b []byte, p Properties) []byte {
	w := openComposite(b, SectionProperties)
	put := func(v any, absent bool) {
		if absent {
			w.null()
			return
		}
		w.value(v)
	}
	put(p.MessageID, p.MessageID == nil)
	put(p.UserID, p.UserID == nil)
	put(p.To, p.To == "")
	put(p.Subject, p.Subject == "")
	put(p.ReplyTo, p.ReplyTo == "")
	put(p.CorrelationID, p.CorrelationID == nil)
	put(Symbol(p.ContentType), p.ContentType == "")
	put(Symbol(p.ContentEncoding), p.ContentEncoding == "")
	put(p.AbsoluteExpiryTime, p.AbsoluteExpiryTime.IsZero())
	put(p.CreationTime, p.CreationTime.IsZero())
	put(p.GroupID, p.GroupID == "")
	put(p.GroupSequence, p.GroupSequence == 0)
	put(p.ReplyToGroupID, p.ReplyToGroupID == "")
	if w.items == 0 {
		return b
	}
	return w.close()
}

// AppendData appends a data section.
func AppendData(b, payload []byte) []byte {
	return Append(append(b, codeDescribed, codeSmallUlong, SectionData), payload)
}

// AppendValue appends an amqp-value section.
func AppendValue(b []byte, v any) []byte {
	return Append(append(b, codeDescribed, codeSmallUlong, SectionValue), v)
}

// MapWriter appends a section that holds a map, entry by entry.
type MapWriter struct{ w compound }

// OpenMapSection begins SectionDeliveryAnnotations, SectionAnnotations,
// SectionApplicationProperties or SectionFooter.
func OpenMapSection(b []byte, section byte) MapWriter {
	return MapWriter{openMap(append(b, codeDescribed, codeSmallUlong, section))}
}

// The keys of annotations are symbols, those of application properties strings.

// Symbol appends an entry under a symbol.
func (m *MapWriter) Symbol(key Symbol, v any) {
	m.w.value(key)
	m.w.value(v)
}

// String appends an entry under a string.
func (m *MapWriter) String(key string, v any) {
	m.w.value(key)
	m.w.value(v)
}

// Raw appends an entry as it is encoded in another map.
func (m *MapWriter) Raw(e Entry) {
	m.w.raw(e.Raw)
	m.w.items++ // key and value are two items
}

// Close returns the slice with the finished section.
func (m *MapWriter) Close() []byte { return m.w.close() }
