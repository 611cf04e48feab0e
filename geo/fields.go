package geo

import (
	"bytes"

	"github.com/go-json-experiment/json/jsontext"
)

// fields are the members of one object that can matter, as spans of the body.
// A nil span was not sent; of a name given twice the last one stands.
type fields struct {
	deviceID, deliveryID, sensorType        []byte
	position, latitude, longitude, altitude []byte
	time, speed, heading, battery, hdop     []byte

	kind, id, geometry, coordinates, properties, features []byte // GeoJSON

	body, systemProperties          []byte // the envelope of a routed message
	hubDevice, hubModule, hubSource []byte // its system properties
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

	// Routing to storage and the hub's annotations name the same things differently.
	case "iothub-connection-device-id", "connectionDeviceId":
		f.hubDevice = value
	case "iothub-connection-module-id", "connectionModuleId":
		f.hubModule = value
	case "iothub-message-source", "messageSource":
		f.hubSource = value
	}
}

// isNull reports whether a member is absent or null: both say nothing.
func isNull(value []byte) bool { return len(value) == 0 || value[0] == 'n' }

// isText reports whether a value is the given string.
func isText(value []byte, text string) bool {
	switch {
	case len(value) < len(text)+2 || value[0] != '"':
		return false
	case len(value) == len(text)+2:
		return string(value[1:len(value)-1]) == text
	case len(value) > 6*len(text)+2: // an escape is at most six times what it stands for
		return false
	default:
		return string(unquote(value)) == text
	}
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
	case c == '-' || isDigit(c):
		// The grammar of JSON is that of text, but for an exponent.
		if f, ok := parseText(value); ok {
			return f, true
		}
		return parseFinite(value)
	default:
		return unknown, false
	}
}

// within reads a number of minor importance: one that is no number, or beyond
// the range in the unit of documents, is unknown.
func within(value []byte, unit scale, low, high float64) float64 {
	f, ok := number(value)
	if !ok {
		return unknown
	}
	return inRange(unit.of(f), low, high)
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
		if !isDigit(c) && (c != '-' || i > 0) {
			return nil, false
		}
	}
	return value, true
}
