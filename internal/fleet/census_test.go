package fleet

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"
)

// sentOnce is the outcome of a send that went well.
var sentOnce = Outcome{Acknowledged: true, Attempts: 1}

// stored is what the documents of a container are, after a service did its work
// well: the newest position of each drone, and every good position.
type stored struct{ latest, history []Doc }

// take records events as sent once each, and returns what must be stored.
func take(t testing.TB, c *Census, events []Event) stored {
	t.Helper()
	var s stored
	newest := map[string]Doc{}
	for i := range events {
		e := &events[i]
		if err := c.Record(e, sentOnce); err != nil {
			t.Fatal(err)
		}
		for k, p := range e.Positions {
			if p.Verdict != Good {
				continue
			}
			d := document(e, p)
			newest[e.DeviceID] = d
			d.ID = fmt.Sprintf("%s:0:0:%d:%d", e.DeviceID, i, k)
			s.history = append(s.history, d)
		}
	}
	for _, d := range newest {
		s.latest = append(s.latest, d)
	}
	slices.SortFunc(s.latest, func(a, b Doc) int { return strings.Compare(a.ID, b.ID) })
	return s
}

func document(e *Event, p Position) Doc {
	return Doc{ID: e.DeviceID, DeviceID: e.DeviceID, Timestamp: p.Time, Longitude: p.Longitude, Latitude: p.Latitude}
}

func TestCensusAgreesWithWhatIsRight(t *testing.T) {
	c := NewCensus()
	right := take(t, c, newFleet(t, func(c *Config) { mixed(c); c.PositionsPerEvent = 3 }).Burst(2000))
	if err := c.CheckLatest(right.latest); err != nil {
		t.Error(err)
	}
	if err := c.CheckHistory(right.history); err != nil {
		t.Error(err)
	}
}

// older returns the first document of the same drone in the history.
func older(s stored, newest Doc) Doc {
	for _, d := range s.history {
		if d.DeviceID == newest.DeviceID {
			d.ID = newest.ID
			return d
		}
	}
	return Doc{}
}

// spoilt returns the document of a position that must not be written.
func spoilt(events []Event, verdict Verdict) Doc {
	for i := range events {
		for _, p := range events[i].Positions {
			if p.Verdict == verdict {
				return document(&events[i], p)
			}
		}
	}
	return Doc{}
}

func TestCheckLatestCatches(t *testing.T) {
	events := newFleet(t, mixed).Burst(2000)
	for _, test := range []struct {
		name   string
		change func(stored) []Doc
		want   DifferenceError
		text   string
	}{
		{"a lost drone", func(s stored) []Doc { return s.latest[1:] },
			DifferenceError{Lost: 1}, "drone-0000 has no document, the newest position is 49"},
		{"an old position", func(s stored) []Doc { s.latest[3] = older(s, s.latest[3]); return s.latest },
			DifferenceError{Outdated: 1}, "drone-0003 has position 5, the newest is 49"},
		{"a second document", func(s stored) []Doc {
			d := s.latest[3]
			d.ID += ":1"
			return append(s.latest, d)
		}, DifferenceError{Duplicated: 1}, `drone-0003 has a second document, id "drone-0003:1"`},
		{"another id", func(s stored) []Doc { s.latest[3].ID = "x"; return s.latest },
			DifferenceError{Changed: 1}, `drone-0003 has a document with the id "x"`},
		{"a moved position", func(s stored) []Doc { s.latest[3].Longitude += 1e-6; return s.latest },
			DifferenceError{Changed: 1}, "drone-0003 has position 49 at -122."},
		{"swapped axes", func(s stored) []Doc {
			s.latest[3].Longitude, s.latest[3].Latitude = s.latest[3].Latitude, s.latest[3].Longitude
			return s.latest
		}, DifferenceError{Changed: 1}, "drone-0003 has position 49 at 47."},
		{"a stranger", func(s stored) []Doc { return append(s.latest, Doc{ID: "x", DeviceID: "x", Timestamp: noon}) },
			DifferenceError{Unexpected: 1}, `"x" sent nothing`},
		{"a time of its own", func(s stored) []Doc {
			s.latest[3].Timestamp = s.latest[3].Timestamp.Add(time.Millisecond)
			return s.latest
		}, DifferenceError{Unexpected: 1, Lost: 1}, "drone-0003 sent no position of 2026-11-30T12:04:0"},
		{"a stale position", func(s stored) []Doc {
			d := spoilt(events, Stale)
			i := slices.IndexFunc(s.latest, func(have Doc) bool { return have.ID == d.ID })
			s.latest[i] = d
			return s.latest
		}, DifferenceError{Unexpected: 1, Lost: 1}, ", which is stale, document"},
	} {
		t.Run(test.name, func(t *testing.T) {
			c := NewCensus()
			right := take(t, c, events)
			expect(t, c.CheckLatest(test.change(right)), test.want, test.text)
		})
	}
}

