package processor

import "github.com/Azure/azure-sdk-for-go/sdk/messaging/azeventhubs/v2"

// sequenceWatch looks at the sequence numbers of one opened partition. They are
// contiguous in a hub, so a gap is a loss, and a step back is something
// received before.
type sequenceWatch struct {
	started bool
	next    int64 // the sequence number that must come
}

// see takes a batch and returns how many events are missing before or within
// it, and how many of it had been seen before.
func (w *sequenceWatch) see(events []*azeventhubs.ReceivedEventData) (missing, duplicates int64) {
	for _, e := range events {
		switch {
		case !w.started, e.SequenceNumber == w.next:
		case e.SequenceNumber > w.next:
			missing += e.SequenceNumber - w.next
		default:
			duplicates++
			continue
		}
		w.started, w.next = true, e.SequenceNumber+1
	}
	return missing, duplicates
}
