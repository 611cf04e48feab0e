package geo

import (
	"time"

	"github.com/paulmach/orb"
)

// Position is one drone's fix. Numbers that are not known are NaN, texts that
// are not known are empty, an unknown Time is zero.
type Position struct {
	DeviceID   string // as sent, never escaped
	DeliveryID string
	Point      orb.Point // longitude, latitude in degrees, WGS 84
	Altitude   float64   // metres as sent, not converted between datums
	Time       time.Time // when the device says the fix was taken
	Speed      float64   // metres per second over ground, not negative
	Heading    float64   // degrees clockwise from north, 0 to 360
	Battery    float64   // share of a full charge, 0 to 1
	HDOP       float64   // horizontal dilution of precision
	// Gateway is the hub's device id when the sender spoke for another device.
	Gateway string
}

// Source says where in the hub a position came from.
type Source struct {
	Enqueued  time.Time // when the hub took the event; millisecond precision
	Partition string    // of the hub
	Sequence  int64     // sequence number of the event in the partition
	Index     int       // of the position in the event, from 0
}

// Order returns the source's place in the order of positions.
func (s *Source) Order() Order {
	return Order{Enqueued: s.Enqueued.UnixMilli(), Sequence: s.Sequence, Index: s.Index}
}
