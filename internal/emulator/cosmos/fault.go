package cosmos

import (
	"math/rand/v2"
	"net/http"
	"sync"
	"sync/atomic"
	"time"
)

// Op is what a [Controller] can be asked about: whole requests, and single
// operations on documents, which come alone or many in one request.
type Op uint8

// Whole requests. A request with one operation is first asked about as a
// PointRequest and then as its operation.
const (
	AnyRequest      Op = iota
	PointRequest       // one operation on one document
	BulkRequest        // operations that succeed or fail each for itself
	BatchRequest       // operations that succeed or fail together
	QueryRequest       // a page of a query, or of the list of documents
	RangesRequest      // the physical ranges of a container
	AccountRequest     // the account
	MetadataRequest    // databases, containers, offers
)

// Single operations on documents.
const (
	AnyOperation Op = iota + 32
	CreateOperation
	UpsertOperation
	ReplaceOperation
	ReadOperation
	DeleteOperation
	PatchOperation
)

// Call is a request or an operation that is about to be served. Fields that a
// call does not have are empty.
type Call struct {
	Op        Op // never AnyRequest or AnyOperation
	Method    string
	Path      string
	Database  string
	Container string
	Range     string // id of the physical range, of operations and bulk requests
	Key       string // the partition key as a JSON array, of operations
	ID        string // of the document
}

// Fault is what happens to a call instead of what it asks for, or around it.
// The zero value lets the call pass.
type Fault struct {
	// Delay is waited for before the call takes effect, DelayAnswer after. Of
	// the operations in one request the longest delay counts.
	Delay, DelayAnswer time.Duration

	// Status answers the call, with the other fields, instead of serving it; 0
	// serves it. With Applied the call takes effect first, as when an answer is
	// lost on its way. An operation of a transaction takes no effect.
	Status     int
	SubStatus  int
	RetryAfter time.Duration
	Message    string // by default a text made of the status
	Applied    bool

	// Reset breaks the connection instead of answering; with Applied the call
	// takes effect first. Truncate breaks it in the middle of the answer. Both
	// concern the request that a single operation is part of.
	Reset, Truncate bool

	// Results changes how many results a bulk or batch request is answered
	// with: -1 leaves the last one out, 1 repeats it.
	Results int

	// Keep asks the controller again for the next call; otherwise one that has
	// made a fault is used up.
	Keep bool
}

// Answer is the fault that answers with a status and substatus, such as 410 and
// 1002.
func Answer(status, sub int) Fault { return Fault{Status: status, SubStatus: sub} }

// Throttle is the fault that answers 429 as a range whose request units are
// spent does.
func Throttle(retryAfter time.Duration) Fault {
	return Fault{Status: http.StatusTooManyRequests, SubStatus: subThrottled, RetryAfter: retryAfter, Message: messageThrottled}
}

// Controller decides what happens to a call: nil leaves it to the next
// controller. It is called by one goroutine at a time, without any lock that
// the server's other methods take, so that it may split a range, for example.
// It must not add or remove controllers.
type Controller func(Call) *Fault

// Once makes one fault and is then used up.
func Once(f Fault) Controller {
	f.Keep = false
	return func(Call) *Fault { return &f }
}

// Always makes the same fault of every call.
func Always(f Fault) Controller {
	f.Keep = true
	return func(Call) *Fault { return &f }
}

// Share makes a fault of a share of the calls (0.3 is three in ten), drawn at
// random, the same way for the same seed and order of calls.
func Share(share float64, seed uint64, f Fault) Controller {
	f.Keep = true
	draw := rand.New(rand.NewPCG(seed, 0xda3e39cb94b95bdb))
	return func(Call) *Fault {
		if draw.Float64() < share {
			return &f
		}
		return nil
	}
}

// OnRange asks another controller about the calls of one physical range.
func OnRange(id string, c Controller) Controller {
	return func(call Call) *Fault {
		if call.Range != id {
			return nil
		}
		return c(call)
	}
}

// controls are the controllers of a server, in the order in which they were
// added.
type controls struct {
	any atomic.Bool // there are some; spares the hot path the rest

	// mu covers what follows. No other lock is taken while it is held, except
	// by controllers.
	mu   sync.Mutex
	list []*control
}

type control struct {
	op Op
	fn Controller
}

func (c *control) concerns(op Op) bool {
	return c.op == op || c.op == AnyRequest && op < AnyOperation || c.op == AnyOperation && op > AnyOperation
}

// Control adds a controller for an op; it comes after those that are there.
// For every call the controllers of its op are asked in order until one makes a
// fault. remove takes the controller away again.
func (s *Server) Control(op Op, c Controller) (remove func()) {
	s.controls.mu.Lock()
	defer s.controls.mu.Unlock()
	added := &control{op, c}
	s.controls.list = append(s.controls.list, added)
	s.controls.any.Store(true)
	return func() {
		s.controls.mu.Lock()
		defer s.controls.mu.Unlock()
		s.controls.drop(added)
	}
}

func (cs *controls) drop(gone *control) {
	var left []*control
	for _, c := range cs.list {
		if c != gone {
			left = append(left, c)
		}
	}
	cs.list = left
	cs.any.Store(len(left) > 0)
}

// fault asks the controllers. describe is called only if there are any.
func (cs *controls) fault(op Op, describe func() Call) Fault {
	if !cs.any.Load() {
		return Fault{}
	}
	call := describe()
	call.Op = op
	cs.mu.Lock()
	defer cs.mu.Unlock()
	for _, c := range cs.list {
		if !c.concerns(op) {
			continue
		}
		if f := c.fn(call); f != nil {
			if !f.Keep {
				cs.drop(c)
			}
			return *f
		}
	}
	return Fault{}
}

// merge adds to a request's fault what an operation's says of the connection
// and of time.
func (f *Fault) merge(op Fault) {
	f.Delay = max(f.Delay, op.Delay)
	f.DelayAnswer = max(f.DelayAnswer, op.DelayAnswer)
	f.Truncate = f.Truncate || op.Truncate
	if op.Reset {
		f.Reset = true
		f.Applied = f.Applied || op.Applied
	}
	if f.Results == 0 {
		f.Results = op.Results
	}
}

// text is the fault's message.
func (f *Fault) text() string {
	if f.Message != "" {
		return f.Message
	}
	switch f.Status {
	case statusRetryWith:
		return "Conflicting request to resource has been attempted. Retry to avoid conflicts."
	case http.StatusGone:
		return messageGone
	case http.StatusTooManyRequests:
		return messageThrottled
	case http.StatusRequestEntityTooLarge:
		return messageTooLarge
	}
	if text := http.StatusText(f.Status); text != "" {
		return text + "."
	}
	return "The request failed."
}

// outcome is the fault as an operation's.
func (f *Fault) outcome(charges *ChargeModel) outcome {
	o := failed(f.Status, f.SubStatus, f.text())
	o.retryAfter = f.RetryAfter
	if f.Status == http.StatusTooManyRequests {
		o.charge = charges.Throttled
	}
	return o
}

// reply is the fault as a request's answer.
func (f *Fault) reply(charges *ChargeModel) *reply {
	out := failure(f.Status, f.SubStatus, f.text())
	out.retryAfter = f.RetryAfter
	if f.Status == http.StatusTooManyRequests {
		out.charge = charges.Throttled
	}
	return out
}
