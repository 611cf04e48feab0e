package earth

import (
	"math"
	"slices"
)

// Polygon is an area on Earth, bounded by an outer ring and holes. It is
// immutable.
type Polygon struct {
	outer ring
	holes []ring
}

// ring is a closed line that does not cross itself.
type ring struct {
	points    []Point
	clockwise bool
}

// NewPolygon makes a polygon of rings as GeoJSON writes them: the outer one
// first, each of at least four points of which the last is the first again. ok
// is false for other rings.
//
// An outer ring that runs clockwise stands for everything outside of it, as in
// the service. Holes are taken as what they enclose, whichever way they run.
func NewPolygon(rings [][]Point) (p Polygon, ok bool) {
	if len(rings) == 0 {
		return p, false
	}
	for i, points := range rings {
		n := len(points)
		if n < 4 || points[0] != points[n-1] {
			return p, false
		}
		r := ring{points: points, clockwise: area(points) < 0}
		if i == 0 {
			p.outer = r
		} else {
			p.holes = append(p.holes, r)
		}
	}
	return p, true
}

// Rings are the polygon's rings, the outer one first.
func (p Polygon) Rings() [][]Point {
	out := [][]Point{p.outer.points}
	for _, h := range p.holes {
		out = append(out, h.points)
	}
	return out
}

// Contains tells whether a point lies inside. Points on the boundary may be
// told either way, except for corners, which are inside.
func (p Polygon) Contains(q Point) bool {
	if slices.Contains(p.outer.points, q) {
		return true
	}
	if p.outer.encloses(q) == p.outer.clockwise {
		return false
	}
	return !slices.ContainsFunc(p.holes, func(h ring) bool { return h.encloses(q) })
}

// encloses tells whether a point lies in the smaller of the two parts of the
// world that the ring separates: seen from there, the ring goes round once.
func (r ring) encloses(q Point) bool {
	// With q as the pole, the ring goes round as the azimuths of its points do.
	// An edge turns by less than half a circle, as it does not pass q.
	sinLat, cosLat := math.Sincos(radians(q.Lat))
	azimuth := func(p Point) float64 {
		sinD, cosD := math.Sincos(radians(p.Lon - q.Lon))
		sinP, cosP := math.Sincos(radians(p.Lat))
		return math.Atan2(sinD*cosP, cosLat*sinP-sinLat*cosP*cosD)
	}
	turned := 0.0
	last := azimuth(r.points[0])
	for _, p := range r.points[1:] {
		a := azimuth(p)
		turned += math.Remainder(a-last, 2*math.Pi)
		last = a
	}
	// Azimuths run clockwise. Seen from the antipode of an enclosed point the
	// ring goes round as well, but the other way.
	if r.clockwise {
		return turned > math.Pi
	}
	return turned < -math.Pi
}

// area is twice the signed area of a ring in square degrees, positive when it
// runs counter-clockwise. Longitudes are unrolled, so that a ring may cross the
// antimeridian.
func area(points []Point) float64 {
	sum, x := 0.0, 0.0
	for i := 1; i < len(points); i++ {
		next := x + math.Remainder(points[i].Lon-points[i-1].Lon, 360)
		sum += x*points[i].Lat - next*points[i-1].Lat
		x = next
	}
	return sum
}
