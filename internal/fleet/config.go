package fleet

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Format is the form in which a drone writes a position.
type Format string

// The formats.
const (
	// Reference has the coordinates in one text, as in
	// "position":"+47.757084|-121.989734|93.98", and a sensorType.
	Reference Format = "reference"
	// Flat has latitude, longitude and altitude as JSON numbers, and adds
	// heading and battery.
	Flat Format = "flat"
)

// formats are all there are.
func formats() []Format { return []Format{Reference, Flat} }

// Config says what the fleet is like. Two fleets of equal Config and start send
// the same bytes.
type Config struct {
	// Drones is the size of the fleet, 1 to 1,000,000.
	Drones int
	// DevicePrefix begins every device id; the number of the drone follows, at
	// least four digits: drone-0007. 1 to 64 letters, digits, '-', '_' or '.',
	// so that the document id is the device id.
	DevicePrefix string
	// Interval is the time between two events of one drone, up to 24 h. There
	// must be a millisecond for each position of an event.
	Interval time.Duration
	// PositionsPerEvent is the number of positions that a drone collects into
	// one event, 1 to 1,000. They are evenly spread over the interval before
	// the event is due. More than one makes the body a JSON array.
	PositionsPerEvent int
	// Formats are the forms of a position. The drones take turns: drone i
	// writes in format i modulo their number.
	Formats []Format
	// Seed decides everything that looks random.
	Seed uint64

	// Latitude and Longitude, in degrees, are the centre of the city. The
	// latitude is at most 70 degrees either way.
	Latitude, Longitude float64
	// Radius is how far from the centre a drone may be, 500 to 50,000 m.
	Radius float64

	// Percentages of all events, 0 to 100 each and together.
	OtherSensorPercent float64 // operating status of the drone instead of positions
	StalePercent       float64 // taken by an IoT Hub 6 to 15 minutes before it is sent
	MalformedPercent   float64 // of the kinds that fleets really send
	OutOfRangePercent  float64 // one position beyond the earth

	// IoTHub puts the annotations of an IoT Hub on every message, as a message
	// has them that was routed to an Event Hub. Stale messages have them always.
	IoTHub bool
	// OmitDeliveryOnReturn leaves the delivery id out from the drop until the
	// next take-off. A container with the partition key /deliveryId then gets
	// positions that it cannot hold, which the verdicts of this package do not
	// account for.
	OmitDeliveryOnReturn bool
}

// DefaultConfig returns 200 drones around Redmond, Washington, each sending one
// position every 5 s, with a little of everything that is not a good position.
func DefaultConfig() Config {
	return Config{
		Drones:             200,
		DevicePrefix:       "drone-",
		Interval:           5 * time.Second,
		PositionsPerEvent:  1,
		Formats:            []Format{Reference},
		Seed:               1,
		Latitude:           47.674,
		Longitude:          -122.121,
		Radius:             8_000,
		OtherSensorPercent: 2,
		StalePercent:       1,
		MalformedPercent:   1,
	}
}

// Validate returns an error that names every field with a value that is not
// allowed, and what is.
func (c *Config) Validate() error {
	var r refusals
	r.within("Drones", float64(c.Drones), 1, 1_000_000, "")
	if !validPrefix(c.DevicePrefix) {
		r.refuse("DevicePrefix", c.DevicePrefix, "1 to 64 letters, digits, '-', '_' or '.'")
	}
	r.within("PositionsPerEvent", float64(c.PositionsPerEvent), 1, 1_000, "")
	least := time.Duration(max(1, c.PositionsPerEvent)) * time.Millisecond
	if c.Interval < least || c.Interval > 24*time.Hour {
		r.refuse("Interval", c.Interval, fmt.Sprintf("%v (a millisecond for each position) to 24h0m0s", least))
	}
	if len(c.Formats) == 0 {
		r.refuse("Formats", c.Formats, "at least one of reference, flat")
	}
	for i, f := range c.Formats {
		if !slices.Contains(formats(), f) {
			r.refuse("Formats["+strconv.Itoa(i)+"]", f, "reference or flat")
		}
	}
	r.within("Latitude", c.Latitude, -70, 70, " degrees")
	r.within("Longitude", c.Longitude, -180, 180, " degrees")
	r.within("Radius", c.Radius, 500, 50_000, " m")
	r.within("OtherSensorPercent", c.OtherSensorPercent, 0, 100, "")
	r.within("StalePercent", c.StalePercent, 0, 100, "")
	r.within("MalformedPercent", c.MalformedPercent, 0, 100, "")
	r.within("OutOfRangePercent", c.OutOfRangePercent, 0, 100, "")
	if sum := c.OtherSensorPercent + c.StalePercent + c.MalformedPercent + c.OutOfRangePercent; sum > 100 {
		r.refuse("sum of all percentages", sum, "at most 100")
	}
	return r.err()
}

func validPrefix(prefix string) bool {
	return len(prefix) >= 1 && len(prefix) <= 64 && strings.IndexFunc(prefix, func(r rune) bool {
		switch {
		case r >= 'a' && r <= 'z', r >= 'A' && r <= 'Z', r >= '0' && r <= '9', r == '-', r == '_', r == '.':
			return false
		}
		return true
	}) < 0
}

// refusals collects the fields of a configuration that cannot stand.
type refusals []error

func (r *refusals) refuse(field string, value any, allowed string) {
	*r = append(*r, fmt.Errorf("%s is %q, allowed is %s", field, fmt.Sprint(value), allowed))
}

// within refuses a value that is not from low to high. NaN is in no range.
func (r *refusals) within(field string, value, low, high float64, unit string) {
	if value >= low && value <= high {
		return
	}
	r.refuse(field, number(value), number(low)+" to "+number(high)+unit)
}

// lasting refuses a duration that is not from low to high.
func (r *refusals) lasting(field string, value, low, high time.Duration) {
	if value < low || value > high {
		r.refuse(field, value, fmt.Sprintf("%v to %v", low, high))
	}
}

func (r *refusals) err() error { return errors.Join(*r...) }

// number writes a number as people do: no exponent, no digits that say nothing.
func number(f float64) string { return strconv.FormatFloat(f, 'f', -1, 64) }
