package cosmos

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"net/http"
	"strconv"
	"strings"

	"warmpath/internal/emulator/cosmos/rawjson"
	"warmpath/internal/emulator/cosmos/sql"
)

// maxPatchOperations is how many changes one patch may make
// (learn.microsoft.com/azure/cosmos-db/partial-document-update-faq).
const maxPatchOperations = 10

// patch is a partial update: changes made one after the other, if a condition
// holds. It is immutable.
type patch struct {
	condition *sql.Query // nil: always
	changes   []change
}

// change is one operation of a patch.
type change struct {
	op    string // add, set, replace, remove or incr
	path  []string
	value []byte // JSON
}

// sentChange is a change as clients send it.
type sentChange struct {
	Op    string          `json:"op"`
	Path  string          `json:"path"`
	Value json.RawMessage `json:"value"`
}

// parsePatch reads a patch as clients send it: its operations and perhaps a
// condition, or the operations alone.
func parsePatch(body []byte) (*patch, error) {
	var sent struct {
		Condition  string       `json:"condition"`
		Operations []sentChange `json:"operations"`
	}
	into := any(&sent)
	if rawjson.KindOf(bytes.TrimLeft(body, " \t\r\n")) == rawjson.Array {
		into = &sent.Operations
	}
	if err := decode(body, into); err != nil {
		return nil, fmt.Errorf("patch: %w", err)
	}
	if n := len(sent.Operations); n == 0 || n > maxPatchOperations {
		return nil, fmt.Errorf("patch of %d operations: want 1 to %d", n, maxPatchOperations)
	}
	p := &patch{}
	if sent.Condition != "" {
		q, err := sql.ParseCondition(sent.Condition)
		if err != nil {
			return nil, fmt.Errorf("patch condition: %w", err)
		}
		p.condition = q
	}
	for _, o := range sent.Operations {
		c := change{op: strings.ToLower(o.Op), value: o.Value}
		segments, ok := strings.CutPrefix(o.Path, "/")
		if !ok || segments == "" {
			return nil, fmt.Errorf("patch path %q is not supported", o.Path)
		}
		for s := range strings.SplitSeq(segments, "/") {
			// JSON pointer escapes (RFC 6901).
			c.path = append(c.path, strings.ReplaceAll(strings.ReplaceAll(s, "~1", "/"), "~0", "~"))
		}
		if isSystem([]byte(c.path[0])) || c.path[0] == "id" {
			return nil, fmt.Errorf("patch path %q cannot be changed", o.Path)
		}
		switch c.op {
		case "add", "set", "replace":
			if len(c.value) == 0 {
				return nil, fmt.Errorf("patch operation %s on %q has no value", c.op, o.Path)
			}
		case "incr":
			if _, ok := rawjson.Float(c.value); !ok {
				return nil, fmt.Errorf("patch operation incr on %q needs a number", o.Path)
			}
		case "remove":
		default:
			return nil, fmt.Errorf("patch operation %q is not supported", o.Op)
		}
		p.changes = append(p.changes, c)
	}
	return p, nil
}

// applyPatch makes the operation's document of what is stored. What comes out
// must be a document under the same key, like any other.
func (op *operation) applyPatch(c *container, stored *view) *outcome {
	if q := op.patch.condition; q != nil {
		holds, err := q.Matches(c.appendServed(nil, stored))
		if err != nil {
			return bad(err.Error())
		}
		if !holds {
			o := failed(http.StatusPreconditionFailed, 0, messagePrecondition)
			return &o
		}
	}
	body := stored.body
	for i := range op.patch.changes {
		changed, err := op.patch.changes[i].apply(body)
		if err != nil {
			return bad(err.Error())
		}
		body = changed
	}
	return op.prepare(c.def.Load(), body)
}

var (
	errPatchPath   = errors.New("patch: the path does not exist")
	errPatchIndex  = errors.New("patch: the index is out of the array's bounds")
	errPatchNumber = errors.New("patch: incr of something that is no number")
)

// apply makes the change to a document. Everything else keeps its place and its
// bytes.
func (c *change) apply(doc []byte) ([]byte, error) { return c.edit(nil, doc, c.path) }

// edit appends value, changed at a path inside it, to dst.
func (c *change) edit(dst, value []byte, path []string) ([]byte, error) {
	switch rawjson.KindOf(value) {
	case rawjson.Object:
		return c.editObject(dst, value, path)
	case rawjson.Array:
		return c.editArray(dst, value, path)
	default:
		return dst, errPatchPath
	}
}

func (c *change) editObject(dst, value []byte, path []string) ([]byte, error) {
	dst = append(dst, '{')
	r := rawjson.NewTrustedReader(value)
	r.EnterObject()
	found, first := false, true
	for {
		name, more := r.NextMember()
		if !more {
			break
		}
		member := r.Value()
		here := string(name) == path[0]
		found = found || here
		if here && len(path) == 1 && c.op == "remove" {
			continue
		}
		if !first {
			dst = append(dst, ',')
		}
		first = false
		dst = append(rawjson.AppendQuoted(dst, string(name)), ':')
		var err error
		switch {
		case !here:
			dst = append(dst, member...)
		case len(path) > 1:
			dst, err = c.edit(dst, member, path[1:])
		default:
			dst, err = c.replaced(dst, member)
		}
		if err != nil {
			return dst, err
		}
	}
	if !found {
		if len(path) > 1 || c.op == "replace" || c.op == "remove" {
			return dst, errPatchPath
		}
		if !first {
			dst = append(dst, ',')
		}
		dst = append(rawjson.AppendQuoted(dst, path[0]), ':')
		dst = append(dst, c.value...) // incr of nothing sets
	}
	return append(dst, '}'), nil
}

func (c *change) editArray(dst, value []byte, path []string) ([]byte, error) {
	var elements [][]byte
	r := rawjson.NewTrustedReader(value)
	r.EnterArray()
	for r.NextElement() {
		elements = append(elements, r.Value())
	}
	at := len(elements) // "-" is the place after the last one
	if path[0] != "-" {
		n, err := strconv.Atoi(path[0])
		if err != nil || n < 0 || n > len(elements) {
			return dst, errPatchIndex
		}
		at = n
	}
	inserts := len(path) == 1 && (c.op == "add" || c.op == "set" && at == len(elements))
	if at == len(elements) && !inserts {
		return dst, errPatchIndex
	}
	dst = append(dst, '[')
	first := true
	comma := func() {
		if !first {
			dst = append(dst, ',')
		}
		first = false
	}
	for i := range len(elements) + 1 {
		if i == at && inserts {
			comma()
			dst = append(dst, c.value...)
		}
		if i == len(elements) || i == at && len(path) == 1 && c.op == "remove" {
			continue
		}
		comma()
		var err error
		switch {
		case i != at || inserts:
			dst = append(dst, elements[i]...)
		case len(path) > 1:
			dst, err = c.edit(dst, elements[i], path[1:])
		default:
			dst, err = c.replaced(dst, elements[i])
		}
		if err != nil {
			return dst, err
		}
	}
	return append(dst, ']'), nil
}

// replaced appends what the change makes of an existing value.
func (c *change) replaced(dst, old []byte) ([]byte, error) {
	if c.op != "incr" {
		return append(dst, c.value...), nil
	}
	a, ok := rawjson.Float(old)
	b, _ := rawjson.Float(c.value)
	if sum := a + b; ok && !math.IsInf(sum, 0) {
		return strconv.AppendFloat(dst, sum, 'f', -1, 64), nil
	}
	return dst, errPatchNumber
}
