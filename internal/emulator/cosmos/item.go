package cosmos

import (
	"net/http"
	"strings"

	"warmpath/internal/emulator/cosmos/sql"
)

// serveDocuments serves /dbs/{id}/colls/{id}/docs.
func (s *Server) serveDocuments(r *http.Request, c *container, body []byte) *reply {
	switch {
	case r.Method == http.MethodGet && r.Header.Get(headerAIM) == "":
		return c.serveFeed(r)
	case r.Method != http.MethodPost:
		return unsupported(r)
	case isQuery(r):
		return c.serveQuery(r, body)
	}
	op := operation{verb: verbCreate}
	if strings.EqualFold(r.Header.Get(headerUpsert), "true") {
		op.verb = verbUpsert
	}
	return c.serveOperation(r, &op, body)
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
func (s *Server) serveDocument(r *http.Request, c *container, id string, body []byte) *reply {
	op := operation{id: id}
	switch r.Method {
	case http.MethodGet:
		op.verb = verbRead
	case http.MethodPut:
		op.verb = verbReplace
	case http.MethodDelete:
		op.verb = verbDelete
	default:
		return unsupported(r)
	}
	return c.serveOperation(r, &op, body)
}

// serveOperation runs a request that is one operation on one document.
func (c *container) serveOperation(r *http.Request, op *operation, body []byte) *reply {
	header, ok := r.Header[headerPartitionKey]
	if !ok {
		return badRequest(messageKeyMissing)
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
	op.ifMatch = r.Header.Get(headerIfMatch)
	op.ifNoneMatch = r.Header.Get(headerIfNoneMatch)
	op.session = r.Header.Get(headerSession)
	if op.verb.writes() {
		if refused := op.prepare(def, body); refused != nil {
			return refused.reply()
		}
	} else if msg := checkDocumentID(op.id); msg != "" {
		return badRequest(msg)
	}
	o := c.run(op)
	out := o.reply()
	if !o.ok() {
		return out
	}
	if op.verb != verbDelete {
		out.etag = o.doc.etag()
		minimal := op.verb.writes() && strings.EqualFold(r.Header.Get(headerPrefer), "return=minimal")
		if !minimal && o.status != http.StatusNotModified {
			out.body = c.appendServed(make([]byte, 0, len(o.doc.body)+256), &o.doc)
		}
	}
	return out
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
