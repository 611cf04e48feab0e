package geo

import (
	"bytes"
	"strconv"

	"github.com/go-json-experiment/json/jsontext"
)

// mapper is a Mapping made ready: its pointers as one tree, so that an object
// is walked once for all of them. It is nil where no field is mapped.
type mapper struct {
	root   node
	places []place // of the mapped fields
}

// place is where in fields a mapped field goes.
type place func(*fields) *[]byte

// node is what lies below one token of a pointer: further tokens, or the fields
// whose pointers end here.
type node struct {
	token  string
	below  []*node // few: a search beats a map
	places []place
}

// next returns the node below n for a token, nil if there is none.
func (n *node) next(token []byte) *node {
	for _, below := range n.below {
		if below.token == string(token) {
			return below
		}
	}
	return nil
}

func newMapper(m *Mapping) *mapper {
	var mapping mapper
	for _, f := range m.fields() {
		if f.pointer == "" {
			continue
		}
		at := &mapping.root
		for token := range jsontext.Pointer(f.pointer).Tokens() {
			below := at.next([]byte(token))
			if below == nil {
				below = &node{token: token}
				at.below = append(at.below, below)
			}
			at = below
		}
		at.places = append(at.places, f.place)
		mapping.places = append(mapping.places, f.place)
	}
	if len(mapping.places) == 0 {
		return nil
	}
	return &mapping
}

// walker follows the pointers of a mapper through one object.
type walker struct {
	object []byte
	buf    bytes.Buffer // over object; jsontext reads a bytes.Buffer in place
	dec    jsontext.Decoder
}

func (w *walker) reset(object []byte) {
	w.object = object
	w.buf = *bytes.NewBuffer(object)
	w.dec.Reset(&w.buf, jsontext.AllowDuplicateNames(true))
}

// walk reads the next value, which stands at a node of the pointers, and sets
// the fields that they lead to. It fails only where the value is not valid.
func (w *walker) walk(at *node, f *fields) error {
	at.forget(f) // of a name given twice the last one stands
	end := jsontext.Kind(']')
	switch kind := w.dec.PeekKind(); {
	case len(at.places) > 0 || kind != '{' && kind != '[':
		return w.set(at, f)
	case kind == '{':
		end = '}'
	}
	if _, err := w.dec.ReadToken(); err != nil {
		return err
	}
	for i := 0; w.dec.PeekKind() != end; i++ {
		var below *node
		if end == '}' {
			name, err := w.dec.ReadValue()
			if err != nil {
				return err
			}
			below = at.next(unquote(name))
		} else {
			var index [20]byte
			below = at.next(strconv.AppendInt(index[:0], int64(i), 10))
		}
		var err error
		if below != nil {
			err = w.walk(below, f)
		} else {
			err = w.dec.SkipValue()
		}
		if err != nil {
			return err
		}
	}
	_, err := w.dec.ReadToken()
	return err
}

// set reads the next value into the fields whose pointers end at a node.
func (w *walker) set(at *node, f *fields) error {
	value, err := w.dec.ReadValue()
	end := w.dec.InputOffset()
	for _, place := range at.places {
		// value itself is good until the next read only; object stays.
		*place(f) = w.object[end-int64(len(value)) : end]
	}
	return err
}

// forget takes back what was set at a node and below.
func (n *node) forget(f *fields) {
	for _, place := range n.places {
		*place(f) = nil
	}
	for _, below := range n.below {
		below.forget(f)
	}
}

// merge puts the fields that a mapping has found over those found by name. It
// reports whether there are coordinates among them.
func (m *mapper) merge(f, mapped *fields) (located bool) {
	for _, place := range m.places {
		if value := *place(mapped); value != nil {
			*place(f) = value
		}
	}
	return mapped.latitude != nil || mapped.longitude != nil
}
