package earth

import (
	"math"
	"testing"
)

// The first two distances are those that Microsoft's reference page of
// ST_DISTANCE shows; the others are published geodesics of WGS 84.
func TestDistance(t *testing.T) {
	office := Point{-122.11758113953535, 47.66901087006131}
	tests := []struct {
		name string
		p, q Point
		want float64
		tol  float64
	}{
		{"headquarters", Point{-122.12826822304672, 47.63980239335718}, office, 3345.269817267368, 0.001},
		{"across the country", Point{-96.84368664765994, 46.81297794314663}, office, 1907438.421299902, 0.1},
		{"a degree of the equator", Point{0, 0}, Point{1, 0}, 111319.491, 0.001},
		{"a degree of the meridian at the equator", Point{0, 0}, Point{0, 1}, 110574.389, 0.001},
		{"over the antimeridian", Point{179.5, 0}, Point{-179.5, 0}, 111319.491, 0.001},
		{"pole to pole", Point{0, 90}, Point{0, -90}, 20003931.459, 0.001},
		{"the same place", Point{5, 5}, Point{5, 5}, 0, 0},
		{"antipodes", Point{0, 0}, Point{180, 0}, 20003931, 0.005 * 20003931},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			for _, got := range []float64{Distance(tt.p, tt.q), Distance(tt.q, tt.p)} {
				if math.Abs(got-tt.want) > tt.tol {
					t.Errorf("distance %.6f, want %.6f", got, tt.want)
				}
			}
		})
	}
}

func TestDistanceToLine(t *testing.T) {
	line := []Point{{0, 0}, {10, 0}, {10, 10}}
	tests := []struct {
		name string
		p    Point
		want Point // nearest
	}{
		{"beside an edge", Point{5, 1}, Point{5, 0}},
		{"beyond an end", Point{-1, 0}, Point{0, 0}},
		{"at a corner", Point{11, -1}, Point{10, 0}},
		{"on the line", Point{7, 0}, Point{7, 0}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if got, want := DistanceToLine(tt.p, line), Distance(tt.p, tt.want); math.Abs(got-want) > 1 {
				t.Errorf("distance %.1f, want %.1f", got, want)
			}
		})
	}
}

func square(west, south, east, north float64) []Point {
	return []Point{{west, south}, {east, south}, {east, north}, {west, north}, {west, south}}
}

func reversed(points []Point) []Point {
	out := make([]Point, 0, len(points))
	for i := range points {
		out = append(out, points[len(points)-1-i])
	}
	return out
}

func TestContains(t *testing.T) {
	city := square(-123, 47, -121, 48)
	tests := []struct {
		name  string
		rings [][]Point
		p     Point
		want  bool
	}{
		{"inside", [][]Point{city}, Point{-122, 47.5}, true},
		{"outside to the east", [][]Point{city}, Point{-120, 47.5}, false},
		{"outside to the north", [][]Point{city}, Point{-122, 48.5}, false},
		{"the antipode of the inside", [][]Point{city}, Point{58, -47.5}, false},
		{"a corner", [][]Point{city}, Point{-123, 47}, true},
		{"clockwise is the rest of the world", [][]Point{reversed(city)}, Point{-122, 47.5}, false},
		{"clockwise contains what is far away", [][]Point{reversed(city)}, Point{10, 10}, true},
		{"in a hole", [][]Point{city, reversed(square(-122.2, 47.4, -121.8, 47.6))}, Point{-122, 47.5}, false},
		{"beside a hole", [][]Point{city, square(-122.2, 47.4, -121.8, 47.6)}, Point{-122.5, 47.5}, true},
		{"over the antimeridian", [][]Point{square(179, -1, -179, 1)}, Point{-179.5, 0}, true},
		{"beside the antimeridian", [][]Point{square(179, -1, -179, 1)}, Point{-178.5, 0}, false},
		{"north of a long edge, under its great circle", [][]Point{square(0, 50, 60, 60)}, Point{30, 61}, true},
		{"a star's notch", [][]Point{{{0, 0}, {4, 0}, {4, 4}, {2, 1}, {0, 4}, {0, 0}}}, Point{2, 2}, false},
		{"a star's arm", [][]Point{{{0, 0}, {4, 0}, {4, 4}, {2, 1}, {0, 4}, {0, 0}}}, Point{3.9, 3}, true},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			polygon, ok := NewPolygon(tt.rings)
			if !ok {
				t.Fatal("not a polygon")
			}
			if got := polygon.Contains(tt.p); got != tt.want {
				t.Errorf("Contains(%v) = %v, want %v", tt.p, got, tt.want)
			}
		})
	}
	for _, rings := range [][][]Point{nil, {{{0, 0}, {1, 0}, {0, 0}}}, {{{0, 0}, {1, 0}, {1, 1}, {0, 1}}}} {
		if _, ok := NewPolygon(rings); ok {
			t.Errorf("%v was taken for a polygon", rings)
		}
	}
}
