package sink

import (
	"time"

	"warmpath/geo"
)

// Document is one write: the newest position of a drone, or one of its history.
// It belongs to the sink from Submit until Done is called.
type Document struct {
	Key   string    // value at the container's partition key path
	ID    string    // id within that key
	Body  []byte    // the JSON to store
	Order geo.Order // what "newer" means; Order.Enqueued also tells the age
	Index int       // the submitter's own number for this document

	// Done is called exactly once for a submitted document, from a lane's
	// goroutine: it must not block.
	Done func(*Document, Result)

	// next is what the guard wants to ask after an answer, if planned.
	next    step
	planned bool
}

// Outcome is what became of a document.
type Outcome uint8

const (
	// Unsettled means that the pool was told to stop first. Nothing may be concluded.
	Unsettled Outcome = iota
	// Written means that the service acknowledged the write.
	Written
	// Superseded means that a newer version was written before.
	Superseded
	// Stale means older than the maximum age before a request could be started.
	Stale
	// Rejected means that the service refuses this document for good; Err says why.
	Rejected
)

// String names the outcome for logs.
func (o Outcome) String() string {
	switch o {
	case Written:
		return "written"
	case Superseded:
		return "superseded"
	case Stale:
		return "stale"
	case Rejected:
		return "rejected"
	default:
		return "unsettled"
	}
}

// Result is what Done hears.
type Result struct {
	Outcome Outcome
	Err     error     // why, for Rejected and Unsettled
	At      time.Time // when the service acknowledged, for Written
}