func TestCheckHistoryCatches(t *testing.T) {
	events := newFleet(t, mixed).Burst(2000)
	for _, test := range []struct {
		name   string
		change func(stored) []Doc
		want   DifferenceError
		text   string
	}{
		{"a lost position", func(s stored) []Doc { return s.history[1:] },
			DifferenceError{Lost: 1}, "drone-0001 has no document of position 0"},
		{"a lost drone", func(s stored) []Doc {
			return slices.DeleteFunc(s.history, func(d Doc) bool { return d.DeviceID == "drone-0001" })
		}, DifferenceError{Lost: 21}, "drone-0001 has no document of position 0"},
		{"the same document twice", func(s stored) []Doc { return append(s.history, s.history[9]) },
			DifferenceError{Duplicated: 1}, "is there twice"},
		{"a position twice", func(s stored) []Doc {
			d := s.history[0]
			d.ID = "x"
			return append(s.history, d)
		}, DifferenceError{Duplicated: 1}, `drone-0001 has position 0 more often than sent, id "x"`},
		{"an out of range position", func(s stored) []Doc { return append(s.history, spoilt(events, OutOfRange)) },
			DifferenceError{Unexpected: 1}, ", which is out_of_range"},
		{"a moved position", func(s stored) []Doc { s.history[0].Latitude -= 1e-6; return s.history },
			DifferenceError{Changed: 1}, "drone-0001 has position 0 at"},
	} {
		t.Run(test.name, func(t *testing.T) {
			c := NewCensus()
			right := take(t, c, events)
			expect(t, c.CheckHistory(test.change(right)), test.want, test.text)
		})
	}
}

// expect compares the counts of a DifferenceError and looks for a text in it.
func expect(t *testing.T, err error, want DifferenceError, text string) {
	t.Helper()
	var got *DifferenceError
	if !errors.As(err, &got) {
		t.Fatalf("got %v, want a difference", err)
	}
	counts := *got
	counts.Examples = nil
	if fmt.Sprint(counts) != fmt.Sprint(want) {
		t.Errorf("got %+v, want %+v", counts, want)
	}
	if !strings.Contains(err.Error(), text) {
		t.Errorf("got %v, want %s", err, text)
	}
}

func TestDifferencesAreCountedAllAndShownFew(t *testing.T) {
	c := NewCensus()
	take(t, c, newFleet(t, nil).Burst(1000))
	err := c.CheckLatest(nil)
	if want := "200 lost"; err == nil || !strings.Contains(err.Error(), want) || !strings.HasSuffix(err.Error(), "and 195 more") {
		t.Errorf("got %v, want %s and 195 more", err, want)
	}
}

