package cosmos

import (
	"bytes"
	"fmt"
	"net/http"
	"strconv"
	"time"

	"warmpath/internal/emulator/cosmos/epk"
	"warmpath/internal/emulator/cosmos/rawjson"
)

// verb is what an operation does to a document.
type verb uint8

const (
	verbCreate verb = iota
	verbUpsert
	verbReplace
	verbRead
	verbDelete
	verbPatch
)

// String is the name by which batches and the journal know the verb.
func (v verb) String() string {
	return [...]string{"Create", "Upsert", "Replace", "Read", "Delete", "Patch"}[v]
}

// brings tells whether the verb comes with a document.
func (v verb) brings() bool { return v <= verbReplace }

// op is the verb as controllers know it.
func (v verb) op() Op {
	return [...]Op{CreateOperation, UpsertOperation, ReplaceOperation, ReadOperation, DeleteOperation, PatchOperation}[v]
}

// verbNamed is the verb with a name.
func verbNamed(name string) (verb, bool) {
	for v := verbCreate; v <= verbPatch; v++ {
		if v.String() == name {
			return v, true
		}
	}
	return 0, false
}

// operation is one operation on one document, from a request of its own or from
// a batch.
type operation struct {
	verb        verb
	key         []byte // encoded
	hash        epk.Value
	id          []byte
	ifMatch     string
	ifNoneMatch string
	session     string // token of the client; asked by reads

	// Of verbs that bring a document:
	body    []byte // without white space around it and without system properties
	ttl     int32
	indexed int
	spatial int

	patch *patch // of verbPatch
}

// outcome is what became of an operation.
type outcome struct {
	status     int
	sub        int
	message    string // of a failure
	charge     float64
	retryAfter time.Duration
	doc        view   // what is stored now, or was read
	lsn        uint64 // the range's log sequence number after the operation
	rangeID    string
}

func (o *outcome) ok() bool { return o.status < 300 || o.status == http.StatusNotModified }

func failed(status, sub int, message string) outcome {
	return outcome{status: status, sub: sub, message: message}
}

// Messages of refusals, in the service's words where they are part of what
// people search for.
const (
	messageNotFound     = "Entity with the specified id does not exist in the system."
	messageConflict     = "Entity with the specified id already exists in the system."
	messagePrecondition = "One of the specified pre-condition is not met."
	messageThrottled    = "Request rate is large. More Request Units may be needed, so no changes were made. Please retry this request later. Learn more: http://aka.ms/cosmosdb-error-429"
	messageKeyMismatch  = "PartitionKey extracted from document doesn't match the one specified in the header. Learn more: https://aka.ms/CosmosDB/sql/errors/wrong-pk-value"
	messageKeyMissing   = "PartitionKey value must be supplied for this operation."
	messageNoID         = "The input content is invalid because the required properties - 'id; ' - are missing"
	messageTooLarge     = "Request size is too large"
	messageGone         = "The requested resource is no longer available at the server: the partition key range is gone."
)

// Substatus codes (sdk sources name them; the numbers are the service's).
const (
	subKeyMismatch  = 1001
	subRangeGone    = 1002
	subSession      = 1002 // with 404
	subOwnerMissing = 1003 // with 404
	subCrossQuery   = 1004
	subThrottled    = 3200
	subResponseSize = 3402 // with 413
)

// prepare checks a document that is to be written under a key and fills in the
// operation, which keeps parts of the body. A nil failure means that it may run.
func (op *operation) prepare(def *definition, body []byte) *outcome {
	r := rawjson.NewReader(body)
	start := r.Offset()
	if r.Kind() != rawjson.Object {
		return bad("The request content is invalid: a document is a JSON object.")
	}
	found := def.shape.scan(&r)
	document := r.Since(start)
	if err := r.End(); err != nil {
		return bad("The request content is invalid: " + err.Error() + ".")
	}
	return op.accept(def, &found, document)
}

// accept is prepare for a document that has been scanned.
func (op *operation) accept(def *definition, found *scan, body []byte) *outcome {
	if len(body) > maxDocument {
		o := failed(http.StatusRequestEntityTooLarge, 0, messageTooLarge)
		return &o
	}
	if rawjson.KindOf(found.id) != rawjson.String {
		return bad(messageNoID)
	}
	id := found.id[1 : len(found.id)-1]
	if bytes.IndexByte(id, '\\') >= 0 {
		id = rawjson.AppendUnquoted(nil, found.id)
	}
	if msg := checkDocumentID(id); msg != "" {
		return bad(msg)
	}
	if (op.verb == verbReplace || op.verb == verbPatch) && !bytes.Equal(id, op.id) {
		return bad("The id in the document does not match the one in the request.")
	}
	op.id = id

	var buf [64]byte
	if own := found.appendKey(buf[:0], len(def.keyPaths)); !bytes.Equal(own, op.key) {
		o := failed(http.StatusBadRequest, subKeyMismatch, messageKeyMismatch)
		return &o
	}
	var ok bool
	if op.ttl, ok = parseTTL(found.ttl); !ok {
		return bad(fmt.Sprintf("The input ttl '%s' is invalid. Ensure to provide a nonzero positive integer less than or equal to '%d', or -1.", found.ttl, maxTTL))
	}
	if found.system {
		body = withoutSystem(body)
	}
	op.body, op.indexed, op.spatial = body, found.indexed, found.spatial
	return nil
}

func bad(message string) *outcome {
	o := failed(http.StatusBadRequest, 0, message)
	return &o
}

// checkDocumentID says what is wrong with a document's id.
func checkDocumentID(id []byte) string {
	switch {
	case len(id) == 0:
		return messageNoID
	case len(id) > maxIDLength:
		return "The input name '" + string(id[:32]) + "...' is too long."
	case bytes.ContainsAny(id, `/\`):
		return "The input name is invalid. Ensure to provide a unique non-empty string of up to 1023 bytes without '/' and '\\'."
	}
	return ""
}

// parseTTL reads a document's ttl; a missing one is 0.
func parseTTL(raw []byte) (int32, bool) {
	if raw == nil {
		return 0, true
	}
	n, err := strconv.ParseInt(string(raw), 10, 32)
	return int32(n), err == nil && (n == -1 || n > 0)
}
