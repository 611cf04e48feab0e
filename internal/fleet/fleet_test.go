package fleet

import (
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"warmpath/geo"
)

// noon is when the fleets of these tests start.
var noon = time.Date(2026, 11, 30, 12, 0, 0, 0, time.UTC)

// newFleet returns a fleet that differs from the default as change says.
func newFleet(t testing.TB, change func(*Config)) *Fleet {
	t.Helper()
	cfg := DefaultConfig()
	if change != nil {
		change(&cfg)
	}
	f, err := New(cfg, noon)
	if err != nil {
		t.Fatal(err)
	}
	return f
}

// mixed has much of everything.
func mixed(c *Config) {
	c.Drones, c.Seed = 40, 7
	c.Formats = []Format{Reference, Flat}
	c.OtherSensorPercent, c.StalePercent, c.MalformedPercent, c.OutOfRangePercent = 10, 10, 20, 10
}

func TestReferenceFormIsExact(t *testing.T) {
	e := newFleet(t, func(c *Config) { c.OtherSensorPercent, c.StalePercent, c.MalformedPercent = 0, 0, 0 }).Drone(7).Event(3)
	const want = `{"deviceId":"drone-0007","deliveryId":"d-7-0","sensorType":"drone-event-sensor;v1",` +
		`"position":"+47.650203|-122.106154|81.70","velocity":13.5,"acceleration":0.0,` +
		`"flightStatus":"outbound","occurrenceUtcTime":"2026-11-30T12:00:15.175Z"}`
	if got := string(e.Body); got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
}

func TestFlatFormIsExact(t *testing.T) {
	e := newFleet(t, func(c *Config) {
		c.Formats = []Format{Flat}
		c.OtherSensorPercent, c.StalePercent, c.MalformedPercent = 0, 0, 0
	}).Drone(7).Event(3)
	const want = `{"deviceId":"drone-0007","deliveryId":"d-7-0",` +
		`"latitude":47.650203,"longitude":-122.106154,"altitude":81.70,"speed":13.5,"heading":130.6,"battery":0.905,` +
		`"flightStatus":"outbound","occurrenceUtcTime":"2026-11-30T12:00:15.175Z"}`
	if got := string(e.Body); got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
}

func TestEventsDependOnSeedAndNumberAlone(t *testing.T) {
	f := newFleet(t, mixed)
	burst := f.Burst(40 * 25)
	if again := newFleet(t, mixed).Burst(40 * 25); !reflect.DeepEqual(burst, again) {
		t.Error("the same seed sends other events")
	}
	// Backwards, one drone at a time: neither order nor company matters.
	for i := range 40 {
		drone := f.Drone(i)
		for n := 24; n >= 0; n-- {
			if got, want := drone.Event(n), burst[n*40+i]; !reflect.DeepEqual(got, want) {
				t.Fatalf("event %s alone is\n%s, in the burst\n%s", got.ID(), got.Body, want.Body)
			}
		}
	}
	other := newFleet(t, func(c *Config) { mixed(c); c.Seed++ }).Burst(40 * 25)
	same := 0
	for i := range burst {
		if slices.Equal(burst[i].Body, other[i].Body) {
			same++
		}
	}
	if same > len(burst)/50 { // empty and plain bodies have no choice
		t.Errorf("%d of %d events are the same with another seed", same, len(burst))
	}
}

func TestSharesAreThoseConfigured(t *testing.T) {
	f := newFleet(t, func(c *Config) { c.OutOfRangePercent = 0.5 })
	const n = 40_000
	got := map[Verdict]int{}
	for _, e := range f.Burst(n) {
		got[e.Positions[0].Verdict]++
	}
	for verdict, want := range map[Verdict]float64{Good: 95.5, OtherSensor: 2, Stale: 1, Malformed: 1, OutOfRange: 0.5} {
		if percent := 100 * float64(got[verdict]) / n; percent < 0.9*want || percent > 1.1*want {
			t.Errorf("%v: %.2f %%, want %v %%", verdict, percent, want)
		}
	}
}

