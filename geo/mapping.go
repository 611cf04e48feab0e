package geo

import (
	"fmt"
	"strings"

	"github.com/go-json-experiment/json/jsontext"
)

// Mapping says where positions of another shape keep their fields, and in which
// units. The zero Mapping changes nothing.
//
// Fields are JSON Pointers (RFC 6901) from the object of one position. A
// pointer outranks the names that are read without it; where it leads nowhere,
// those names count as before, so that a fleet may mix shapes.
type Mapping struct {
	DeviceID   string
	DeliveryID string
	Latitude   string // goes with Longitude
	Longitude  string
	Altitude   string
	Time       string // RFC 3339, or a number of seconds or milliseconds since 1970
	Speed      string
	Heading    string
	Battery    string

	// Units of numbers in JSON, mapped or not, other than the position text of
	// the reference form and GeoJSON coordinates, whose units are given.
	CoordinateUnit Unit // deg, or a factor to degrees such as 1e-7
	AltitudeUnit   Unit // m, cm, mm, ft, or a factor to metres
	SpeedUnit      Unit // m/s, cm/s, km/h, kn, mph, or a factor to metres per second
	HeadingUnit    Unit // deg, cdeg, or a factor to degrees
	BatteryUnit    Unit // share, percent, or a factor to a share of 1
}

// fields lists the pointers with the names and places of their fields.
func (m *Mapping) fields() []mappedField {
	return []mappedField{
		{"DeviceID", m.DeviceID, func(f *fields) *[]byte { return &f.deviceID }},
		{"DeliveryID", m.DeliveryID, func(f *fields) *[]byte { return &f.deliveryID }},
		{"Latitude", m.Latitude, func(f *fields) *[]byte { return &f.latitude }},
		{"Longitude", m.Longitude, func(f *fields) *[]byte { return &f.longitude }},
		{"Altitude", m.Altitude, func(f *fields) *[]byte { return &f.altitude }},
		{"Time", m.Time, func(f *fields) *[]byte { return &f.time }},
		{"Speed", m.Speed, func(f *fields) *[]byte { return &f.speed }},
		{"Heading", m.Heading, func(f *fields) *[]byte { return &f.heading }},
		{"Battery", m.Battery, func(f *fields) *[]byte { return &f.battery }},
	}
}

type mappedField struct {
	name, pointer string
	place         place
}

// validate refuses what a mapper cannot be made of.
func (m *Mapping) validate(refuse func(field string, value any, allowed string)) {
	mapped := m.fields()
	for i, f := range mapped {
		if f.pointer == "" {
			continue
		}
		if f.pointer[0] != '/' || !jsontext.Pointer(f.pointer).IsValid() {
			refuse("Mapping."+f.name, f.pointer, "a JSON Pointer such as /gps/lat")
		}
		for _, other := range mapped[:i] {
			if strings.HasPrefix(f.pointer, other.pointer+"/") && other.pointer != "" || strings.HasPrefix(other.pointer, f.pointer+"/") {
				refuse("Mapping."+f.name, f.pointer, fmt.Sprintf("a value beside that of %s, %q, not within it", other.name, other.pointer))
			}
		}
	}
	if (m.Latitude == "") != (m.Longitude == "") {
		refuse("Mapping.Latitude", m.Latitude, fmt.Sprintf("a pointer together with one for Longitude, which is %q", m.Longitude))
	}
	var u units
	for _, setting := range m.settings(&u) {
		if _, ok := setting.unit.scale(setting.names); !ok {
			refuse("Mapping."+setting.name, setting.unit, allowedUnits(setting.names))
		}
	}
}

// unitSetting is a setting of a unit: the names it can have, and the scale it sets.
type unitSetting struct {
	name  string
	unit  Unit
	names []namedUnit
	scale *scale
}

func (m *Mapping) settings(u *units) []unitSetting {
	return []unitSetting{
		{"CoordinateUnit", m.CoordinateUnit, []namedUnit{{"deg", scale{}}}, &u.coordinates},
		{"AltitudeUnit", m.AltitudeUnit, []namedUnit{
			{"m", scale{}}, {"cm", scale{1, 100}}, {"mm", scale{1, 1000}}, {"ft", scale{0.3048, 1}},
		}, &u.altitude},
		{"SpeedUnit", m.SpeedUnit, []namedUnit{
			{"m/s", scale{}}, {"cm/s", scale{1, 100}}, {"km/h", kilometresPerHour}, {"kn", scale{1852, 3600}}, {"mph", scale{0.44704, 1}},
		}, &u.speed},
		{"HeadingUnit", m.HeadingUnit, []namedUnit{{"deg", scale{}}, {"cdeg", scale{1, 100}}}, &u.heading},
		{"BatteryUnit", m.BatteryUnit, []namedUnit{{"share", scale{}}, {"percent", scale{1, 100}}}, &u.battery},
	}
}

// units returns the scales of the units that are set, which are valid.
func (m *Mapping) units() (u units) {
	for _, setting := range m.settings(&u) {
		*setting.scale, _ = setting.unit.scale(setting.names)
	}
	return u
}
