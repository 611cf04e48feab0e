package geo

import "cmp"

// Order is what decides which of two positions of one document is newer.
// Promise 3 (newest wins) rests on every room asking here.
//
// The enqueued time comes first: sequence numbers start again when a hub is
// re-created, and a document written before would then win for ever.
type Order struct {
	Enqueued int64 // Unix milliseconds
	Sequence int64 // of the event in its partition
	Index    int   // of the position in its event
}

// Compare returns -1 when o is older than other, +1 when it is newer, and 0
// when both are the same position.
func (o Order) Compare(other Order) int {
	return cmp.Or(
		cmp.Compare(o.Enqueued, other.Enqueued),
		cmp.Compare(o.Sequence, other.Sequence),
		cmp.Compare(o.Index, other.Index),
	)
}

// Newer reports whether o is newer than other.
func (o Order) Newer(other Order) bool { return o.Compare(other) > 0 }
