package cosmos

import (
	"net/http"
	"strings"

	"warmpath/internal/emulator/cosmos/epk"
	"warmpath/internal/emulator/cosmos/sql"
)

// serveDocuments serves /dbs/{id}/colls/{id}/docs.
func (c *container) serveDocuments(x *exchange) *reply {
	r := x.r
	switch {
	case r.Method == http.MethodGet && r.Header.Get(headerAIM) == "":
		return c.serveFeed(r)
	case r.Method != http.MethodPost:
		return unsupported(r)
	case isQuery(r):
		return c.serveQuery(r, x.body)
	case isBatch(r):
		return c.serveBatch(x)
	}
	op := operation{verb: verbCreate}
	if strings.EqualFold(r.Header.Get(headerUpsert), "true") {
		op.verb = verbUpsert
	}
	return c.serveOperation(x, &op)
}

// serveFeed lists documents, a page at a time.
func (c *container) serveFeed(r *http.Request) *reply {
	everything, err := sql.Parse("SELECT * FROM c", nil)
	if err != nil {
		return failure(http.StatusInternalServerError, 0, err.Error())
	}
	h := r.Header.Clone()
	h.Set(headerCrossPartition, "true") // a list needs no permission to cross
	return c.page(h, everything)
}

// serveDocument serves /dbs/{id}/colls/{id}/docs/{id}.
func (c *container) serveDocument(x *exchange) *reply {
	op := operation{id: []byte(x.target.item)}
	switch x.r.Method {
	case http.MethodGet:
		op.verb = verbRead
	case http.MethodPut:
		op.verb = verbReplace
	case http.MethodDelete:
		op.verb = verbDelete
	case http.MethodPatch:
		op.verb = verbPatch
	default:
		return unsupported(x.r)
	}
	return c.serveOperation(x, &op)
}

// serveOperation runs a request that is one operation on one document.
func (c *container) serveOperation(x *exchange, op *operation) *reply {
	if refused := c.prepare(x, op); refused != nil {
		return refused
	}
	var f Fault
	if cs := &x.s.controls; cs.any.Load() {
		rangeID := c.routing.Load().locate(op.hash).id
		f = cs.fault(op.verb.op(), func() Call { return x.call(rangeID, op) })
		x.fault.merge(f)
		x.s.wait(x.fault.takeDelay())
		if x.unanswered() {
			return &reply{}
		}
	}
	p := c.lock(op.hash)
	o := p.applyUnder(&f, op, c.server.now())
	p.mu.Unlock()
	out := o.reply()
	if !o.ok() {
		return out
	}
	if op.verb != verbDelete {
		out.etag = o.doc.etag()
		if o.status != http.StatusNotModified && (op.verb == verbRead || !minimal(x.r)) {
			out.body = c.appendServed(make([]byte, 0, len(o.doc.body)+256), &o.doc)
		}
	}
	return out
}

// prepare fills in an operation from its request.
func (c *container) prepare(x *exchange, op *operation) *reply {
	h := x.r.Header
	header, ok := h[headerPartitionKey]
	if !ok {
		return badRequest(messageKeyMissing)
	}
	if h.Get("X-Ms-Documentdb-Pre-Trigger-Include") != "" || h.Get("X-Ms-Documentdb-Post-Trigger-Include") != "" {
		return badRequest("Triggers are not supported by this server.")
	}
	def := c.def.Load()
	key, components, err := appendKey(nil, []byte(header[0]))
	if err != nil {
		return badRequest(err.Error())
	}
	if components != len(def.keyPaths) {
		return failure(http.StatusBadRequest, subKeyMismatch, errKeyCount.Error())
	}
	op.key, op.hash = key, def.hash(key)
	op.ifMatch = h.Get(headerIfMatch)
	op.ifNoneMatch = h.Get(headerIfNoneMatch)
	op.session = h.Get(headerSession)
	if op.verb.brings() {
		if refused := op.prepare(def, x.body); refused != nil {
			return refused.reply()
		}
		return nil
	}
	if msg := checkDocumentID(op.id); msg != "" {
		return badRequest(msg)
	}
	if op.verb == verbPatch {
		if op.patch, err = parsePatch(x.body); err != nil {
			return badRequest(err.Error())
		}
	}
	return nil
}

// lock returns the range that a hash lies on, with its mutex held.
func (c *container) lock(hash epk.Value) *physical {
	for {
		p := c.routing.Load().locate(hash)
		p.mu.Lock()
		if !p.gone {
			return p
		}
		// The table that replaced this range was in place before the range was
		// given up.
		p.mu.Unlock()
	}
}

// reply is the part of an answer that every outcome has.
func (o *outcome) reply() *reply {
	out := &reply{status: o.status, sub: o.sub, charge: o.charge, retryAfter: o.retryAfter}
	if o.rangeID != "" {
		out.session, out.rangeID = sessionToken(o.rangeID, o.lsn), o.rangeID
	}
	if !o.ok() {
		out.code, out.message = errorCode(o.status), o.message
	}
	return out
}
