package fleet

import "math/rand/v2"

// purpose keeps apart what is drawn for different things, so that a new use of
// chance does not change what the others draw.
type purpose uint64

const (
	forCity purpose = iota + 1
	forDrone
	forDelivery
	forEvent
)

// chance is a source of numbers that can be set to any point of any drone's
// life. It is not safe for concurrent use.
type chance struct {
	pcg *rand.PCG
	*rand.Rand
}

func newChance() *chance {
	pcg := rand.NewPCG(0, 0)
	return &chance{pcg: pcg, Rand: rand.New(pcg)}
}

// set makes the numbers that follow a function of the arguments alone.
func (c *chance) set(seed uint64, p purpose, drone, n int) {
	c.pcg.Seed(mix(seed+uint64(p)), mix(uint64(drone)<<40^uint64(n)))
}

// between draws from low up to but not including high.
func (c *chance) between(low, high float64) float64 { return low + (high-low)*c.Float64() }

// mix makes neighbouring numbers differ in half of their bits, so that
// neighbouring drones have nothing in common. The constants are those of the
// SplitMix64 finalizer (Steele, Lea and Flood, 2014, section 5).
func mix(x uint64) uint64 {
	x += 0x9e3779b97f4a7c15
	x = (x ^ x>>30) * 0xbf58476d1ce4e5b9
	x = (x ^ x>>27) * 0x94d049bb133111eb
	return x ^ x>>31
}
