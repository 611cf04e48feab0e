package fleet

import (
	"fmt"
	"math"
	"slices"
	"sort"
	"sync"
	"time"
)

// Outcome is what became of the sending of an event.
type Outcome struct {
	// Acknowledged says that the hub confirmed that it has the event.
	Acknowledged bool
	// Attempts is how often the event was handed to the hub, the confirmed time
	// included. Each attempt that was not confirmed may have left a copy there.
	Attempts int
}

// Tally counts events and the positions in them.
type Tally struct{ Events, Positions int }

// Totals is what a Census counted.
type Totals struct {
	// Acknowledged is what the hub confirmed, each event once.
	Acknowledged Tally
	// ByVerdict parts the acknowledged positions by what must become of them.
	// An event with positions of several verdicts counts under each of them.
	ByVerdict map[Verdict]Tally
	// Repeated is the part of the acknowledged that took more than one attempt:
	// the hub may hold copies of it.
	Repeated Tally
	// Unacknowledged is what the hub never confirmed, and may hold all the same.
	Unacknowledged Tally
}

// Census remembers every position that was sent: 24 bytes each. It is safe for
// concurrent use.
type Census struct {
	mu     sync.Mutex // covers all below
	drones map[string]*life
	totals [verdicts]Tally
	all    Tally
	again  Tally // Totals.Repeated
	unsure Tally // Totals.Unacknowledged
}

// life is what one drone sent, in order.
type life struct {
	sent   []record
	newest int // the last acknowledged good position in sent, -1 before there is one
}

// record is a Position and its Outcome. Coordinates have six decimals, so that
// they are whole numbers of millionths.
type record struct {
	millis              int64
	longitude, latitude int32
	counter             uint32
	verdict             Verdict
	acknowledged        bool
	attempts            uint8 // 255 stands for any greater number, too
}

// NewCensus returns a census of nothing.
func NewCensus() *Census { return &Census{drones: make(map[string]*life)} }

// Record adds an event that was sent. The events of one drone come in the order
// in which the hub got them. It returns an error, and adds nothing, for a device
// time that is not later than the one before: no document could be told from
// another then. An event that was never handed to the hub is not added.
func (c *Census) Record(e *Event, o Outcome) error {
	if o.Attempts < 1 {
		return nil
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	drone := c.drones[e.DeviceID]
	if drone == nil {
		drone = &life{newest: -1}
		c.drones[e.DeviceID] = drone
	}
	last := int64(math.MinInt64)
	if n := len(drone.sent); n > 0 {
		last = drone.sent[n-1].millis
	}
	for _, p := range e.Positions {
		if now := p.Time.UnixMilli(); now <= last {
			return fmt.Errorf("census of %s: position %d at %s is not later than the one sent before it",
				e.ID(), p.Counter, p.Time.Format(timeLayout))
		}
		last = p.Time.UnixMilli()
	}
	for _, p := range e.Positions {
		if o.Acknowledged && p.Verdict == Good {
			drone.newest = len(drone.sent)
		}
		drone.sent = append(drone.sent, newRecord(p, o))
	}
	c.count(e, o)
	return nil
}

func newRecord(p Position, o Outcome) record {
	return record{
		millis:       p.Time.UnixMilli(),
		longitude:    millionths(p.Longitude),
		latitude:     millionths(p.Latitude),
		counter:      uint32(p.Counter),
		verdict:      p.Verdict,
		acknowledged: o.Acknowledged,
		attempts:     uint8(min(o.Attempts, math.MaxUint8)),
	}
}

// single reports whether the hub has the position exactly once.
func (r *record) single() bool { return r.acknowledged && r.attempts == 1 }

func millionths(degrees float64) int32 { return int32(math.Round(degrees * 1e6)) }

func (r *record) position() Position {
	return Position{
		Counter:   int(r.counter),
		Time:      time.UnixMilli(r.millis).UTC(),
		Verdict:   r.verdict,
		Longitude: float64(r.longitude) / 1e6,
		Latitude:  float64(r.latitude) / 1e6,
	}
}

func (t *Tally) add(positions int) {
	t.Events++
	t.Positions += positions
}

// count adds an event to the totals. The caller holds mu.
func (c *Census) count(e *Event, o Outcome) {
	if !o.Acknowledged {
		c.unsure.add(len(e.Positions))
		return
	}
	c.all.add(len(e.Positions))
	if o.Attempts > 1 {
		c.again.add(len(e.Positions))
	}
	var of [verdicts]int
	for _, p := range e.Positions {
		of[p.Verdict]++
	}
	for v, n := range of {
		if n > 0 {
			c.totals[v].add(n)
		}
	}
}

// Totals returns what was counted so far.
func (c *Census) Totals() Totals {
	c.mu.Lock()
	defer c.mu.Unlock()
	t := Totals{Acknowledged: c.all, Repeated: c.again, Unacknowledged: c.unsure, ByVerdict: make(map[Verdict]Tally, verdicts)}
	for v, tally := range c.totals {
		t.ByVerdict[Verdict(v)] = tally
	}
	return t
}

// Devices returns the ids of all drones that sent something, sorted.
func (c *Census) Devices() []string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.devices()
}

func (c *Census) devices() []string {
	ids := make([]string, 0, len(c.drones))
	for id := range c.drones {
		ids = append(ids, id)
	}
	slices.Sort(ids)
	return ids
}

// Find returns the position that a drone measured at a device time, compared in
// whole milliseconds. This is how a stored document finds its counter again.
func (c *Census) Find(deviceID string, at time.Time) (Position, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	drone := c.drones[deviceID]
	if drone == nil {
		return Position{}, false
	}
	i, ok := drone.find(at)
	if !ok {
		return Position{}, false
	}
	return drone.sent[i].position(), true
}

// find is the place of a device time in sent, whose times rise.
func (l *life) find(at time.Time) (int, bool) {
	millis := at.UnixMilli()
	return sort.Find(len(l.sent), func(i int) int {
		switch sent := l.sent[i].millis; {
		case millis < sent:
			return -1
		case millis > sent:
			return 1
		}
		return 0
	})
}

// Newest returns the last good position of a drone that the hub acknowledged.
func (c *Census) Newest(deviceID string) (Position, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	drone := c.drones[deviceID]
	if drone == nil || drone.newest < 0 {
		return Position{}, false
	}
	return drone.sent[drone.newest].position(), true
}
