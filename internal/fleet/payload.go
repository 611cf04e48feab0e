package fleet

import (
	"math"
	"strconv"
	"time"
)

// Sensor types of the reference form. The second one sends no positions.
const (
	positionSensor = "drone-event-sensor;v1"
	stateSensor    = "drone-state-sensor;v1"
)

// timeLayout is RFC 3339 in UTC with milliseconds.
const timeLayout = "2006-01-02T15:04:05.000Z"

// sample is one measurement of one drone.
type sample struct {
	device              string
	delivery            string // empty without a delivery
	time                time.Time
	longitude, latitude float64
	state               state
	fault               fault // faults of coordinates only
}

// appendPosition appends one position as a JSON object. Ids need no escapes:
// Config.Validate sees to it.
func (f Format) appendPosition(dst []byte, s *sample) []byte {
	dst = append(dst, `{"deviceId":"`...)
	dst = append(dst, s.device...)
	if s.delivery != "" {
		dst = append(dst, `","deliveryId":"`...)
		dst = append(dst, s.delivery...)
	}
	if f == Flat {
		dst = append(dst, `",`...)
		dst = s.appendFlat(dst)
	} else {
		dst = append(dst, `","sensorType":"`+positionSensor+`","position":"`...)
		dst = s.appendReference(dst)
	}
	dst = append(dst, `,"flightStatus":"`...)
	dst = append(dst, statuses[s.state.status]...)
	dst = append(dst, `","occurrenceUtcTime":"`...)
	dst = s.time.AppendFormat(dst, timeLayout)
	return append(dst, `"}`...)
}

func (s *sample) appendReference(dst []byte) []byte {
	switch s.fault {
	case noNumbers:
		dst = append(dst, `n/a|n/a|n/a`...)
	case fewCoordinates:
		dst = appendSigned(dst, s.latitude)
		dst = append(dst, '|')
		dst = appendSigned(dst, s.longitude)
	default:
		dst = appendSigned(dst, s.latitude)
		dst = append(dst, '|')
		dst = appendSigned(dst, s.longitude)
		dst = append(dst, '|')
		dst = strconv.AppendFloat(dst, s.state.altitude, 'f', 2, 64)
	}
	dst = append(dst, `","velocity":`...)
	dst = appendRounded(dst, s.state.speed)
	dst = append(dst, `,"acceleration":`...)
	return appendRounded(dst, s.state.acceleration)
}

func (s *sample) appendFlat(dst []byte) []byte {
	switch s.fault {
	case noNumbers:
		dst = append(dst, `"latitude":"n/a","longitude":"n/a"`...)
	case fewCoordinates:
		dst = append(dst, `"longitude":`...)
		dst = strconv.AppendFloat(dst, s.longitude, 'f', 6, 64)
	default:
		dst = append(dst, `"latitude":`...)
		dst = strconv.AppendFloat(dst, s.latitude, 'f', 6, 64)
		dst = append(dst, `,"longitude":`...)
		dst = strconv.AppendFloat(dst, s.longitude, 'f', 6, 64)
	}
	dst = append(dst, `,"altitude":`...)
	dst = strconv.AppendFloat(dst, s.state.altitude, 'f', 2, 64)
	dst = append(dst, `,"speed":`...)
	dst = appendRounded(dst, s.state.speed)
	dst = append(dst, `,"heading":`...)
	dst = appendRounded(dst, math.Mod(round(s.state.heading, 10), 360))
	dst = append(dst, `,"battery":`...)
	return strconv.AppendFloat(dst, s.state.battery, 'f', 3, 64)
}

// appendStatus appends an operating status, which comes from another sensor of
// the same drone and holds no position.
func (s *sample) appendStatus(dst []byte, temperature float64) []byte {
	dst = append(dst, `{"deviceId":"`...)
	dst = append(dst, s.device...)
	dst = append(dst, `","sensorType":"`+stateSensor+`","temperature":`...)
	dst = appendRounded(dst, temperature)
	dst = append(dst, `,"batteryLevel":`...)
	dst = strconv.AppendFloat(dst, s.state.battery, 'f', 3, 64)
	dst = append(dst, `,"occurrenceUtcTime":"`...)
	dst = s.time.AppendFormat(dst, timeLayout)
	return append(dst, `"}`...)
}

// appendSigned appends a coordinate the way the reference form has it, with
// its sign and six decimals.
func appendSigned(dst []byte, f float64) []byte {
	if f >= 0 {
		dst = append(dst, '+')
	}
	return strconv.AppendFloat(dst, f, 'f', 6, 64)
}

// appendRounded appends a number with one decimal.
func appendRounded(dst []byte, f float64) []byte {
	return strconv.AppendFloat(dst, round(f, 10), 'f', 1, 64)
}
