package fleet

import "time"

// schedule is when drones send and when they measure, as offsets from the start
// of the fleet. It is pure arithmetic: nothing that happens changes it.
type schedule struct {
	drones   int
	interval time.Duration // between two events of a drone
	samples  int           // positions per event
}

// due is when event number n of a drone is to be sent. The phases of the drones
// are spread evenly over one interval, in the order of their numbers.
func (s schedule) due(drone, n int) time.Duration {
	// Divided in two steps: the plain product leaves 63 bits in a large fleet.
	count, i := time.Duration(s.drones), time.Duration(drone)
	phase := s.interval/count*i + s.interval%count*i/count
	return phase + time.Duration(n)*s.interval
}

// measured is when sample k of event number n was taken: the last one when the
// event is due, the others before it at even distances. Those of the very first
// event lie before the phase, some before the start of the fleet.
func (s schedule) measured(drone, n, k int) time.Duration {
	before := time.Duration(s.samples - 1 - k)
	return s.due(drone, n) - s.interval*before/time.Duration(s.samples)
}

// counter numbers the samples of a drone.
func (s schedule) counter(n, k int) int { return n*s.samples + k }

// at is the event at a place in the order of the whole fleet: the events of one
// interval in the order of the drones, then those of the next.
func (s schedule) at(index int) (drone, n int) { return index % s.drones, index / s.drones }

// span is how long the first n events of the fleet take, from the start to the
// time at which the last of them is due.
func (s schedule) span(n int) time.Duration {
	if n < 1 {
		return 0
	}
	return s.due(s.at(n - 1))
}
