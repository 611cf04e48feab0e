package cosmos

import (
	"bytes"
	"errors"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"warmpath/internal/emulator/cosmos/sql"
)

// serveQuery answers a query with one page.
func (c *container) serveQuery(r *http.Request, body []byte) *reply {
	if strings.EqualFold(r.Header.Get(headerQueryPlan), "true") {
		return badRequest("Query plans are not supported by this server.")
	}
	q, err := parseQuery(body)
	if err != nil {
		return badRequest(err.Error())
	}
	return c.page(r.Header, q)
}

// page answers with the next rows of a query.
func (c *container) page(h http.Header, q *sql.Query) *reply {
	sc, refused := c.queryScope(h)
	if refused != nil {
		return refused
	}
	if sc.key == nil && sc.rangeID == "" && !strings.EqualFold(h.Get(headerCrossPartition), "true") {
		return badRequest("Cross partition query is required but disabled. Please set x-ms-documentdb-query-enablecrosspartition to true, specify x-ms-documentdb-partitionkey, or revise your query to avoid this exception.")
	}
	if q.NeedsOnePartition() && !sc.single && sc.rangeID == "" {
		return failure(http.StatusBadRequest, subCrossQuery, "The provided cross partition query can not be directly served by the gateway. This is a first chance (internal) exception that all newer clients will know how to handle gracefully.")
	}
	size, err := pageSize(h)
	if err != nil {
		return badRequest(err.Error())
	}
	todo, skip, err := sc.resume(h.Get(headerContinuation))
	if err != nil {
		return badRequest(err.Error())
	}
	if len(todo) == 0 {
		todo = []stretch{{sc.lo, sc.hi, 0}}
	}
	run := &queryRun{c: c, q: q, scope: sc, size: size, now: c.server.now()}
	run.lookups, run.points = q.Lookups(c.def.Load().keyPaths)
	run.served = q.Reads(func(name string) bool { return isSystem([]byte(name)) })
	if q.NeedsOnePartition() {
		return run.whole(h, todo[0], skip)
	}
	return run.next(h, todo)
}

// queryRun is the making of one page.
type queryRun struct {
	c       *container
	q       *sql.Query
	scope   scope
	size    int
	now     time.Time
	served  bool         // the query reads system properties
	points  bool         // the query names its documents
	lookups []sql.Lookup // their names

	rows    []byte // separated by commas
	count   int
	scanned int
	scratch []byte
}

// next makes the page that starts with the first stretch. A page is of one
// physical range, as in the service.
func (run *queryRun) next(h http.Header, todo []stretch) *reply {
	c := run.c
	for {
		st := todo[0]
		p := c.routing.Load().locate(st.lo)
		if run.scope.rangeID != "" && p.id != run.scope.rangeID {
			return rangeGone()
		}
		rest := todo[1:]
		if p.max.Compare(st.hi) < 0 {
			rest = append([]stretch{{p.max, st.hi, st.after}}, rest...)
			st.hi = p.max
		}
		refused, lsn, gone := p.beginQuery(run.now, h.Get(headerSession))
		if gone {
			continue
		}
		if refused != nil {
			return refused
		}
		finished, err := run.scan(p, &st)
		if errors.Is(err, errRangeGone) {
			// It was split while it was read: what was found so far is dropped,
			// and found again in its children.
			run.rows, run.count = nil, 0
			continue
		}
		if err != nil {
			return badRequest(err.Error())
		}
		if !finished {
			rest = append([]stretch{st}, rest...)
		}
		return run.reply(p, lsn, tokenOf(rest))
	}
}

var errRangeGone = errors.New("range was split")

// beginQuery asks the range's budget and its log whether a query may run.
func (p *physical) beginQuery(now time.Time, session string) (refused *reply, lsn uint64, gone bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.gone {
		return nil, 0, true
	}
	if wait, ok := p.budget.admit(now); !ok {
		o := p.refuse(wait)
		return o.reply(), 0, false
	}
	if sessionLSN(session, p.id) > p.lsn {
		return failure(http.StatusNotFound, subSession, messageSession), 0, false
	}
	return nil, p.lsn, false
}

// scan adds the rows of a stretch, and notes in it how far it came. finished
// tells that it came to the end.
func (run *queryRun) scan(p *physical, st *stretch) (finished bool, err error) {
	for {
		docs, end, err := run.documents(p, st)
		if err != nil {
			return false, err
		}
		for i := range docs {
			full, err := run.add(&docs[i])
			if err != nil {
				return false, err
			}
			if full {
				return false, nil
			}
			st.after = docs[i].rid
		}
		if end {
			return true, nil
		}
		if run.count >= run.size || run.scanned >= maxScanned {
			return false, nil
		}
	}
}

// documents returns the next documents of a stretch, in order of rid.
func (run *queryRun) documents(p *physical, st *stretch) (docs []view, end bool, err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	switch {
	case p.gone:
		return nil, false, errRangeGone
	case run.points:
		return run.named(p, st), true, nil
	case run.scope.single:
		docs, end = p.ofKey(string(run.scope.key), st.after, run.now)
	default:
		docs, end = p.after(st, run.scope.key, run.now)
	}
	return docs, end, nil
}

