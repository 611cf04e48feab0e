package geo

import (
	"bytes"
	"time"
	"unsafe"

	"github.com/go-json-experiment/json/jsontext"
)

// fields are the members of one object that can matter, as spans of the body.
// A nil span was not sent; of a name given twice the last one stands.
type fields struct {
	deviceID, deliveryID, sensorType        []byte
	position, latitude, longitude, altitude []byte
	time, speed, heading, battery, hdop     []byte

	kind, id, geometry, coordinates, properties, features []byte // GeoJSON
	body, systemProperties                                []byte // a routed message's envelope
}

// set keeps the value of a member. Names are case-sensitive.
func (f *fields) set(name, value []byte) {
	switch string(name) {
	case "deviceId":
		f.deviceID = value
	case "deliveryId":
		f.deliveryID = value
	case "sensorType":
		f.sensorType = value
	case "position":
		f.position = value
	case "latitude", "lat":
		f.latitude = value
	case "longitude", "lon", "lng":
		f.longitude = value
	case "altitude", "alt":
		f.altitude = value
	case "occurrenceUtcTime", "timestamp", "time":
		f.time = value
	case "speed", "velocity":
		f.speed = value
	case "heading", "course":
		f.heading = value
	case "battery":
		f.battery = value
	case "hdop":
		f.hdop = value
	case "type":
		f.kind = value
	case "id":
		f.id = value
	case "geometry":
		f.geometry = value
	case "properties":
		f.properties = value
	case "coordinates":
		f.coordinates = value
	case "features":
		f.features = value
	case "Body":
		f.body = value
	case "SystemProperties":
		f.systemProperties = value
	}
}

// isNull reports whether a member is absent or null: both say nothing.
func isNull(value []byte) bool { return len(value) == 0 || value[0] == 'n' }

// isText reports whether a value is the given string.
func isText(value []byte, text string) bool {
	if len(value) == len(text)+2 && value[0] == '"' {
		return string(value[1:len(value)-1]) == text
	}
	if len(value) == 0 || value[0] != '"' || bytes.IndexByte(value, '\\') < 0 {
		return false
	}
	return string(unquote(value)) == text
}

// unquote returns the text of a JSON string, in place unless it has escapes.
func unquote(value []byte) []byte {
	if bytes.IndexByte(value, '\\') < 0 {
		return value[1 : len(value)-1]
	}
	text, _ := jsontext.AppendUnquote(nil, value) // read as a value before: it is valid
	return text
}

// number reads a JSON number, or a number in text. A number that is not sent is
// no number either.
func number(value []byte) (float64, bool) {
	if len(value) == 0 {
		return unknown, false
	}
	switch c := value[0]; {
	case c == '"':
		return parseText(unquote(value))
	case c == '-' || c >= '0' && c <= '9':
		return parseFinite(value)
	default:
		return unknown, false
	}
}

// within reads a number of minor importance: one that is no number or beyond
// the range is unknown.
func within(value []byte, low, high float64) float64 {
	f, _ := number(value)
	return inRange(f, low, high)
}

// inRange returns f, or unknown if f is beyond the range.
func inRange(f, low, high float64) float64 {
	if f >= low && f <= high {
		return f
	}
	return unknown
}

// compass returns degrees clockwise from north. Those who count from -180 to
// 180 mean the same circle.
func compass(degrees float64) float64 {
	if degrees < 0 {
		return inRange(degrees+360, 180, 360)
	}
	return inRange(degrees, 0, 360)
}

// Numbers of time above the bound are milliseconds since 1970, others seconds:
// as seconds it lies in the year 5138, as milliseconds in 1973.
const millisBound = 1e11

// deviceTime reads RFC 3339, the same without a zone (which devices mean as
// UTC), or a number since 1970. A time that cannot be read is unknown: it never
// decides anything.
func deviceTime(value []byte) time.Time {
	if len(value) == 0 {
		return time.Time{}
	}
	if value[0] == '"' {
		return parseTime(unquote(value))
	}
	f, ok := number(value)
	switch {
	case !ok || f <= 0 || f >= 1e15:
		return time.Time{}
	case f >= millisBound:
		return time.UnixMilli(int64(f)).UTC()
	default:
		return time.UnixMilli(int64(f * 1000)).UTC()
	}
}

func parseTime(text []byte) time.Time {
	var t time.Time
	if t.UnmarshalText(text) == nil {
		return t.UTC()
	}
	// The string lives only as long as the call, and nobody writes text meanwhile.
	t, err := time.Parse("2006-01-02T15:04:05", unsafe.String(unsafe.SliceData(text), len(text)))
	if err != nil {
		return time.Time{}
	}
	return t
}

// Errors of whole events and of ids. They quote nothing: the dead letter carries the body.
const (
	errNotTelemetry = errText("the message source is not Telemetry")
	errNoID         = errText("neither the hub nor the body names the device")
	errIDs          = errText("device id is neither text nor an integer")
	errMany         = errText("a device names several devices in one event, and is no gateway")
	errNoKey        = errText("the body has no text at the container's partition key path")
	errKey          = errText("the value at the container's partition key path is no text")
)

// idText reads an id: text, or an integer as it was sent. Null and the empty
// text are no id. Any other type is not ok.
func idText(value []byte) (id []byte, ok bool) {
	if isNull(value) {
		return nil, true
	}
	if value[0] == '"' {
		return unquote(value), true
	}
	for i, c := range value {
		if (c < '0' || c > '9') && (c != '-' || i > 0) {
			return nil, false
		}
	}
	return value, true
}
