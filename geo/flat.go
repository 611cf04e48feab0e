package geo

import (
	"bytes"
	"fmt"
	"math"

	"github.com/paulmach/orb"
)

// locateFlat reads the coordinates of the reference form, whose position is one
// text, or of flat JSON.
func locateFlat(p *Position, f *fields, u *units) error {
	if len(f.position) > 0 && f.position[0] == '"' {
		return locateReference(p, unquote(f.position))
	}
	lat, ok := number(f.latitude)
	if !ok {
		return errText("latitude is no number")
	}
	lon, ok := number(f.longitude)
	if !ok {
		return errText("longitude is no number")
	}
	if !isNull(f.altitude) {
		if p.Altitude, ok = number(f.altitude); !ok {
			return errText("altitude is no number")
		}
		if p.Altitude = u.altitude.of(p.Altitude); !finite(p.Altitude) {
			return errText("altitude is beyond all numbers")
		}
	}
	return p.place(u.coordinates.of(lon), u.coordinates.of(lat))
}

// locateReference reads the position text of the reference form,
// "latitude|longitude|altitude": exactly three numbers.
func locateReference(p *Position, text []byte) error {
	first, last := bytes.IndexByte(text, '|'), bytes.LastIndexByte(text, '|')
	if first == last {
		return errText("position has fewer than three fields")
	}
	latitude, ok1 := parseText(text[:first])
	longitude, ok2 := parseText(text[first+1 : last])
	altitude, ok3 := parseText(text[last+1:])
	if !ok1 || !ok2 || !ok3 {
		return errText("position is not three numbers with | between them")
	}
	p.Altitude = altitude
	return p.place(longitude, latitude)
}

// place sets the point if it is on the earth, limits included. Null island and
// the antimeridian are places like any other, and stay as they were sent.
func (p *Position) place(lon, lat float64) error {
	if math.Abs(lat) > 90 || math.Abs(lon) > 180 {
		return &verdict{OutOfRange, fmt.Errorf("latitude %v or longitude %v is out of range", lat, lon)}
	}
	p.Point = orb.Point{lon, lat}
	return nil
}

// What lies beyond is a device's way to say that it does not know.
const (
	maxSpeed = 12_000 // metres per second, more than any orbit
	maxHDOP  = 99.99  // what receivers report without a fix
)

// measure reads what is good to know. None of it is a reason to lose the
// position: a value that cannot be is unknown.
func (p *Position) measure(f *fields, u *units) {
	p.Time = deviceTime(f.time)
	p.Speed = within(f.speed, u.speed, 0, maxSpeed)
	p.Heading = compass(within(f.heading, u.heading, -180, 360))
	p.Battery = within(f.battery, u.battery, 0, 1)
	p.HDOP = within(f.hdop, scale{}, 0, maxHDOP)
}
