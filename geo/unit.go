package geo

import (
	"math"
	"strconv"
	"strings"
)

// Unit is the unit of a number: a name, or a decimal factor to the unit that
// documents have. An empty Unit is that unit.
type Unit string

// scale turns a number in one unit into another: f * times / by, so that units
// such as 1e-7 degrees, whose factor a float64 cannot hold, come out exact. The
// zero scale leaves a number as it was sent.
type scale struct{ times, by float64 }

func (s scale) of(f float64) float64 {
	if s.by == 0 {
		return f
	}
	return f * s.times / s.by
}

// kilometresPerHour is the unit of speed in tracker lines.
var kilometresPerHour = scale{1, 3.6}

// units are the scales of everything that has a unit.
type units struct{ coordinates, altitude, speed, heading, battery scale }

type namedUnit struct {
	name  string
	scale scale
}

// scale returns the scale of a unit, one of names or a positive factor.
func (u Unit) scale(names []namedUnit) (scale, bool) {
	if u == "" {
		return scale{}, true
	}
	for _, named := range names {
		if string(u) == named.name {
			return named.scale, true
		}
	}
	factor, err := strconv.ParseFloat(string(u), 64)
	if err != nil || factor <= 0 || !finite(factor) {
		return scale{}, false
	}
	if inverse := math.Round(1 / factor); 1/inverse == factor {
		return scale{times: 1, by: inverse}, true
	}
	return scale{times: factor, by: 1}, true
}

// allowedUnits says in words what scale takes.
func allowedUnits(names []namedUnit) string {
	words := make([]string, len(names))
	for i, named := range names {
		words[i] = named.name
	}
	return strings.Join(words, ", ") + " or a positive factor"
}
