package processor

import (
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/messaging/azeventhubs/v2"
)

// maxAhead is how far a hub's clock may be ahead of ours before its word is
// not taken any more.
const maxAhead = time.Minute

// enqueuedTime is when the hub took the event: IoT Hub's own annotation where
// it is present and valid, for it survives routing to another hub, else the
// broker's. Without both it is the partition's last known time, else receive
// time: a missing time is never "stale by 2000 years". A time more than a
// minute ahead is clamped to receive time, and said so.
func enqueuedTime(e *azeventhubs.ReceivedEventData, last, received time.Time) (at time.Time, clamped bool) {
	switch fromHub, ok := e.SystemProperties["iothub-enqueuedtime"].(time.Time); {
	case ok && fromHub.Unix() > 0:
		at = fromHub
	case e.EnqueuedTime != nil && e.EnqueuedTime.Unix() > 0:
		at = *e.EnqueuedTime
	case !last.IsZero():
		at = last
	default:
		at = received
	}
	if at.Sub(received) > maxAhead {
		return received, true
	}
	return at, false
}
