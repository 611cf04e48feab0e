package fleet

import (
	"math"
	"time"
)

// How a drone flies, in metres and seconds. Cruise speeds are 10 to 15 m/s.
const (
	slowest, fastest = 10.0, 15.0
	acceleration     = 2.0
	climbRate        = 3.0
	sinkRate         = 2.0
	lowest, highest  = 60.0, 120.0 // height of the cruise over the depot
	dropHeight       = 12.0
	shortestDrop     = 20.0 // time over the customer
	longestDrop      = 40.0
	shortestPause    = 60.0 // time at the depot between two deliveries
	longestPause     = 180.0
)

// reserve is the part of the battery that the longest possible delivery leaves.
const reserve = 0.1

// Flight statuses, in the order of a delivery.
var statuses = [...]string{
	"takingOff", "outbound", "descending", "delivering", "climbing", "returning", "landing", "charging",
}

const (
	takingOff = iota
	outbound
	descending
	delivering
	climbing
	returning
	landing
	charging
)

// delivery is one flight from the depot to a customer and home, and the pause
// after it.
type delivery struct {
	number     int
	begin      time.Duration // take-off, from the start of the fleet
	home, drop vector
	speed      float64                // of the cruise
	height     float64                // of the cruise
	ends       [len(statuses)]float64 // of each status, in seconds from the take-off
}

// state is a drone at one moment.
type state struct {
	delivery     int
	status       int
	place        vector
	altitude     float64 // metres over the depot
	speed        float64 // over ground, m/s
	acceleration float64 // along the way, m/s²
	heading      float64 // degrees clockwise from north
	battery      float64 // 0 to 1
}

// carries reports whether the drone still has its parcel.
func (s *state) carries() bool { return s.status <= delivering }

// flight is the life of one drone: delivery after delivery. Where it is at some
// moment depends on the seed alone; asking for rising moments is fast.
type flight struct {
	seed    uint64
	drone   int
	city    *city
	draw    *chance
	home    vector
	depart  float64       // the part of the first delivery that is over at the start
	before  time.Duration // how long before the start it may be asked for
	current delivery
}

func newFlight(cfg *Config, c *city, drone int) *flight {
	f := &flight{seed: cfg.Seed, drone: drone, city: c, draw: newChance(), before: cfg.Interval}
	f.draw.set(f.seed, forDrone, drone, 0)
	f.home = c.depots[f.draw.IntN(len(c.depots))].plus(somewhere(f.draw, depotSize))
	f.depart = f.draw.Float64()
	f.restart()
	return f
}

// restart goes back to the first delivery. Part of it lies before the start, a
// different one for each drone: a fleet does not take off all at once.
func (f *flight) restart() {
	f.plan(0)
	f.current.begin = -f.before - time.Duration(f.depart*float64(f.current.length()))
}

// plan makes a delivery the current one.
func (f *flight) plan(number int) {
	f.draw.set(f.seed, forDelivery, f.drone, number)
	d := delivery{number: number, home: f.home, speed: f.draw.between(slowest, fastest), height: f.draw.between(lowest, highest)}
	for {
		d.drop = somewhere(f.draw, f.city.radius)
		if d.way().length() >= f.city.radius/10 {
			break
		}
	}
	cruise := travelTime(d.way().length(), d.speed)
	end := 0.0
	for status, lasts := range [...]float64{
		takingOff:  d.height / climbRate,
		outbound:   cruise,
		descending: (d.height - dropHeight) / sinkRate,
		delivering: f.draw.between(shortestDrop, longestDrop),
		climbing:   (d.height - dropHeight) / climbRate,
		returning:  cruise,
		landing:    d.height / sinkRate,
		charging:   f.draw.between(shortestPause, longestPause),
	} {
		end += lasts
		d.ends[status] = end
	}
	f.current = d
}

func (d *delivery) way() vector { return d.drop.minus(d.home) }

func (d *delivery) length() time.Duration {
	return time.Duration(d.ends[charging] * float64(time.Second))
}

// at is the drone at a moment, from the start of the fleet on and one interval
// before it.
func (f *flight) at(moment time.Duration) state {
	if moment < f.current.begin {
		f.restart()
	}
	for moment >= f.current.begin+f.current.length() {
		next := f.current.begin + f.current.length()
		f.plan(f.current.number + 1)
		f.current.begin = next
	}
	return f.current.at((moment - f.current.begin).Seconds(), endurance(f.city.radius))
}

// at is the drone some seconds after the take-off.
func (d *delivery) at(t, endurance float64) state {
	s := state{delivery: d.number, place: d.home, heading: d.way().heading()}
	for s.status < charging && t >= d.ends[s.status] {
		s.status++
	}
	begin := 0.0
	if s.status > 0 {
		begin = d.ends[s.status-1]
	}
	t -= begin // since the status began
	if s.status >= descending && s.status <= climbing {
		s.place = d.drop
	}
	switch s.status {
	case takingOff:
		s.altitude = climbRate * t
	case outbound:
		s.altitude = d.height
		s.move(d.home, d.way(), d.speed, t)
	case descending:
		s.altitude = d.height - sinkRate*t
	case delivering:
		s.altitude = dropHeight
	case climbing:
		s.altitude = dropHeight + climbRate*t
	case returning:
		s.altitude = d.height
		s.move(d.drop, d.way().times(-1), d.speed, t)
	case landing:
		s.altitude = d.height - sinkRate*t
	}
	if s.status >= returning {
		s.heading = d.way().times(-1).heading()
	}
	s.battery = 1 - (begin+t)/endurance
	if s.status == charging {
		empty := 1 - begin/endurance
		s.battery = empty + (1-empty)*t/(d.ends[charging]-begin)
	}
	return s
}

// move puts the drone on its way from a place, t seconds after it left.
func (s *state) move(from, way vector, speed, t float64) {
	length := way.length()
	var gone float64
	gone, s.speed, s.acceleration = travel(length, speed, t)
	s.place = from.plus(way.times(gone / length))
}

// travelTime is how long a way of some length takes from rest to rest.
func travelTime(length, speed float64) float64 {
	speed = topSpeed(length, speed)
	return length/speed + speed/acceleration
}

// topSpeed is the speed reached on a way: a short one leaves no room for more.
func topSpeed(length, speed float64) float64 {
	return min(speed, math.Sqrt(length*acceleration))
}

// travel is the way gone after t seconds, and the speed and acceleration then:
// speeding up, cruising, braking.
func travel(length, speed, t float64) (gone, now, change float64) {
	speed = topSpeed(length, speed)
	ramp := speed / acceleration
	left := travelTime(length, speed) - t
	switch {
	case t < ramp:
		return acceleration * t * t / 2, acceleration * t, acceleration
	case left > ramp:
		return speed * (t - ramp/2), speed, 0
	default:
		left = max(left, 0)
		return length - acceleration*left*left/2, acceleration * left, -acceleration
	}
}

// endurance is how many seconds a full battery lasts in a city of some radius.
func endurance(radius float64) float64 {
	way := (1 + depotSpread) * radius
	longest := 2*travelTime(way, slowest) + 2*highest/climbRate + 2*highest/sinkRate + longestDrop
	return longest / (1 - reserve)
}
