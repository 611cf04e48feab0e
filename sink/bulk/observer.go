package bulk

import "time"

// Observer hears of what a writer does, for metrics. Its methods are called
// from many goroutines at once and must not block.
type Observer interface {
	// Requested is called after every bulk request, answered or not. The
	// record and its Tally are valid during the call only.
	Requested(*Request)
	// Paused is called when a physical range refused operations for lack of
	// request units, with the time by which that puts off the next request.
	Paused(rangeID string, d time.Duration)
	// Refreshed is called after every attempt to read the physical ranges anew.
	Refreshed(err error)
}

// Request is one bulk request that was sent.
type Request struct {
	Range      string // id of the physical range
	Operations int
	Bytes      int
	Status     int // of the whole request, 0 if there was no answer
	SubStatus  int
	Duration   time.Duration
	Charge     float64 // request units, of the operations carried out and refused
	Throttled  int     // operations refused for lack of request units
	Tally      []Tally // of the operations
}

// Tally counts the operations of a request that had one kind and one answer.
type Tally struct {
	Kind       Kind
	Status     int // of the operation; that of the request if it failed as a whole
	Operations int
	Charge     float64
}

// RangeState is what a writer knows of a physical range at one moment.
type RangeState struct {
	ID       string
	Lanes    []int // operations waiting in each lane
	UnderWay int   // operations in requests without an answer
	// UnitsPerSecond is the request units that the writer used in the last
	// second, and Budget what it believes that the range has to give: 0 until
	// the range has refused something or a ceiling is set. Their ratio is the
	// range's heat.
	UnitsPerSecond, Budget float64
	PausedFor              time.Duration
	Fault                  error // why the range does not get on, or nil
}
