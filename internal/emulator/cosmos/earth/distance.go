// Package earth measures on the WGS 84 ellipsoid: how far two points are apart,
// and whether a point lies inside a polygon.
//
// Distances between points are those of the geodesic. Edges of lines and
// polygons are great-circle arcs, which differ from geodesics by less than what
// a position fix is good for, except over continents.
//
// All functions are pure and safe for concurrent use.
package earth

import "math"

// Point is a position in degrees.
type Point struct{ Lon, Lat float64 }

// Valid tells whether the point is a place on Earth.
func (p Point) Valid() bool {
	return p.Lon >= -180 && p.Lon <= 180 && p.Lat >= -90 && p.Lat <= 90
}

// The WGS 84 ellipsoid.
const (
	equatorRadius = 6378137.0 // metres
	flattening    = 1 / 298.257223563
	polarRadius   = equatorRadius * (1 - flattening)
	meanRadius    = 6371008.8
)

// Distance is the length of the geodesic between two points in metres, by
// Vincenty's inverse formula (T. Vincenty, Survey Review XXIII 176, 1975), good
// to a millimetre. For nearly antipodal points, where it does not converge, it
// is the distance on a sphere, good to half a per cent.
func Distance(p, q Point) float64 {
	if p == q {
		return 0
	}
	l := radians(q.Lon - p.Lon)
	sinU1, cosU1 := math.Sincos(math.Atan((1 - flattening) * math.Tan(radians(p.Lat))))
	sinU2, cosU2 := math.Sincos(math.Atan((1 - flattening) * math.Tan(radians(q.Lat))))

	lambda := l
	for range 100 {
		sinL, cosL := math.Sincos(lambda)
		sinSigma := math.Hypot(cosU2*sinL, cosU1*sinU2-sinU1*cosU2*cosL)
		if sinSigma == 0 {
			return 0
		}
		cosSigma := sinU1*sinU2 + cosU1*cosU2*cosL
		sigma := math.Atan2(sinSigma, cosSigma)
		sinAlpha := cosU1 * cosU2 * sinL / sinSigma
		cos2Alpha := 1 - sinAlpha*sinAlpha
		cos2SigmaM := 0.0 // on the equator
		if cos2Alpha > 0 {
			cos2SigmaM = cosSigma - 2*sinU1*sinU2/cos2Alpha
		}
		c := flattening / 16 * cos2Alpha * (4 + flattening*(4-3*cos2Alpha))
		m := -1 + 2*cos2SigmaM*cos2SigmaM
		next := l + (1-c)*flattening*sinAlpha*(sigma+c*sinSigma*(cos2SigmaM+c*cosSigma*m))
		if math.Abs(next-lambda) > 1e-12 {
			lambda = next
			continue
		}
		u2 := cos2Alpha * (equatorRadius*equatorRadius - polarRadius*polarRadius) / (polarRadius * polarRadius)
		a := 1 + u2/16384*(4096+u2*(-768+u2*(320-175*u2)))
		b := u2 / 1024 * (256 + u2*(-128+u2*(74-47*u2)))
		delta := b * sinSigma * (cos2SigmaM + b/4*(cosSigma*m-b/6*cos2SigmaM*(-3+4*sinSigma*sinSigma)*(-3+4*cos2SigmaM*cos2SigmaM)))
		return polarRadius * a * (sigma - delta)
	}
	return meanRadius * angle(p.vector(), q.vector())
}

// DistanceToLine is the distance in metres from a point to the nearest point of
// a line of at least one point.
func DistanceToLine(p Point, line []Point) float64 {
	if len(line) == 0 {
		return math.NaN()
	}
	best, nearest := math.Inf(1), line[0]
	v := p.vector()
	for i := range line {
		candidate := line[i]
		if i > 0 {
			candidate = nearestOnArc(v, line[i-1], line[i])
		}
		if a := angle(v, candidate.vector()); a < best {
			best, nearest = a, candidate
		}
	}
	return Distance(p, nearest)
}

// nearestOnArc is the point of a great-circle arc that is nearest to v.
func nearestOnArc(v vector, a, b Point) Point {
	va, vb := a.vector(), b.vector()
	normal := va.cross(vb)
	if n := normal.length(); n > 0 {
		normal = normal.scale(1 / n)
		foot := v.minus(normal.scale(v.dot(normal))) // v's place in the arc's plane
		if n := foot.length(); n > 0 && va.cross(foot).dot(normal) >= 0 && foot.cross(vb).dot(normal) >= 0 {
			return foot.scale(1 / n).point()
		}
	}
	if angle(v, va) <= angle(v, vb) {
		return a
	}
	return b
}

// vector is a direction from the centre of a sphere.
type vector struct{ x, y, z float64 }

func (p Point) vector() vector {
	sinLat, cosLat := math.Sincos(radians(p.Lat))
	sinLon, cosLon := math.Sincos(radians(p.Lon))
	return vector{cosLat * cosLon, cosLat * sinLon, sinLat}
}

func (v vector) point() Point {
	return Point{Lon: degrees(math.Atan2(v.y, v.x)), Lat: degrees(math.Atan2(v.z, math.Hypot(v.x, v.y)))}
}

func (v vector) dot(w vector) float64 { return v.x*w.x + v.y*w.y + v.z*w.z }

func (v vector) cross(w vector) vector {
	return vector{v.y*w.z - v.z*w.y, v.z*w.x - v.x*w.z, v.x*w.y - v.y*w.x}
}

func (v vector) minus(w vector) vector  { return vector{v.x - w.x, v.y - w.y, v.z - w.z} }
func (v vector) scale(f float64) vector { return vector{v.x * f, v.y * f, v.z * f} }
func (v vector) length() float64        { return math.Sqrt(v.dot(v)) }
func angle(v, w vector) float64         { return math.Atan2(v.cross(w).length(), v.dot(w)) }
func radians(degrees float64) float64   { return degrees * math.Pi / 180 }
func degrees(radians float64) float64   { return radians * 180 / math.Pi }
