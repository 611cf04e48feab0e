package fleet

import (
	"math"
	"testing"
	"time"
)

// distance is the way between two places on the sphere, in metres: the
// haversine formula, which shares nothing with the flat city of the flights.
func distance(lon1, lat1, lon2, lat2 float64) float64 {
	const radian = math.Pi / 180
	a := math.Pow(math.Sin((lat2-lat1)*radian/2), 2) +
		math.Cos(lat1*radian)*math.Cos(lat2*radian)*math.Pow(math.Sin((lon2-lon1)*radian/2), 2)
	return 2 * 6_371_008.8 * math.Asin(math.Sqrt(a))
}

func TestFlightsArePlausible(t *testing.T) {
	for _, place := range []struct {
		name                string
		longitude, latitude float64
		radius              float64
	}{
		{"Redmond", -122.121, 47.674, 8_000},
		{"a village", 0, 0, 500},
		{"the antimeridian", 179.99, -16.8, 20_000},
		{"the far north", 15.6, 70, 50_000},
	} {
		t.Run(place.name, func(t *testing.T) {
			cfg := DefaultConfig()
			cfg.Longitude, cfg.Latitude, cfg.Radius = place.longitude, place.latitude, place.radius
			c := newCity(&cfg)
			for drone := range 3 {
				checkFlight(t, &cfg, c, newFlight(&cfg, c, drone))
			}
		})
	}
}

// checkFlight follows a drone for three hours, second by second.
func checkFlight(t *testing.T, cfg *Config, c *city, f *flight) {
	t.Helper()
	last := f.at(0)
	lastLon, lastLat := c.degrees(last.place)
	seen := map[int]int{}
	for second := 1; second <= 3*3600; second++ {
		now := f.at(time.Duration(second) * time.Second)
		lon, lat := c.degrees(now.place)
		seen[now.status]++

		if lon < -180 || lon > 180 {
			t.Fatalf("drone %d, second %d: longitude %v", f.drone, second, lon)
		}
		if away := distance(cfg.Longitude, cfg.Latitude, lon, lat); away > 1.025*cfg.Radius {
			t.Fatalf("drone %d, second %d: %.0f m from the centre", f.drone, second, away)
		}
		if way := distance(lastLon, lastLat, lon, lat); way > 1.025*fastest+0.2 {
			t.Fatalf("drone %d, second %d: %.1f m in a second", f.drone, second, way)
		}
		if way := distance(lastLon, lastLat, lon, lat); now.status == last.status && math.Abs(way-(now.speed+last.speed)/2) > 1.2 {
			t.Fatalf("drone %d, second %d: %.1f m at %.1f m/s", f.drone, second, way, now.speed)
		}
		if climb := now.altitude - last.altitude; climb > climbRate+0.01 || climb < -sinkRate-0.01 || now.altitude < 0 || now.altitude > highest {
			t.Fatalf("drone %d, second %d: altitude %.1f m after %.1f m", f.drone, second, now.altitude, last.altitude)
		}
		if now.status == last.status && now.acceleration == 0 && (now.status == outbound || now.status == returning) &&
			cruises(cfg) && (now.speed < slowest || now.speed > fastest) {
			t.Fatalf("drone %d, second %d: cruises at %.1f m/s", f.drone, second, now.speed)
		}
		if now.battery < reserve/2 || now.battery > 1 {
			t.Fatalf("drone %d, second %d: battery %.2f", f.drone, second, now.battery)
		}
		if now.heading < 0 || now.heading >= 360 {
			t.Fatalf("drone %d, second %d: heading %v", f.drone, second, now.heading)
		}
		if step := now.status - last.status; step != 0 && step != 1 && (last.status != charging || now.status != takingOff) {
			t.Fatalf("drone %d, second %d: %s after %s", f.drone, second, statuses[now.status], statuses[last.status])
		}
		if step := now.delivery - last.delivery; step != 0 && (step != 1 || now.status != takingOff) {
			t.Fatalf("drone %d, second %d: delivery %d while %s", f.drone, second, now.delivery, statuses[now.status])
		}
		last, lastLon, lastLat = now, lon, lat
	}
	for status, name := range statuses {
		if seen[status] == 0 {
			t.Errorf("drone %d was never %s", f.drone, name)
		}
	}
}

// cruises reports whether a city is wide enough for a cruise on every way.
func cruises(cfg *Config) bool { return cfg.Radius/10 > fastest*fastest/acceleration }

func TestHeadingIsTheWayFlown(t *testing.T) {
	for heading, v := range map[float64]vector{0: {0, 1}, 90: {1, 0}, 180: {0, -1}, 270: {-1, 0}, 45: {5, 5}} {
		if got := v.heading(); math.Abs(got-heading) > 1e-9 {
			t.Errorf("%+v: got %v, want %v", v, got, heading)
		}
	}
}
