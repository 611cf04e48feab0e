package geo

import "bytes"

// locateReference reads the position text of the reference form,
// "latitude|longitude|altitude": exactly three numbers.
func locateReference(p *Position, text []byte) error {
	lat, rest, ok1 := bytes.Cut(text, []byte{'|'})
	lon, alt, ok2 := bytes.Cut(rest, []byte{'|'})
	if !ok1 || !ok2 {
		return errText("position has fewer than three fields")
	}
	latitude, ok1 := parseText(lat)
	longitude, ok2 := parseText(lon)
	altitude, ok3 := parseText(alt)
	if !ok1 || !ok2 || !ok3 {
		return errText("position is not three numbers with | between them")
	}
	p.Altitude = altitude
	return p.place(longitude, latitude)
}
