package sql

import (
	"errors"

	"warmpath/internal/emulator/cosmos/earth"
)

var (
	errDistance = errors.New("ST_DISTANCE is supported where one argument is a Point and the other a Point, LineString, Polygon or MultiPolygon")
	errWithin   = errors.New("ST_WITHIN is supported of a Point in a Polygon or MultiPolygon")
)

// spatial is a function of two geometries; it is undefined if one of them is
// none. A geometry in the query itself is read once and not for every document.
type spatial struct {
	apply       func(left, right *geometry) (value, error)
	left, right expr
	fixedLeft   *geometry
	fixedRight  *geometry
}

func newSpatial(apply func(left, right *geometry) (value, error), left, right expr) expr {
	fixed := func(e expr) *geometry {
		if c, ok := e.(constant); ok {
			if g, ok := geometryOf(c.v); ok {
				return &g
			}
		}
		return nil
	}
	return spatial{apply, left, right, fixed(left), fixed(right)}
}

func (e spatial) eval(doc []byte) (value, error) {
	left, okL, err := argument(e.left, e.fixedLeft, doc)
	if err != nil {
		return value{}, err
	}
	right, okR, err := argument(e.right, e.fixedRight, doc)
	if err != nil || !okL || !okR {
		return value{}, err
	}
	return e.apply(left, right)
}

// argument is the geometry that an expression comes to; it is not ok for
// something else.
func argument(e expr, fixed *geometry, doc []byte) (g *geometry, ok bool, err error) {
	if fixed != nil {
		return fixed, true, nil
	}
	v, err := e.eval(doc)
	if err != nil {
		return nil, false, err
	}
	read, ok := geometryOf(v)
	return &read, ok, nil
}

// distance is the distance of two geometries in metres.
func distance(left, right *geometry) (value, error) {
	if left.kind != geometryPoint {
		left, right = right, left
	}
	if left.kind != geometryPoint {
		return value{}, errDistance
	}
	p := left.point
	switch right.kind {
	case geometryPoint:
		return numberValue(earth.Distance(p, right.point)), nil
	case geometryLine:
		return numberValue(earth.DistanceToLine(p, right.line)), nil
	default:
		best := -1.0
		for _, polygon := range right.polygons {
			if polygon.Contains(p) {
				return numberValue(0), nil
			}
			for _, ring := range polygon.Rings() {
				if d := earth.DistanceToLine(p, ring); best < 0 || d < best {
					best = d
				}
			}
		}
		return numberValue(best), nil
	}
}

// within tells whether a point lies in an area.
func within(inner, outer *geometry) (value, error) {
	if inner.kind != geometryPoint || outer.kind != geometryArea {
		return value{}, errWithin
	}
	for _, polygon := range outer.polygons {
		if polygon.Contains(inner.point) {
			return boolValue(true), nil
		}
	}
	return boolValue(false), nil
}

type geometryKind uint8

const (
	geometryPoint geometryKind = iota
	geometryLine
	geometryArea
)

// geometry is a GeoJSON geometry (RFC 7946).
type geometry struct {
	kind     geometryKind
	point    earth.Point
	line     []earth.Point
	polygons []earth.Polygon
}

// geometryOf reads a geometry; ok is false for what is none, which makes a
// spatial function undefined.
func geometryOf(v value) (g geometry, ok bool) {
	kind, coordinates := v.member("type"), v.member("coordinates")
	if kind.kind != text {
		return g, false
	}
	switch string(kind.text) {
	case "Point":
		g.point, ok = pointOf(coordinates)
	case "LineString":
		g.kind = geometryLine
		g.line, ok = lineOf(coordinates)
		ok = ok && len(g.line) >= 2
	case "Polygon":
		g.kind = geometryArea
		var p earth.Polygon
		p, ok = polygonOf(coordinates)
		g.polygons = []earth.Polygon{p}
	case "MultiPolygon":
		g.kind = geometryArea
		for e := range coordinates.elements {
			p, good := polygonOf(e)
			if !good {
				return g, false
			}
			g.polygons = append(g.polygons, p)
		}
		ok = len(g.polygons) > 0
	}
	return g, ok
}

// pointOf reads a position: longitude, latitude and perhaps an altitude.
func pointOf(v value) (earth.Point, bool) {
	var c [3]float64
	n := 0
	for e := range v.elements {
		if e.kind != number || n == len(c) {
			return earth.Point{}, false
		}
		c[n] = e.num
		n++
	}
	p := earth.Point{Lon: c[0], Lat: c[1]}
	return p, n >= 2 && p.Valid()
}

func lineOf(v value) ([]earth.Point, bool) {
	var line []earth.Point
	for e := range v.elements {
		p, ok := pointOf(e)
		if !ok {
			return nil, false
		}
		line = append(line, p)
	}
	return line, v.kind == array
}

// polygonOf reads a polygon: an outer ring and holes.
func polygonOf(v value) (earth.Polygon, bool) {
	var rings [][]earth.Point
	for e := range v.elements {
		ring, ok := lineOf(e)
		if !ok {
			return earth.Polygon{}, false
		}
		rings = append(rings, ring)
	}
	return earth.NewPolygon(rings)
}