// The service's own decoder must come to the verdicts that the fleet expects,
// position by position, for single positions and for arrays.
func TestVerdictsAreThoseOfTheDecoder(t *testing.T) {
	decoder, err := geo.NewDecoder(geo.DefaultConfig())
	if err != nil {
		t.Fatal(err)
	}
	for _, perEvent := range []int{1, 4} {
		f := newFleet(t, func(c *Config) { mixed(c); c.PositionsPerEvent = perEvent })
		seen := map[Verdict]int{}
		for _, e := range f.Burst(4000) {
			in := geo.Event{Body: e.Body}
			items := decoder.Decode(nil, &in)
			if e.StaleBy > 0 {
				items = decoder.DecodeStale(nil, &in)
			}
			if len(items) != len(e.Positions) {
				t.Fatalf("%s: got %d positions, want %d: %s", e.ID(), len(items), len(e.Positions), e.Body)
			}
			for i, want := range e.Positions {
				seen[want.Verdict]++
				got := items[i]
				if reason := strings.TrimPrefix(want.Verdict.String(), "good"); string(got.Reason) != reason {
					t.Fatalf("%s: position %d is %q, want %q: %s", e.ID(), i, got.Reason, reason, e.Body)
				}
				if want.Verdict != Good {
					continue
				}
				if p := got.Position; !p.Time.Equal(want.Time) || p.Point[0] != want.Longitude || p.Point[1] != want.Latitude ||
					p.DeviceID != e.DeviceID || p.DeliveryID == "" {
					t.Fatalf("%s: position %d is %+v, want %+v", e.ID(), i, p, want)
				}
			}
		}
		for v := range Verdict(verdicts) {
			if seen[v] == 0 {
				t.Errorf("%d positions per event: none is %v", perEvent, v)
			}
		}
	}
}

func TestDeviceTimesRiseAndNeverRepeat(t *testing.T) {
	f := newFleet(t, func(c *Config) {
		mixed(c)
		c.PositionsPerEvent = 7
		c.Interval = 7*time.Millisecond + 1 // as crowded as can be, and no whole milliseconds
	})
	for i := range 40 {
		drone, last, counter := f.Drone(i), time.Time{}, -1
		for n := range 200 {
			e := drone.Event(n)
			for _, p := range e.Positions {
				if !p.Time.After(last) || p.Time.Truncate(time.Millisecond) != p.Time || p.Counter <= counter {
					t.Fatalf("%s: position %d of %v follows %d of %v", e.ID(), p.Counter, p.Time, counter, last)
				}
				last, counter = p.Time, p.Counter
			}
			if late := e.Due.Sub(last); late < 0 || late >= time.Millisecond {
				t.Fatalf("%s: due %v, but its last position is of %v", e.ID(), e.Due, last)
			}
		}
	}
}

func TestDeliveryIsLeftOutOnTheWayHome(t *testing.T) {
	drone := newFleet(t, func(c *Config) {
		c.OmitDeliveryOnReturn = true
		c.OtherSensorPercent, c.StalePercent, c.MalformedPercent = 0, 0, 0
	}).Drone(0)
	with, without := 0, 0
	for n := range 2000 {
		body := string(drone.Event(n).Body)
		home := strings.Contains(body, `"climbing"`) || strings.Contains(body, `"returning"`) ||
			strings.Contains(body, `"landing"`) || strings.Contains(body, `"charging"`)
		has := strings.Contains(body, `"deliveryId"`)
		if has == home {
			t.Fatalf("event %d: %s", n, body)
		}
		if has {
			with++
		} else {
			without++
		}
	}
	if with == 0 || without == 0 {
		t.Errorf("%d events with a delivery, %d without", with, without)
	}
}

func TestIoTHubAnnotatesAllOrStaleOnly(t *testing.T) {
	for _, all := range []bool{false, true} {
		for _, e := range newFleet(t, func(c *Config) { mixed(c); c.IoTHub = all }).Burst(1000) {
			stale := e.Positions[0].Verdict == Stale
			if e.IoTHub != (all || stale) {
				t.Fatalf("IoTHub %v: %s has annotations: %v", all, e.ID(), e.IoTHub)
			}
			if stale != (e.StaleBy > 5*time.Minute) || stale != (e.StaleBy != 0) {
				t.Fatalf("%s is %v and stale by %v", e.ID(), e.Positions[0].Verdict, e.StaleBy)
			}
		}
	}
}
