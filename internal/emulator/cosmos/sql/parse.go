package sql

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"warmpath/internal/emulator/cosmos/rawjson"
)

const (
	// MaxLength is the longest query, in bytes: what the service's account
	// information names.
	MaxLength = 262144

	// maxNesting bounds how deep expressions nest.
	maxNesting = 100
)

// Parse reads a query. Parameters are JSON values by name, with the @.
func Parse(query string, parameters map[string][]byte) (*Query, error) {
	if len(query) > MaxLength {
		return nil, &Error{MaxLength, fmt.Sprintf("longer than %d bytes", MaxLength)}
	}
	tokens, err := tokenize(query)
	if err != nil {
		return nil, err
	}
	p := &parser{tokens: tokens, parameters: parameters}
	q := &Query{Top: -1, Offset: -1, Limit: -1}
	if err := p.query(q); err != nil {
		return nil, err
	}
	return q, nil
}

// ParseCondition reads a condition alone, as the documentation of partial
// updates writes it: FROM alias WHERE filter.
func ParseCondition(condition string) (*Query, error) {
	return Parse("SELECT * "+condition, nil)
}

type parser struct {
	tokens     []token
	parameters map[string][]byte
	alias      string
	nesting    int
	reads      []string
	root       bool
}

func (p *parser) peek() token { return p.tokens[0] }

func (p *parser) next() token {
	t := p.tokens[0]
	if t.kind != tokenEnd {
		p.tokens = p.tokens[1:]
	}
	return t
}

// accept takes the next token if it is the given word or symbol.
func (p *parser) accept(word string) bool {
	if !p.peek().is(word) {
		return false
	}
	p.next()
	return true
}

func (p *parser) expect(word string) error {
	if !p.accept(word) {
		return p.unexpected(strconv.Quote(word))
	}
	return nil
}

func (p *parser) unexpected(want string) error {
	return p.fail("expected %s, found %s", want, p.peek())
}

func (p *parser) fail(format string, args ...any) error {
	return &Error{p.peek().offset, fmt.Sprintf(format, args...)}
}

// count is a whole number or a parameter that is one.
func (p *parser) count() (int, error) {
	e, err := p.primary()
	if err != nil {
		return 0, err
	}
	c, ok := e.(constant)
	if !ok || c.v.kind != number || c.v.num < 0 || c.v.num != float64(int32(c.v.num)) {
		return 0, p.fail("expected a whole number")
	}
	return int(c.v.num), nil
}

// expr = term {OR term}. Chains of OR and AND become one node each, so that
// long ones, as SDKs send to read many documents, do not nest.
func (p *parser) expr() (expr, error) {
	p.nesting++
	defer func() { p.nesting-- }()
	if p.nesting > maxNesting {
		return nil, p.fail("nested too deep")
	}
	terms, err := p.chain("OR", p.conjunction)
	if err != nil || len(terms) == 1 {
		return first(terms), err
	}
	return or{terms}, nil
}

func (p *parser) conjunction() (expr, error) {
	terms, err := p.chain("AND", p.negation)
	if err != nil || len(terms) == 1 {
		return first(terms), err
	}
	return and{terms}, nil
}

func first(terms []expr) expr {
	if len(terms) == 0 {
		return nil
	}
	return terms[0]
}

func (p *parser) chain(word string, operand func() (expr, error)) ([]expr, error) {
	var terms []expr
	for {
		e, err := operand()
		if err != nil {
			return nil, err
		}
		terms = append(terms, e)
		if !p.accept(word) {
			return terms, nil
		}
	}
}

func (p *parser) negation() (expr, error) {
	negated := false
	for p.accept("NOT") {
		negated = !negated
	}
	e, err := p.comparison()
	if err == nil && negated {
		e = not{e}
	}
	return e, err
}

// comparison = sum [op sum | [NOT] IN (list) | [NOT] BETWEEN sum AND sum].
func (p *parser) comparison() (expr, error) {
	left, err := p.sum()
	if err != nil {
		return nil, err
	}
	for _, op := range []string{"=", "!=", "<>", "<=", ">=", "<", ">"} {
		if !p.accept(op) {
			continue
		}
		right, err := p.sum()
		if err != nil {
			return nil, err
		}
		if op == "<>" {
			op = "!="
		}
		return comparison{op, left, right}, nil
	}
	negated := p.peek().is("NOT") && (p.tokens[1].is("IN") || p.tokens[1].is("BETWEEN"))
	if negated {
		p.next()
	}
	var e expr
	switch {
	case p.accept("IN"):
		if err := p.expect("("); err != nil {
			return nil, err
		}
		items, err := p.items(")")
		if err != nil {
			return nil, err
		}
		if len(items) == 0 {
			return nil, p.fail("IN takes at least one value")
		}
		e = in{left, items}
	case p.accept("BETWEEN"):
		low, err := p.sum()
		if err != nil {
			return nil, err
		}
		if err := p.expect("AND"); err != nil {
			return nil, err
		}
		high, err := p.sum()
		if err != nil {
			return nil, err
		}
		e = between{left, low, high}
	case p.peek().is("LIKE"), p.peek().is("ESCAPE"):
		return nil, p.fail("LIKE is not supported")
	default:
		if t := p.peek(); t.kind == tokenSymbol && slices.Contains([]string{"||", "??", "?", "&", "|", "^", "~"}, t.text) {
			return nil, p.fail("the operator %s is not supported", t.text)
		}
		return left, nil
	}
	if negated {
		e = not{e}
	}
	return e, nil
}

