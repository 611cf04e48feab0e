package bulk

import (
	"errors"
	"fmt"
	"strings"
	"time"
)

// Kind is what an operation does.
type Kind uint8

// The kinds of operations. The zero Kind is Upsert.
const (
	// Upsert writes a document, whether or not there is one. With IfMatch an
	// existing document must have that etag; a missing one is created.
	Upsert Kind = iota
	// Create writes a document that must not exist (409 otherwise).
	Create
	// Replace writes a document that must exist (404 otherwise), and with
	// IfMatch have that etag (412 otherwise).
	Replace
	// Read returns a document (404 if there is none).
	Read
	// Delete removes a document (404 if there is none), with IfMatch only one
	// that has that etag (412 otherwise).
	Delete
	// Patch changes parts of a document by the patch in Body; see [PatchBody].
	// A condition that does not hold is 412.
	Patch

	kinds
)

// String is the name of the kind on the wire.
func (k Kind) String() string {
	if k >= kinds {
		return fmt.Sprintf("Kind(%d)", uint8(k))
	}
	return [kinds]string{"Upsert", "Create", "Replace", "Read", "Delete", "Patch"}[k]
}

// hasBody tells whether operations of the kind bring a body.
func (k Kind) hasBody() bool { return k != Read && k != Delete }

// namesDocument tells whether operations of the kind name their document beside
// the body.
func (k Kind) namesDocument() bool { return k != Upsert && k != Create }

// Operation is one operation on one document. From [Writer.Submit] until Done
// is called it belongs to the writer. Afterwards it may be used again.
type Operation struct {
	Kind Kind
	// Key is the partition key, which must be what the body has at the
	// container's key path or paths: the service refuses the operation with
	// 400/1001 otherwise.
	Key Key
	// ID is the document's id: 1 to 1,023 bytes without / \ ? or #. It must be
	// the id in the body.
	ID string
	// Body is JSON that is sent as it stands: the document for Upsert, Create
	// and Replace, the patch for Patch, nothing for Read and Delete. It must
	// not change before Done is called.
	Body []byte
	// IfMatch is the etag that the document must have, quotes included. Empty
	// means any.
	IfMatch string

	// Done is called exactly once for a submitted operation, and before the
	// next operation on the same document is sent. It is called from one of the
	// writer's goroutines: it must neither block nor call Submit.
	Done func(*Operation, Result)

	// Index is the submitter's own number for the operation.
	Index int

	state
}

// state is what the writer remembers of an operation that it holds.
type state struct {
	at       position
	document uint64    // hash of key and id: equal for equal documents
	size     int       // upper bound of the encoded operation
	epoch    *epoch    // what a Flush waits for
	due      time.Time // not to be sent before; zero: at once
	charge   float64   // request units of the tries so far
	attempts int       // requests that carried it
	failures int       // tries in a row that ended in something to be waited out
	company  int       // most operations in its next request; 0: any number
	unclear  bool      // a try may have taken effect without our hearing of it
}

// Result is what became of an operation.
type Result struct {
	// Status is the service's answer to the operation: 200, 201 or 204 when it
	// took effect, otherwise a refusal, of which 404, 409 and 412 are the
	// ordinary ones. It is 0 when Err tells why there is no answer.
	Status int
	// SubStatus tells refusals with the same Status apart, 0 if there is none.
	SubStatus int
	// ETag is the document's etag after a write or of a read document.
	ETag string
	// Body is the document that Read found. It is not shared.
	Body []byte
	// RequestCharge is the sum of the request units of all tries.
	RequestCharge float64
	// Attempts is the number of requests that carried the operation.
	Attempts int
	// Unclear means that an earlier try ended without an answer and may have
	// taken effect. Then 409 to Create, 412 to an operation with IfMatch, 404
	// to Delete and 412 to Patch may be the effect of that very try: read the
	// document to know. When Err is set and Status is 0, the operation may have
	// taken effect as well. Upsert without IfMatch, and Read, have no such
	// doubt.
	Unclear bool
	// Err is nil if and only if the operation took effect. For a refusal it is
	// a [*StatusError]. [ErrNotAdmitted], [ErrNotSupported], [ErrClosed] and
	// the cause of the hard context's end mean that the writer gave up.
	Err error
}

const (
	maxIDBytes = 1023

	// maxBodyBytes is a little above the service's limit of 2 MiB, so that the
	// service's own answer (413) decides in cases of doubt.
	maxBodyBytes = 2<<20 + 4096
)

// check tells what is wrong with an operation that is to be submitted.
func (op *Operation) check(paths int) error {
	if op.Kind >= kinds {
		return fmt.Errorf("kind is %d, allowed are Upsert to Patch", uint8(op.Kind))
	}
	if op.Done == nil {
		return errors.New("done is missing")
	}
	if err := op.Key.check(paths); err != nil {
		return err
	}
	if op.ID == "" || len(op.ID) > maxIDBytes {
		return fmt.Errorf("the id has %d bytes, allowed are 1 to %d", len(op.ID), maxIDBytes)
	}
	if strings.ContainsAny(op.ID, `/\?#`) {
		return errors.New(`the id contains one of / \ ? #`)
	}
	switch has := len(op.Body) > 0; {
	case has != op.Kind.hasBody():
		return fmt.Errorf("%s with a body of %d bytes", op.Kind, len(op.Body))
	case has && op.Body[0] != '{':
		return fmt.Errorf("the body of %s is not a JSON object", op.Kind)
	case len(op.Body) > maxBodyBytes:
		return fmt.Errorf("the body has %d bytes, allowed are up to %d", len(op.Body), maxBodyBytes)
	}
	return nil
}
