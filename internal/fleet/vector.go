package fleet

import "math"

// vector is a place or a way on the ground, in metres east and north.
type vector struct{ east, north float64 }

// polar is the way of a length into a direction, in radians clockwise from north.
func polar(bearing, length float64) vector {
	s, c := math.Sincos(bearing)
	return vector{s * length, c * length}
}

func (v vector) plus(w vector) vector   { return vector{v.east + w.east, v.north + w.north} }
func (v vector) minus(w vector) vector  { return vector{v.east - w.east, v.north - w.north} }
func (v vector) times(f float64) vector { return vector{v.east * f, v.north * f} }
func (v vector) length() float64        { return math.Hypot(v.east, v.north) }

// heading is the direction of a way in degrees clockwise from north, from 0 up
// to but not including 360.
func (v vector) heading() float64 {
	// Twice round: a tiny angle below zero and 360 add up to 360 exactly.
	return math.Mod(math.Atan2(v.east, v.north)*180/math.Pi+360, 360)
}
