package sql

import (
	"math"
	"strconv"

	"warmpath/internal/emulator/cosmos/rawjson"
)

// expr is an expression over one document. An error ends the query: it says
// that the document asks for something that is not supported.
type expr interface {
	eval(doc []byte) (value, error)
}

// constant is a literal or a parameter.
type constant struct{ v value }

func (e constant) eval([]byte) (value, error) { return e.v, nil }

// step is one step of a path: a member's name, or an element's index.
type step struct {
	name  string
	index int
	array bool
}

// path is a place in the document, the whole of it without steps.
type path struct{ steps []step }

func (e path) eval(doc []byte) (value, error) {
	v := value{kind: object, raw: doc}
	for _, s := range e.steps {
		if s.array {
			v = v.element(s.index)
		} else {
			v = v.member(s.name)
		}
		if v.kind == undefined {
			break
		}
	}
	return v, nil
}

// key is the path as a string, for comparing paths.
func (e path) key() string {
	var b []byte
	for _, s := range e.steps {
		b = append(b, '/')
		if s.array {
			b = strconv.AppendInt(b, int64(s.index), 10)
		} else {
			b = rawjson.AppendQuoted(b, s.name)
		}
	}
	return string(b)
}

// or is true if one of its terms is, and otherwise undefined if one of them is
// no truth value.
type or struct{ terms []expr }

func (e or) eval(doc []byte) (value, error) { return junction(e.terms, true, doc) }

// and is false if one of its terms is, and otherwise undefined if one of them
// is no truth value.
type and struct{ terms []expr }

func (e and) eval(doc []byte) (value, error) { return junction(e.terms, false, doc) }

// junction looks for a term that decides.
func junction(terms []expr, decisive bool, doc []byte) (value, error) {
	result := boolValue(!decisive)
	for _, t := range terms {
		v, err := t.eval(doc)
		if err != nil {
			return value{}, err
		}
		if v.kind != boolean {
			result = value{}
		} else if v.truth == decisive {
			return v, nil
		}
	}
	return result, nil
}

type not struct{ operand expr }

func (e not) eval(doc []byte) (value, error) {
	v, err := e.operand.eval(doc)
	if err != nil || v.kind != boolean {
		return value{}, err
	}
	return boolValue(!v.truth), nil
}

// comparison is one of = != < <= > >=.
type comparison struct {
	op          string
	left, right expr
}

func (e comparison) eval(doc []byte) (value, error) {
	l, err := e.left.eval(doc)
	if err != nil {
		return value{}, err
	}
	r, err := e.right.eval(doc)
	if err != nil {
		return value{}, err
	}
	return compare(e.op, l, r), nil
}

func compare(op string, l, r value) value {
	if op == "=" {
		same, ok := l.equal(r)
		if !ok {
			return value{}
		}
		return boolValue(same)
	}
	order, ok := l.compare(r)
	if !ok {
		return value{}
	}
	switch op {
	case "!=":
		return boolValue(order != 0)
	case "<":
		return boolValue(order < 0)
	case "<=":
		return boolValue(order <= 0)
	case ">":
		return boolValue(order > 0)
	default:
		return boolValue(order >= 0)
	}
}

// in is true if the operand equals an item of the list.
type in struct {
	operand expr
	list    []expr
}

func (e in) eval(doc []byte) (value, error) {
	v, err := e.operand.eval(doc)
	if err != nil || v.kind == undefined {
		return value{}, err
	}
	for _, item := range e.list {
		w, err := item.eval(doc)
		if err != nil {
			return value{}, err
		}
		if same, _ := v.equal(w); same {
			return boolValue(true), nil
		}
	}
	return boolValue(false), nil
}

// between is low <= operand AND operand <= high.
type between struct{ operand, low, high expr }

func (e between) eval(doc []byte) (value, error) {
	return and{[]expr{comparison{">=", e.operand, e.low}, comparison{"<=", e.operand, e.high}}}.eval(doc)
}

// arithmetic is one of + - * / %.
type arithmetic struct {
	op          byte
	left, right expr
}

func (e arithmetic) eval(doc []byte) (value, error) {
	l, err := e.left.eval(doc)
	if err != nil {
		return value{}, err
	}
	r, err := e.right.eval(doc)
	if err != nil || l.kind != number || r.kind != number {
		return value{}, err
	}
	switch e.op {
	case '+':
		return numberValue(l.num + r.num), nil
	case '-':
		return numberValue(l.num - r.num), nil
	case '*':
		return numberValue(l.num * r.num), nil
	case '/':
		return numberValue(l.num / r.num), nil
	default:
		return numberValue(math.Mod(l.num, r.num)), nil
	}
}

// list is an array literal; undefined items are left out.
type list struct{ items []expr }

func (e list) eval(doc []byte) (value, error) {
	raw := []byte{'['}
	for _, item := range e.items {
		v, err := item.eval(doc)
		if err != nil {
			return value{}, err
		}
		if v.kind == undefined {
			continue
		}
		if len(raw) > 1 {
			raw = append(raw, ',')
		}
		raw = v.appendTo(raw)
	}
	return value{kind: array, raw: append(raw, ']')}, nil
}

// record is an object literal; undefined members are left out.
type record struct{ members []column }

func (e record) eval(doc []byte) (value, error) {
	raw := []byte{'{'}
	for _, m := range e.members {
		v, err := m.expr.eval(doc)
		if err != nil {
			return value{}, err
		}
		if v.kind == undefined {
			continue
		}
		if len(raw) > 1 {
			raw = append(raw, ',')
		}
		raw = rawjson.AppendQuoted(raw, m.name)
		raw = append(raw, ':')
		raw = v.appendTo(raw)
	}
	return value{kind: object, raw: append(raw, '}')}, nil
}

// fold evaluates what depends on no document while parsing, so that a literal
// is built once and not for every document.
func fold(e expr) expr {
	var parts []expr
	switch e := e.(type) {
	case list:
		parts = e.items
	case record:
		for _, m := range e.members {
			parts = append(parts, m.expr)
		}
	case arithmetic:
		parts = []expr{e.left, e.right}
	default:
		return e
	}
	for _, p := range parts {
		if _, ok := p.(constant); !ok {
			return e
		}
	}
	v, err := e.eval(nil)
	if err != nil {
		return e
	}
	return constant{v}
}
