package sql

import (
	"slices"
	"strconv"
)

// query = SELECT [TOP n] what FROM alias [WHERE expr] [ORDER BY terms]
// [OFFSET n LIMIT n].
//
// The alias is known only after what is selected has been passed over, so the
// FROM clause is found and read first.
func (p *parser) query(q *Query) error {
	if err := p.expect("SELECT"); err != nil {
		return err
	}
	selected := p.tokens
	if err := p.from(); err != nil {
		return err
	}
	rest := p.tokens
	p.tokens = selected
	if err := p.selection(q); err != nil {
		return err
	}
	if !p.peek().is("FROM") {
		return p.unexpected(`"FROM"`)
	}
	p.tokens = rest

	if p.accept("WHERE") {
		e, err := p.expr()
		if err != nil {
			return err
		}
		q.where = e
	}
	if p.peek().is("GROUP") {
		return p.fail("GROUP BY is not supported")
	}
	if p.accept("ORDER") {
		if err := p.expect("BY"); err != nil {
			return err
		}
		if err := p.orderBy(q); err != nil {
			return err
		}
	}
	if p.accept("OFFSET") {
		var err error
		if q.Offset, err = p.count(); err != nil {
			return err
		}
		if err := p.expect("LIMIT"); err != nil {
			return err
		}
		if q.Limit, err = p.count(); err != nil {
			return err
		}
	}
	if p.peek().kind != tokenEnd {
		return p.unexpected("the end of the query")
	}
	q.reads, q.root = p.reads, p.root
	return nil
}

// from skips to the FROM clause and reads it.
func (p *parser) from() error {
	depth := 0
	for {
		t := p.peek()
		switch {
		case t.kind == tokenEnd:
			return p.fail("a FROM clause is required")
		case t.is("(") || t.is("[") || t.is("{"):
			depth++
		case t.is(")") || t.is("]") || t.is("}"):
			depth--
		}
		p.next()
		if depth == 0 && t.is("FROM") {
			break
		}
	}
	name := p.next()
	if name.kind != tokenWord {
		return p.fail("expected the name of the container after FROM")
	}
	p.alias = name.text
	if p.peek().is(".") || p.peek().is("[") || p.peek().is("IN") {
		return p.fail("FROM over a part of the documents is not supported")
	}
	p.accept("AS")
	if t := p.peek(); t.kind == tokenWord && !isClause(t) {
		p.alias = p.next().text
	}
	if t := p.peek(); t.is("JOIN") || t.is(",") || t.is("IN") {
		return p.fail("JOIN is not supported")
	}
	return nil
}

func isClause(t token) bool {
	return slices.ContainsFunc([]string{"WHERE", "ORDER", "GROUP", "OFFSET", "JOIN", "IN"}, t.is)
}

// selection = [TOP n] (* | VALUE expr | expr [[AS] name] {, ...}).
func (p *parser) selection(q *Query) error {
	if p.peek().is("DISTINCT") {
		return p.fail("DISTINCT is not supported")
	}
	if p.peek().is("TOP") {
		p.next()
		n, err := p.count()
		if err != nil {
			return err
		}
		q.Top = n
	}
	if p.accept("*") {
		q.All = true
		return nil
	}
	if p.accept("VALUE") {
		if p.peek().is("COUNT") && p.tokens[1].is("(") {
			p.next()
			p.next()
			q.Count = true
			e, err := p.expr()
			if err != nil {
				return err
			}
			q.value = e
			return p.expect(")")
		}
		e, err := p.expr()
		q.value = e
		return err
	}
	for {
		start := p.tokens
		e, err := p.expr()
		if err != nil {
			return err
		}
		name := "$" + strconv.Itoa(len(q.columns)+1)
		if e, ok := e.(path); ok {
			if n := len(e.steps); n == 0 {
				name = start[0].text
			} else if !e.steps[n-1].array {
				name = e.steps[n-1].name
			}
		}
		if p.accept("AS") {
			if p.peek().kind != tokenWord {
				return p.unexpected("a name after AS")
			}
			name = p.next().text
		} else if t := p.peek(); t.kind == tokenWord && !t.is("FROM") {
			name = p.next().text
		}
		if slices.ContainsFunc(q.columns, func(c column) bool { return c.name == name }) {
			return p.fail("two columns are named %q", name)
		}
		q.columns = append(q.columns, column{name, e})
		if !p.accept(",") {
			return nil
		}
	}
}

func (p *parser) orderBy(q *Query) error {
	for {
		e, err := p.expr()
		if err != nil {
			return err
		}
		if pe, ok := e.(path); !ok || len(pe.steps) == 0 {
			return p.fail("ORDER BY takes paths only")
		}
		term := orderTerm{expr: e}
		if p.accept("DESC") {
			term.descending = true
		} else {
			p.accept("ASC")
		}
		q.order = append(q.order, term)
		if !p.accept(",") {
			return nil
		}
	}
}
