package fleet

import "math"

// metresPerDegree is a degree of latitude on a sphere with the mean radius of
// the earth, 6,371,008.8 m.
const metresPerDegree = 6_371_008.8 * math.Pi / 180

// city is where the drones fly: a flat disk around its centre. The earth is not
// flat, which makes true distances differ by up to 2.2 %, at the greatest radius
// and latitude that Config allows; around Redmond it is 0.14 %.
type city struct {
	longitude, latitude float64
	metresPerLongitude  float64
	radius              float64
	depots              []vector
}

const (
	depotCount = 5
	// depotSpread is the part of the radius within which the depots lie.
	depotSpread = 0.4
	// depotSize is how far from its middle a drone may have its pad, in metres.
	depotSize = 40
)

func newCity(cfg *Config) *city {
	c := &city{
		longitude:          cfg.Longitude,
		latitude:           cfg.Latitude,
		metresPerLongitude: metresPerDegree * math.Cos(cfg.Latitude*math.Pi/180),
		radius:             cfg.Radius,
	}
	draw := newChance()
	draw.set(cfg.Seed, forCity, 0, 0)
	for range depotCount {
		c.depots = append(c.depots, somewhere(draw, depotSpread*c.radius-depotSize))
	}
	return c
}

// somewhere draws a place of a disk, all of its places being equally likely.
func somewhere(draw *chance, radius float64) vector {
	bearing := draw.between(0, 2*math.Pi)
	return polar(bearing, radius*math.Sqrt(draw.Float64()))
}

// degrees converts a place to longitude and latitude with six decimals, which
// is as fine as the drones report: 11 cm.
func (c *city) degrees(v vector) (longitude, latitude float64) {
	longitude = c.longitude + v.east/c.metresPerLongitude
	if longitude > 180 {
		longitude -= 360
	} else if longitude < -180 {
		longitude += 360
	}
	return round(longitude, 1e6), round(c.latitude+v.north/metresPerDegree, 1e6)
}

// round rounds to a decimal place: 1e6 is six decimals. The result is the
// number that the decimal text of it reads back as. It is never negative zero.
func round(f, scale float64) float64 { return math.Round(f*scale)/scale + 0 }
