// Package sql understands the part of Cosmos DB's query language that a gateway
// serves without an SDK's help: filters and projections over the documents of a
// container, with the spatial functions ST_DISTANCE and ST_WITHIN, and ordering,
// paging and counting where one partition is asked.
//
// [Parse] makes a [Query] of a text and its parameters; the query is then asked
// about one document at a time, as raw JSON. What the package does not
// understand it refuses when parsing, with [*Error]; it never guesses at rows.
//
// Values follow the language's rules for undefined: a missing member is
// undefined, comparing values of different kinds is undefined, and a filter
// keeps only what is true (learn.microsoft.com/azure/cosmos-db/nosql/query).
//
// A Query is immutable and safe for concurrent use.
package sql

import (
	"fmt"
	"slices"

	"warmpath/internal/emulator/cosmos/rawjson"
)

// Error is the reason why a query is refused: a mistake in it, or something
// this package does not support.
type Error struct {
	Offset int // in the text of the query
	Reason string
}

// Error names the place and the reason.
func (e *Error) Error() string {
	return fmt.Sprintf("query at offset %d: %s", e.Offset, e.Reason)
}

// Query is a parsed query.
type Query struct {
	// All is SELECT *: documents are wanted as they are, and Project is not
	// used.
	All bool
	// Count is SELECT VALUE COUNT(...): one number is wanted, of the matching
	// documents that Counts is true for.
	Count bool
	// Top, Offset and Limit cut the result; -1 means that they are not given.
	Top, Offset, Limit int

	where   expr
	value   expr // SELECT VALUE, or the argument of COUNT
	columns []column
	order   []orderTerm
	reads   []string // first-level members that are read
	root    bool     // the whole document is read
}

type column struct {
	name string
	expr expr
}

type orderTerm struct {
	expr       expr
	descending bool
}

// NeedsOnePartition tells whether the query has a right answer only where all
// its documents are seen together.
func (q *Query) NeedsOnePartition() bool {
	return q.Count || len(q.order) > 0 || q.Top >= 0 || q.Offset >= 0
}

// Ordered tells whether the query has an ORDER BY.
func (q *Query) Ordered() bool { return len(q.order) > 0 }

// Reads tells whether the query reads the whole document or a first-level
// member for which is is true.
func (q *Query) Reads(is func(name string) bool) bool {
	return q.root || slices.ContainsFunc(q.reads, is)
}

// Matches tells whether a document passes the filter. The document must be a
// JSON object that was checked before.
func (q *Query) Matches(doc []byte) (bool, error) {
	if q.where == nil {
		return true, nil
	}
	v, err := q.where.eval(doc)
	return v.isTrue(), err
}

// Counts tells whether a matching document is counted by COUNT.
func (q *Query) Counts(doc []byte) (bool, error) {
	v, err := q.value.eval(doc)
	return v.kind != undefined, err
}

// Project appends the row that a matching document gives. It gives none, and ok
// is false, when SELECT VALUE is undefined for it.
func (q *Query) Project(dst, doc []byte) (row []byte, ok bool, err error) {
	if q.value != nil {
		v, err := q.value.eval(doc)
		if err != nil || v.kind == undefined {
			return dst, false, err
		}
		return v.appendTo(dst), true, nil
	}
	dst = append(dst, '{')
	first := true
	for _, c := range q.columns {
		v, err := c.expr.eval(doc)
		if err != nil {
			return dst, false, err
		}
		if v.kind == undefined {
			continue
		}
		if !first {
			dst = append(dst, ',')
		}
		first = false
		dst = rawjson.AppendQuoted(dst, c.name)
		dst = append(dst, ':')
		dst = v.appendTo(dst)
	}
	return append(dst, '}'), true, nil
}

// SortKey is what a document is ordered by.
type SortKey []value

// SortKey returns the document's place in the order. It keeps parts of the
// document.
func (q *Query) SortKey(doc []byte) (SortKey, error) {
	key := make(SortKey, len(q.order))
	for i, term := range q.order {
		v, err := term.expr.eval(doc)
		if err != nil {
			return nil, err
		}
		key[i] = v
	}
	return key, nil
}

// CompareKeys compares two places in the order.
func (q *Query) CompareKeys(a, b SortKey) int {
	for i, term := range q.order {
		c := a[i].order(b[i])
		if term.descending {
			c = -c
		}
		if c != 0 {
			return c
		}
	}
	return 0
}
