package fleet

import (
	"fmt"
	"math"
	"strings"
	"time"
)

// Doc is what a check needs to know of a stored document.
type Doc struct {
	ID        string
	DeviceID  string
	Timestamp time.Time // properties.timestamp
	Longitude float64   // geometry.coordinates[0]
	Latitude  float64   // geometry.coordinates[1]
}

// DifferenceError says how a container differs from the census.
type DifferenceError struct {
	Lost       int // positions that must be there and are not
	Duplicated int // documents for a position that has its document already
	Outdated   int // documents of a position that a newer one should have replaced
	Unexpected int // documents of positions that were not sent, or should not have been written
	Changed    int // documents whose id or coordinates are not those that were sent
	Examples   []string
}

// maxExamples is how many differences an error spells out.
const maxExamples = 5

func (e *DifferenceError) total() int {
	return e.Lost + e.Duplicated + e.Outdated + e.Unexpected + e.Changed
}

// Error gives the counts and the first differences.
func (e *DifferenceError) Error() string {
	text := fmt.Sprintf("the container differs from the census: %d lost, %d duplicated, %d outdated, %d unexpected, %d changed: %s",
		e.Lost, e.Duplicated, e.Outdated, e.Unexpected, e.Changed, strings.Join(e.Examples, "; "))
	if more := e.total() - len(e.Examples); more > 0 {
		text += fmt.Sprintf("; and %d more", more)
	}
	return text
}

// note counts a difference in one of the fields.
func (e *DifferenceError) note(kind *int, format string, args ...any) {
	*kind++
	if len(e.Examples) < maxExamples {
		e.Examples = append(e.Examples, fmt.Sprintf(format, args...))
	}
}

// asError is e if there is a difference.
func (e *DifferenceError) asError() error {
	if e.total() == 0 {
		return nil
	}
	return e
}

// CheckLatest holds the documents of a container in the mode latest, with the
// partition key /deviceId, against the census: there must be one for each drone
// that sent a good position, and it must be the newest of them. It returns a
// *DifferenceError if that is not so. Call it when the sending is over and the
// service has drained.
//
// Where the hub left it open what it holds, all that it may hold is right: a
// newer position that it did not acknowledge, and an older one that was sent
// more than once, for a copy of it may have come late.
func (c *Census) CheckLatest(docs []Doc) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	diff := new(DifferenceError)
	seen := make(map[string]bool, len(docs))
	for i := range docs {
		doc := &docs[i]
		drone, at := c.match(doc, diff)
		if drone == nil {
			continue
		}
		if seen[doc.DeviceID] {
			diff.note(&diff.Duplicated, "%s has a second document, id %q", doc.DeviceID, doc.ID)
			continue
		}
		seen[doc.DeviceID] = true
		if doc.ID != doc.DeviceID {
			diff.note(&diff.Changed, "%s has a document with the id %q", doc.DeviceID, doc.ID)
		}
		if got := &drone.sent[at]; at < drone.newest && got.single() {
			diff.note(&diff.Outdated, "%s has position %d, the newest is %d",
				doc.DeviceID, got.counter, drone.sent[drone.newest].counter)
		}
	}
	for _, id := range c.devices() {
		if drone := c.drones[id]; drone.newest >= 0 && !seen[id] {
			diff.note(&diff.Lost, "%s has no document, the newest position is %d", id, drone.sent[drone.newest].counter)
		}
	}
	return diff.asError()
}

// CheckHistory holds the documents of a container in the mode history against
// the census: there must be one for each good position, and no others. It
// returns a *DifferenceError if that is not so. Call it when the sending is over
// and the service has drained.
//
// A position that the hub did not acknowledge may be missing, and one that took
// several attempts may be there as often.
func (c *Census) CheckHistory(docs []Doc) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	diff := new(DifferenceError)
	ids := make(map[string]bool, len(docs))
	found := make(map[string][]uint8, len(c.drones)) // documents per place in life.sent
	for i := range docs {
		doc := &docs[i]
		drone, at := c.match(doc, diff)
		if drone == nil {
			continue
		}
		counts := found[doc.DeviceID]
		if counts == nil {
			counts = make([]uint8, len(drone.sent))
			found[doc.DeviceID] = counts
		}
		got := &drone.sent[at]
		switch {
		case ids[doc.ID]:
			diff.note(&diff.Duplicated, "the id %q of %s is there twice", doc.ID, doc.DeviceID)
		case counts[at] == got.attempts && got.attempts < math.MaxUint8:
			diff.note(&diff.Duplicated, "%s has position %d more often than sent, id %q", doc.DeviceID, got.counter, doc.ID)
		}
		ids[doc.ID] = true
		counts[at] = min(counts[at], math.MaxUint8-1) + 1
	}
	for _, id := range c.devices() {
		counts := found[id]
		for at := range c.drones[id].sent {
			want := &c.drones[id].sent[at]
			if want.verdict == Good && want.acknowledged && (counts == nil || counts[at] == 0) {
				diff.note(&diff.Lost, "%s has no document of position %d", id, want.counter)
			}
		}
	}
	return diff.asError()
}

// match finds the position that a document claims to be: the drone and the
// place in what it sent. It notes a document that is no good position, and
// returns no drone for it. The caller holds mu.
func (c *Census) match(doc *Doc, diff *DifferenceError) (*life, int) {
	when := doc.Timestamp.UTC().Format(timeLayout)
	drone := c.drones[doc.DeviceID]
	if drone == nil {
		diff.note(&diff.Unexpected, "%q sent nothing, document %q", doc.DeviceID, doc.ID)
		return nil, 0
	}
	at, ok := drone.find(doc.Timestamp)
	if !ok {
		diff.note(&diff.Unexpected, "%s sent no position of %s, document %q", doc.DeviceID, when, doc.ID)
		return nil, 0
	}
	got := &drone.sent[at]
	if got.verdict != Good {
		diff.note(&diff.Unexpected, "%s has position %d, which is %v, document %q", doc.DeviceID, got.counter, got.verdict, doc.ID)
		return nil, 0
	}
	if sent := got.position(); doc.Longitude != sent.Longitude || doc.Latitude != sent.Latitude {
		diff.note(&diff.Changed, "%s has position %d at %v, %v, sent was %v, %v", doc.DeviceID, got.counter,
			doc.Longitude, doc.Latitude, sent.Longitude, sent.Latitude)
	}
	return drone, at
}