func (p *parser) sum() (expr, error) {
	return p.leftToRight("+-", func() (expr, error) { return p.leftToRight("*/%", p.unary) })
}

func (p *parser) leftToRight(operators string, operand func() (expr, error)) (expr, error) {
	left, err := operand()
	for err == nil {
		t := p.peek()
		if t.kind != tokenSymbol || len(t.text) != 1 || !strings.Contains(operators, t.text) {
			break
		}
		p.next()
		var right expr
		right, err = operand()
		left = fold(arithmetic{t.text[0], left, right})
	}
	return left, err
}

func (p *parser) unary() (expr, error) {
	minus := false
	for {
		if p.accept("-") {
			minus = !minus
		} else if !p.accept("+") {
			break
		}
	}
	e, err := p.primary()
	if err == nil && minus {
		e = fold(arithmetic{'-', constant{numberValue(0)}, e})
	}
	return e, err
}

// primary = literal | parameter | path | function(args) | (expr) | [..] | {..}.
func (p *parser) primary() (expr, error) {
	t := p.next()
	switch t.kind {
	case tokenNumber:
		return constant{numberValue(t.num)}, nil
	case tokenText:
		return constant{value{kind: text, text: []byte(t.text)}}, nil
	case tokenParameter:
		raw, ok := p.parameters[t.text]
		if !ok {
			return nil, &Error{t.offset, fmt.Sprintf("the parameter %s is not given", t.text)}
		}
		if rawjson.KindOf(raw) == rawjson.Invalid {
			return constant{}, nil
		}
		return constant{rawValue(raw)}, nil
	case tokenWord:
		return p.word(t)
	case tokenSymbol:
		switch t.text {
		case "(":
			if p.peek().is("SELECT") {
				return nil, p.fail("subqueries are not supported")
			}
			e, err := p.expr()
			if err != nil {
				return nil, err
			}
			return e, p.expect(")")
		case "[":
			items, err := p.items("]")
			return fold(list{items}), err
		case "{":
			return p.record()
		}
	}
	return nil, &Error{t.offset, fmt.Sprintf("expected a value, found %s", t)}
}

func (p *parser) word(t token) (expr, error) {
	switch {
	case t.is("true"):
		return constant{boolValue(true)}, nil
	case t.is("false"):
		return constant{boolValue(false)}, nil
	case t.is("null"):
		return constant{value{kind: null}}, nil
	case t.is("undefined"):
		return constant{}, nil
	case t.is("EXISTS"), t.is("ARRAY") && p.peek().is("("):
		return nil, &Error{t.offset, t.text + " is not supported"}
	case p.accept("("):
		args, err := p.items(")")
		if err != nil {
			return nil, err
		}
		call, err := newCall(t.text, args)
		if err != nil {
			return nil, &Error{t.offset, err.Error()}
		}
		return call, nil
	case t.text == p.alias:
		return p.path()
	}
	return nil, &Error{t.offset, fmt.Sprintf("%q is neither the container %q nor a value", t.text, p.alias)}
}

// path = alias {. name | [ name or index ]}.
func (p *parser) path() (expr, error) {
	var e path
	for {
		switch {
		case p.accept("."):
			if p.peek().kind != tokenWord {
				return nil, p.unexpected("a name")
			}
			e.steps = append(e.steps, step{name: p.next().text})
			continue
		case p.accept("["):
			index, err := p.expr()
			if err != nil {
				return nil, err
			}
			c, ok := index.(constant)
			switch {
			case ok && c.v.kind == text:
				e.steps = append(e.steps, step{name: string(c.v.text)})
			case ok && c.v.kind == number && c.v.num >= 0 && c.v.num == float64(int32(c.v.num)):
				e.steps = append(e.steps, step{index: int(c.v.num), array: true})
			default:
				return nil, p.fail("an index must be a name or a whole number")
			}
			if err := p.expect("]"); err != nil {
				return nil, err
			}
			continue
		}
		break
	}
	if len(e.steps) == 0 || e.steps[0].array {
		p.root = true
	} else {
		p.reads = append(p.reads, e.steps[0].name)
	}
	return e, nil
}

// items is a list of expressions up to a closing symbol.
func (p *parser) items(closing string) ([]expr, error) {
	var out []expr
	if p.accept(closing) {
		return out, nil
	}
	for {
		e, err := p.expr()
		if err != nil {
			return nil, err
		}
		out = append(out, e)
		if p.accept(closing) {
			return out, nil
		}
		if err := p.expect(","); err != nil {
			return nil, err
		}
	}
}

func (p *parser) record() (expr, error) {
	var e record
	if p.accept("}") {
		return fold(e), nil
	}
	for {
		t := p.peek()
		if t.kind != tokenText && t.kind != tokenWord {
			return nil, p.unexpected("a name")
		}
		p.next()
		if err := p.expect(":"); err != nil {
			return nil, err
		}
		v, err := p.expr()
		if err != nil {
			return nil, err
		}
		e.members = append(e.members, column{t.text, v})
		if p.accept("}") {
			return fold(e), nil
		}
		if err := p.expect(","); err != nil {
			return nil, err
		}
	}
}