// named returns the documents that the query names and that lie in a stretch.
// The caller holds p.mu.
func (run *queryRun) named(p *physical, st *stretch) []view {
	def := run.c.def.Load()
	var out []view
	var key []byte
	for _, l := range run.lookups {
		key = key[:0]
		ok := true
		for _, raw := range l.Key {
			encoded, err := appendComponent(key, raw)
			key, ok = encoded, ok && err == nil
		}
		hash := def.hash(key)
		if !ok || hash.Compare(st.lo) < 0 || hash.Compare(st.hi) >= 0 || !bytes.HasPrefix(key, run.scope.key) {
			continue
		}
		if _, doc := p.find(key, []byte(l.ID), run.now); doc != nil && doc.rid > st.after {
			out = append(out, view{doc.rid, doc.state})
		}
	}
	slices.SortFunc(out, func(a, b view) int { return int(int64(a.rid) - int64(b.rid)) })
	return slices.CompactFunc(out, func(a, b view) bool { return a.rid == b.rid })
}

// add adds the row of a document if the query wants it. full tells that there
// was no room for it.
func (run *queryRun) add(doc *view) (full bool, err error) {
	if run.count >= run.size {
		return true, nil
	}
	run.scanned++
	body := run.body(doc)
	if !run.points {
		if ok, err := run.q.Matches(body); err != nil || !ok {
			return false, err
		}
	}
	before := len(run.rows)
	if run.count > 0 {
		run.rows = append(run.rows, ',')
	}
	ok := true
	if run.q.All {
		run.rows = run.c.appendServed(run.rows, doc)
	} else {
		run.rows, ok, err = run.q.Project(run.rows, body)
	}
	switch {
	case err != nil:
		return false, err
	case !ok:
		run.rows = run.rows[:before]
	case len(run.rows) > maxResponse && run.count > 0:
		run.rows = run.rows[:before]
		return true, nil
	default:
		run.count++
	}
	return false, nil
}

// body is a document as the query reads it: with its system properties only if
// it looks at them.
func (run *queryRun) body(doc *view) []byte {
	if !run.served {
		return doc.body
	}
	run.scratch = run.c.appendServed(run.scratch[:0], doc)
	return run.scratch
}

// reply charges the page and sends it.
func (run *queryRun) reply(p *physical, lsn uint64, token string) *reply {
	m := &run.c.server.charges
	charge := m.QueryBase + m.QueryPerDocument*float64(run.count) + m.QueryPerScanned*float64(run.scanned)
	p.mu.Lock()
	charge = p.budget.spend(charge)
	p.used += charge
	p.mu.Unlock()
	body := make([]byte, 0, len(run.rows)+64)
	body = append(body, `{"_rid":"`...)
	body = append(body, run.c.resource.rid...)
	body = append(body, `","Documents":[`...)
	body = append(body, run.rows...)
	body = append(body, `],"_count":`...)
	body = strconv.AppendInt(body, int64(run.count), 10)
	body = append(body, '}')
	return &reply{
		status: http.StatusOK, charge: charge, session: sessionToken(p.id, lsn), rangeID: p.id,
		continuation: token, itemCount: run.count, body: body,
	}
}

// row is a document in the making of a result that must be seen as a whole.
type row struct {
	doc view
	key sql.SortKey
}

// whole makes a page of a query that orders, counts or cuts: all of its rows
// are made, and a continuation says how many of them have been sent. The scope
// is one logical partition or one physical range.
func (run *queryRun) whole(h http.Header, st stretch, skip int) *reply {
	c, q := run.c, run.q
	for {
		p := c.routing.Load().locate(st.lo)
		if run.scope.rangeID != "" && p.id != run.scope.rangeID {
			return rangeGone()
		}
		refused, lsn, gone := p.beginQuery(run.now, h.Get(headerSession))
		if gone {
			continue
		}
		if refused != nil {
			return refused
		}
		rows, counted, err := run.collect(p, st)
		if errors.Is(err, errRangeGone) {
			continue
		}
		if err != nil {
			return badRequest(err.Error())
		}
		if q.Count {
			run.rows, run.count = strconv.AppendInt(nil, int64(counted), 10), 1
			return run.reply(p, lsn, "")
		}
		slices.SortStableFunc(rows, func(a, b row) int { return q.CompareKeys(a.key, b.key) })
		rows = cut(rows, q)
		run.points = true // every row has matched
		sent := min(skip, len(rows))
		for _, row := range rows[sent:] {
			full, err := run.add(&row.doc)
			if err != nil {
				return badRequest(err.Error())
			}
			if full {
				return run.reply(p, lsn, continuation{Skip: sent}.token())
			}
			sent++
		}
		return run.reply(p, lsn, "")
	}
}

// collect gathers everything that matches.
func (run *queryRun) collect(p *physical, st stretch) (rows []row, counted int, err error) {
	for {
		docs, end, err := run.documents(p, &st)
		if err != nil {
			return nil, 0, err
		}
		for i := range docs {
			run.scanned++
			st.after = docs[i].rid
			body := run.body(&docs[i])
			if ok, err := run.q.Matches(body); err != nil {
				return nil, 0, err
			} else if !ok {
				continue
			}
			if run.q.Count {
				ok, err := run.q.Counts(body)
				if err != nil {
					return nil, 0, err
				}
				if ok {
					counted++
				}
				continue
			}
			// The key must outlive the scratch buffer that body may be.
			key, err := run.q.SortKey(bytes.Clone(body))
			if err != nil {
				return nil, 0, err
			}
			rows = append(rows, row{docs[i], key})
		}
		if end {
			return rows, counted, nil
		}
	}
}

// cut applies TOP, OFFSET and LIMIT.
func cut(rows []row, q *sql.Query) []row {
	if q.Offset >= 0 {
		rows = rows[min(q.Offset, len(rows)):]
		rows = rows[:min(q.Limit, len(rows))]
	}
	if q.Top >= 0 {
		rows = rows[:min(q.Top, len(rows))]
	}
	return rows
}
