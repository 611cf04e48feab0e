package cosmos

import (
	"slices"

	"warmpath/internal/emulator/cosmos/epk"
	"warmpath/internal/emulator/cosmos/rawjson"
)

// shape is everything that one pass over a document looks for, compiled from
// its container's definition: the id, the time to live, the components of the
// partition key, and what the indexing policy covers. It is immutable.
type shape struct {
	root node
}

// node is one place in a document.
type node struct {
	name     string
	children []*node
	capture  capture
	indexed  bool // scalars here and below are indexed, unless a child says otherwise
	spatial  bool // the value here is covered by a spatial index
}

// capture is the set of fields of a scan that the value at a node goes to. One
// value can be several: a container may be partitioned by /id.
type capture uint8

const (
	captureID capture = 1 << iota
	captureTTL
	captureKey // the first component; the next bits are the further ones
)

// anyElement is the name of the node for the elements of an array.
const anyElement = "[]"

// scan is what one pass found. Its slices are parts of the document.
type scan struct {
	id      []byte
	ttl     []byte
	key     [epk.MaxComponents][]byte
	indexed int  // scalars that the indexing policy covers
	spatial int  // values that a spatial index covers
	system  bool // the document brings properties that belong to the service
}

func newShape(def *definition) *shape {
	s := &shape{}
	s.root.indexed = def.index.indexed(nil)
	for _, rule := range def.index.rules {
		s.root.at(rule.segments, &def.index)
	}
	for _, segments := range def.index.spatial {
		s.root.at(segments, &def.index).spatial = true
	}
	s.root.at([]string{"id"}, &def.index).capture |= captureID
	s.root.at([]string{"ttl"}, &def.index).capture |= captureTTL
	for i, segments := range def.keyPaths {
		s.root.at(segments, &def.index).capture |= captureKey << i
	}
	return s
}

// at returns the node at a path below n, made if need be.
func (n *node) at(segments []string, index *indexPolicy) *node {
	for depth, name := range segments {
		i := slices.IndexFunc(n.children, func(c *node) bool { return c.name == name })
		if i < 0 {
			i = len(n.children)
			n.children = append(n.children, &node{name: name, indexed: index.indexed(segments[:depth+1])})
		}
		n = n.children[i]
	}
	return n
}

func (n *node) child(name []byte) *node {
	for _, c := range n.children {
		if c.name == string(name) {
			return c
		}
	}
	return nil
}

// scan reads the object that comes next. The reader's error tells whether it
// was one.
func (s *shape) scan(r *rawjson.Reader) scan {
	var found scan
	found.object(r, &s.root, true)
	return found
}

func (s *scan) object(r *rawjson.Reader, n *node, top bool) {
	if !r.EnterObject() {
		return
	}
	for {
		name, ok := r.NextMember()
		if !ok {
			return
		}
		if top && len(name) > 0 && name[0] == '_' && isSystem(name) {
			s.system = true
			r.Value()
			continue
		}
		s.value(r, n, n.child(name))
	}
}

// value reads one value at the node child, or below n where no node is.
func (s *scan) value(r *rawjson.Reader, n, child *node) {
	if child == nil {
		_, scalars := r.Count()
		if n.indexed {
			s.indexed += scalars
		}
		return
	}
	start := r.Offset()
	switch kind := r.Kind(); {
	case len(child.children) > 0 && kind == rawjson.Object:
		s.forget(child) // of members with the same name the last one counts
		s.object(r, child, false)
	case len(child.children) > 0 && kind == rawjson.Array:
		s.forget(child)
		r.EnterArray()
		for r.NextElement() {
			s.value(r, child, child.child([]byte(anyElement)))
		}
	default:
		s.forget(child)
		_, scalars := r.Count()
		if child.indexed {
			s.indexed += scalars
		}
	}
	if r.Err() != nil {
		return
	}
	if child.spatial {
		s.spatial++
	}
	if child.capture != 0 {
		s.put(child.capture, r.Since(start))
	}
}

// forget drops what an earlier member of the same name gave.
func (s *scan) forget(n *node) {
	for _, c := range n.children {
		if c.capture != 0 {
			s.put(c.capture, nil)
		}
		s.forget(c)
	}
}

func (s *scan) put(to capture, raw []byte) {
	if to&captureID != 0 {
		s.id = raw
	}
	if to&captureTTL != 0 {
		s.ttl = raw
	}
	for i := range s.key {
		if to&(captureKey<<i) != 0 {
			s.key[i] = raw
		}
	}
}

// isSystem tells the properties that the service sets on every document and
// ignores when they are sent.
func isSystem(name []byte) bool {
	switch string(name) {
	case "_rid", "_self", "_etag", "_attachments", "_ts":
		return true
	}
	return false
}

// withoutSystem copies a document without the service's own properties. The
// document has been checked before.
func withoutSystem(body []byte) []byte {
	out := append(make([]byte, 0, len(body)), '{')
	r := rawjson.NewTrustedReader(body)
	r.EnterObject()
	for {
		name, ok := r.NextMember()
		if !ok {
			return append(out, '}')
		}
		value := r.Value()
		if isSystem(name) {
			continue
		}
		if len(out) > 1 {
			out = append(out, ',')
		}
		out = rawjson.AppendQuoted(out, string(name))
		out = append(out, ':')
		out = append(out, value...)
	}
}
