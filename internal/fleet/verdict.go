package fleet

// Verdict is what must become of a position that the fleet sent. The texts are
// those of the dropped and dead-lettered counters of the service.
type Verdict uint8

// The verdicts. All but Good keep a position out of the container.
const (
	Good        Verdict = iota
	Stale               // dropped: the hub took it too long ago
	OtherSensor         // dropped: no position in it
	Malformed           // dead-lettered: body or coordinates cannot be read
	OutOfRange          // dead-lettered: beyond the earth

	verdicts = iota // how many there are
)

// String returns the verdict as the counters spell it.
func (v Verdict) String() string {
	switch v {
	case Good:
		return "good"
	case Stale:
		return "stale"
	case OtherSensor:
		return "other_sensor"
	case Malformed:
		return "malformed"
	case OutOfRange:
		return "out_of_range"
	}
	return "unknown"
}
