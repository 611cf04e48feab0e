package geo

import "errors"

// Reason says why a position is not written. The zero Reason is a good
// position. The values are the attribute values of the dropped and
// dead-lettered counters.
type Reason string

// Reasons for which a position is dropped by policy. MissingPartitionKey is
// dropped or dead-lettered, as the caller is set.
const (
	Stale        Reason = "stale"         // older than the allowed age; decided by the caller
	OtherSensor  Reason = "other_sensor"  // a sensor type that is not configured
	NotTelemetry Reason = "not_telemetry" // a message of the hub itself, such as a twin change
)

// Reasons for which a position is dead-lettered.
const (
	Malformed           Reason = "malformed"             // body, element or coordinates cannot be read
	TooLarge            Reason = "too_large"             // more bytes or positions than one event may unpack to
	OutOfRange          Reason = "out_of_range"          // latitude beyond 90 or longitude beyond 180 degrees
	MissingID           Reason = "missing_id"            // neither the hub nor the body names the device
	BadID               Reason = "bad_id"                // an id of the wrong type or length, or one of several devices
	MissingPartitionKey Reason = "missing_partition_key" // nothing at the container's key path
	BadPartitionKey     Reason = "bad_partition_key"     // no text, or too long, at the container's key path
	Rejected            Reason = "rejected"              // the store refuses the document for good; decided by the sink
	Unreadable          Reason = "unreadable"            // the hub's client cannot hand the event over; decided by the processor
)

// Item is the verdict on one position of an event.
type Item struct {
	// Position is complete when Reason is empty. Otherwise it holds what was
	// known when the verdict fell, in particular the device id, so that a dead
	// letter can name it.
	Position Position
	// DocumentID is the id of the position's document in latest mode: the
	// percent-encoded device id. Set when Reason is empty.
	DocumentID string
	// Key is the partition key value at the configured key path. Set when
	// Reason is empty. For the path /id it is DocumentID; in history mode the
	// caller replaces it by the history id.
	Key string
	// Reason is empty for a good position.
	Reason Reason
	// Err is the detail behind Reason for a dead letter. It never quotes the
	// body beyond the number or id in question.
	Err error
}

// errText is an error without operands: a constant, so that a flood of bad
// payloads allocates nothing for its reasons.
type errText string

func (e errText) Error() string { return string(e) }

// Details of verdicts that are given in more than one place, or outside of
// reading. They quote nothing: the dead letter carries the body.
const (
	errNotTelemetry = errText("the message source is not Telemetry")
	errElement      = errText("element is no object")
	errNoID         = errText("neither the hub nor the body names the device")
	errIDs          = errText("device id is neither text nor an integer")
	errMany         = errText("a device names several devices in one event, and is no gateway")
	errNoKey        = errText("the body has no text at the container's partition key path")
	errKey          = errText("the value at the container's partition key path is no text")
)

// verdict is an error that carries its reason.
type verdict struct {
	reason Reason
	err    error
}

func (v *verdict) Error() string { return v.err.Error() }
func (v *verdict) Unwrap() error { return v.err }

// reasonOf is the reason an error carries, Malformed for any other error.
func reasonOf(err error) Reason {
	if v, ok := errors.AsType[*verdict](err); ok {
		return v.reason
	}
	return Malformed
}
