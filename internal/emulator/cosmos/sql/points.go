package sql

import "math"

// Lookup is the identity of one document that a query asks for: its id and the
// raw values of the paths that were asked about.
type Lookup struct {
	ID  string
	Key [][]byte // JSON
}

// maxLookups bounds the product of lists; beyond it a scan is as good.
const maxLookups = 10_000

// Lookups tells the documents that a filter names, if it does nothing else:
// alternatives that each fix the id and every key path. That is how SDKs read
// many documents in one request, with filters of a thousand alternatives that
// would be slow to try on every document. ok is false for any other filter. The
// same document may be named more than once.
func (q *Query) Lookups(keyPaths [][]string) (lookups []Lookup, ok bool) {
	alternatives := []expr{q.where}
	if e, isOr := q.where.(or); isOr {
		alternatives = e.terms
	}
	wanted := make([]string, 0, 1+len(keyPaths))
	wanted = append(wanted, path{[]step{{name: "id"}}}.key())
	for _, segments := range keyPaths {
		var p path
		for _, s := range segments {
			p.steps = append(p.steps, step{name: s})
		}
		wanted = append(wanted, p.key())
	}
	for _, alternative := range alternatives {
		terms := []expr{alternative}
		if e, isAnd := alternative.(and); isAnd {
			terms = e.terms
		}
		bound := make(map[string][]value)
		for _, term := range terms {
			at, values, ok := fixes(term)
			if !ok || bound[at] != nil {
				return nil, false
			}
			bound[at] = values
		}
		found, ok := combine(bound, wanted)
		if !ok || len(lookups)+len(found) > maxLookups {
			return nil, false
		}
		lookups = append(lookups, found...)
	}
	return lookups, true
}

// fixes tells that a term holds for some values of one path and nothing else.
func fixes(term expr) (at string, values []value, ok bool) {
	switch e := term.(type) {
	case comparison:
		p, isPath := e.left.(path)
		c, isConstant := e.right.(constant)
		return p.key(), []value{c.v}, e.op == "=" && isPath && isConstant && c.v.kind != undefined
	case in:
		p, isPath := e.operand.(path)
		for _, item := range e.list {
			c, isConstant := item.(constant)
			if !isConstant || c.v.kind == undefined {
				return "", nil, false
			}
			values = append(values, c.v)
		}
		return p.key(), values, isPath
	case call:
		if len(e.args) != 1 || !e.isNull {
			return "", nil, false
		}
		p, isPath := e.args[0].(path)
		return p.key(), []value{{kind: null}}, isPath
	}
	return "", nil, false
}

// combine makes every combination of the values of the id and the key paths. It
// is not ok if one of them is not bound, or something else is.
func combine(bound map[string][]value, wanted []string) ([]Lookup, bool) {
	distinct := make(map[string]bool)
	count := 1
	for _, at := range wanted {
		distinct[at] = true
		if len(bound[at]) == 0 || len(bound[at]) > math.MaxInt32/count {
			return nil, false
		}
		if count *= len(bound[at]); count > maxLookups {
			return nil, false
		}
	}
	if len(distinct) != len(bound) {
		return nil, false
	}
	var out []Lookup
	for _, id := range bound[wanted[0]] {
		if id.kind != text {
			continue // no document has such an id
		}
		out = append(out, expand(id, bound, wanted[0], wanted[1:], nil)...)
	}
	return out, true
}

// expand adds a value for each further path. A container may be partitioned by
// its id, whose value is then fixed already.
func expand(id value, bound map[string][]value, idPath string, paths []string, key [][]byte) []Lookup {
	if len(paths) == 0 {
		return []Lookup{{ID: string(id.text), Key: key}}
	}
	values := bound[paths[0]]
	if paths[0] == idPath {
		values = []value{id}
	}
	var out []Lookup
	for _, v := range values {
		longer := append(key[:len(key):len(key)], v.appendTo(nil))
		out = append(out, expand(id, bound, idPath, paths[1:], longer)...)
	}
	return out
}