func TestCensusKnowsWhatTheHubMayHold(t *testing.T) {
	drone := newFleet(t, func(c *Config) { c.OtherSensorPercent, c.StalePercent, c.MalformedPercent = 0, 0, 0 }).Drone(0)
	c := NewCensus()
	var docs []Doc
	for n, o := range []Outcome{
		{Acknowledged: true, Attempts: 1},
		{Acknowledged: true, Attempts: 2}, // may be there twice
		{Acknowledged: true, Attempts: 1},
		{Acknowledged: false, Attempts: 3}, // may not be there
		{Acknowledged: false, Attempts: 0}, // was never tried
	} {
		e := drone.Event(n)
		if err := c.Record(&e, o); err != nil {
			t.Fatal(err)
		}
		d := document(&e, e.Positions[0])
		docs = append(docs, d)
	}
	for at, ok := range []bool{false, true, true, true, false} {
		if err := c.CheckLatest(docs[at : at+1]); (err == nil) != ok {
			t.Errorf("position %d as the latest: %v, want it right: %v", at, err, ok)
		}
	}
	for _, test := range []struct {
		places []int
		ok     bool
	}{
		{[]int{0, 1, 2}, true},
		{[]int{0, 1, 1, 2}, true},
		{[]int{0, 1, 1, 1, 2}, false},
		{[]int{0, 0, 1, 2}, false},
		{[]int{0, 1, 2, 3, 3, 3}, true},
		{[]int{0, 1, 2, 3, 3, 3, 3}, false},
		{[]int{0, 1, 2, 4}, false},
		{[]int{0, 2}, false},
	} {
		history := make([]Doc, 0, len(test.places))
		for i, place := range test.places {
			d := docs[place]
			d.ID = fmt.Sprint(i)
			history = append(history, d)
		}
		if err := c.CheckHistory(history); (err == nil) != test.ok {
			t.Errorf("positions %v: %v, want it right: %v", test.places, err, test.ok)
		}
	}
	totals := c.Totals()
	if totals.Acknowledged != (Tally{3, 3}) || totals.Repeated != (Tally{1, 1}) || totals.Unacknowledged != (Tally{1, 1}) {
		t.Errorf("got %+v", totals)
	}
}

func TestCensusFindsCounters(t *testing.T) {
	c := NewCensus()
	events := newFleet(t, func(c *Config) { mixed(c); c.PositionsPerEvent = 3 }).Burst(400)
	take(t, c, events)
	positions := 0
	for _, e := range events {
		for _, want := range e.Positions {
			positions++
			got, ok := c.Find(e.DeviceID, want.Time.Add(999*time.Microsecond).Local())
			if !ok || got != want {
				t.Fatalf("%s: got %+v, %v, want %+v", e.ID(), got, ok, want)
			}
		}
	}
	if got, ok := c.Find("drone-0000", noon.Add(-time.Hour)); ok {
		t.Errorf("found %+v before the start", got)
	}
	if got := c.Totals(); got.Acknowledged != (Tally{len(events), positions}) {
		t.Errorf("got %+v, want %d events, %d positions", got, len(events), positions)
	}
	if got := len(c.Devices()); got != 40 {
		t.Errorf("got %d devices, want 40", got)
	}
	newest, ok := c.Newest("drone-0001")
	last := events[len(events)-39]
	if want := last.Positions[len(last.Positions)-1]; last.DeviceID != "drone-0001" || want.Verdict == Good && (!ok || newest != want) {
		t.Errorf("got newest %+v, %v, last sent %+v of %s", newest, ok, want, last.DeviceID)
	}
}

func TestCensusRefusesTimesThatDoNotRise(t *testing.T) {
	c := NewCensus()
	e := newFleet(t, nil).Drone(0).Event(1)
	if err := c.Record(&e, sentOnce); err != nil {
		t.Fatal(err)
	}
	if err := c.Record(&e, sentOnce); err == nil || !strings.Contains(err.Error(), "census of drone-0000:1: position 1") {
		t.Errorf("got %v", err)
	}
	if got := c.Totals().Acknowledged; got != (Tally{1, 1}) {
		t.Errorf("got %+v, want one event", got)
	}
}
