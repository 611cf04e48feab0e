package fleet

import (
	"fmt"
	"strconv"
	"time"
)

// Fleet is what a number of drones send, and when. It does not change and is
// safe for concurrent use.
type Fleet struct {
	cfg      Config
	city     *city
	schedule schedule
	start    time.Time
}

// New returns the fleet that begins to send at start, taken to the millisecond.
// All device times count from there. It returns what Config.Validate says.
func New(cfg Config, start time.Time) (*Fleet, error) {
	if err := cfg.Validate(); err != nil {
		return nil, fmt.Errorf("fleet settings: %w", err)
	}
	cfg.Formats = append([]Format(nil), cfg.Formats...)
	return &Fleet{
		cfg:      cfg,
		city:     newCity(&cfg),
		schedule: cfg.schedule(),
		start:    time.UnixMilli(start.UnixMilli()).UTC(),
	}, nil
}

func (c *Config) schedule() schedule {
	return schedule{drones: c.Drones, interval: c.Interval, samples: c.PositionsPerEvent}
}

// Span is how long the first n events of a fleet take by the schedule. A fleet
// that starts as long ago has n events due now: its Burst ends with the present.
// Valid after Validate.
func (c *Config) Span(n int) time.Duration { return c.schedule().span(n) }

// Start is when the first event is due.
func (f *Fleet) Start() time.Time { return f.start }

// Size is the number of drones.
func (f *Fleet) Size() int { return f.cfg.Drones }

// Burst returns the first n events of the fleet in the order in which they are
// due.
func (f *Fleet) Burst(n int) []Event {
	drones := make([]*Drone, min(n, f.cfg.Drones))
	for i := range drones {
		drones[i] = f.Drone(i)
	}
	events := make([]Event, 0, n)
	for i := range n {
		drone, number := f.schedule.at(i)
		events = append(events, drones[drone].Event(number))
	}
	return events
}

// Drone is one drone of a fleet. It is not safe for concurrent use; any number
// of Drones can be made of one drone.
type Drone struct {
	fleet  *Fleet
	number int
	id     string
	format Format
	flight *flight
	draw   *chance
}

// Drone returns drone i, from 0 up to but not including Size. It panics beyond.
func (f *Fleet) Drone(i int) *Drone {
	if i < 0 || i >= f.cfg.Drones {
		panic(fmt.Sprintf("fleet: drone %d of %d", i, f.cfg.Drones))
	}
	return &Drone{
		fleet:  f,
		number: i,
		id:     fmt.Sprintf("%s%04d", f.cfg.DevicePrefix, i),
		format: f.cfg.Formats[i%len(f.cfg.Formats)],
		flight: newFlight(&f.cfg, f.city, i),
		draw:   newChance(),
	}
}

// ID is the device id of the drone.
func (d *Drone) ID() string { return d.id }

// Due is when event n of the drone is to be sent.
func (d *Drone) Due(n int) time.Time { return d.fleet.start.Add(d.fleet.schedule.due(d.number, n)) }

// Event returns event n of the drone, from 0. Rising numbers are fast.
func (d *Drone) Event(n int) Event {
	cfg := &d.fleet.cfg
	d.draw.set(cfg.Seed, forEvent, d.number, n)
	e := Event{
		DeviceID: d.id,
		Drone:    d.number,
		Number:   n,
		Due:      d.Due(n),
		IoTHub:   cfg.IoTHub,
	}
	switch verdict := d.verdict(); verdict {
	case OtherSensor:
		d.fillStatus(&e)
	case Malformed:
		d.fillMalformed(&e)
	default:
		d.fill(&e, verdict)
	}
	return e
}

// verdict draws what an event is sent for.
func (d *Drone) verdict() Verdict {
	cfg := &d.fleet.cfg
	percent := d.draw.between(0, 100)
	for _, share := range [...]struct {
		verdict Verdict
		percent float64
	}{
		{OtherSensor, cfg.OtherSensorPercent},
		{Stale, cfg.StalePercent},
		{Malformed, cfg.MalformedPercent},
		{OutOfRange, cfg.OutOfRangePercent},
	} {
		if percent < share.percent {
			return share.verdict
		}
		percent -= share.percent
	}
	return Good
}

// fill makes an event of sound positions. If the verdict is OutOfRange, one of
// them is not of this earth.
func (d *Drone) fill(e *Event, verdict Verdict) {
	lost := -1
	switch verdict {
	case Stale:
		e.StaleBy = d.staleBy()
		e.IoTHub = true
	case OutOfRange:
		lost = d.draw.IntN(d.fleet.schedule.samples)
		verdict = Good
	}
	d.fillWith(e, func(k int, s *sample) Verdict {
		if k != lost {
			return verdict
		}
		if d.draw.IntN(2) == 0 {
			s.latitude = round(d.draw.between(90.1, 180), 1e6)
		} else {
			s.longitude = round(d.draw.between(-360, -180.1), 1e6)
		}
		return OutOfRange
	})
}

// staleBy draws an age that is past the five minutes after which positions are
// dropped, by more than any clock is wrong.
func (d *Drone) staleBy() time.Duration {
	age := d.draw.between(float64(6*time.Minute), float64(15*time.Minute))
	return time.Duration(age).Truncate(time.Millisecond)
}

// fillMalformed makes an event with one fault.
func (d *Drone) fillMalformed(e *Event) {
	samples := d.fleet.schedule.samples
	fault := fault(1 + d.draw.IntN(faults-1))
	if fault.ofCoordinates() {
		spoilt := d.draw.IntN(samples)
		d.fillWith(e, func(k int, s *sample) Verdict {
			if k != spoilt {
				return Good
			}
			s.fault = fault
			return Malformed
		})
		return
	}
	d.fillWith(e, func(int, *sample) Verdict { return Malformed })
	e.Body = fault.spoil(e.Body, d.draw)
	e.Positions = e.Positions[samples-1:] // a body that cannot be read counts as one position
}

// fillWith writes the body of an event. It calls alter on each sample, which
// may change it and returns what must become of it.
func (d *Drone) fillWith(e *Event, alter func(k int, s *sample) Verdict) {
	samples := d.fleet.schedule.samples
	e.Positions = make([]Position, 0, samples)
	body := make([]byte, 0, samples*256)
	if samples > 1 {
		body = append(body, '[')
	}
	for k := range samples {
		s := d.sample(e.Number, k)
		verdict := alter(k, &s)
		if k > 0 {
			body = append(body, ',')
		}
		body = d.format.appendPosition(body, &s)
		e.Positions = append(e.Positions, d.position(e.Number, k, &s, verdict))
	}
	if samples > 1 {
		body = append(body, ']')
	}
	e.Body = body
}

// fillStatus makes an event of an operating status.
func (d *Drone) fillStatus(e *Event) {
	last := d.fleet.schedule.samples - 1
	s := d.sample(e.Number, last)
	e.Body = s.appendStatus(nil, d.draw.between(40, 80))
	e.Positions = []Position{d.position(e.Number, last, &s, OtherSensor)}
}

// sample measures where the drone is.
func (d *Drone) sample(n, k int) sample {
	offset := d.fleet.schedule.measured(d.number, n, k)
	s := sample{device: d.id, time: d.fleet.start.Add(offset).Truncate(time.Millisecond), state: d.flight.at(offset)}
	s.longitude, s.latitude = d.fleet.city.degrees(s.state.place)
	if s.state.carries() || !d.fleet.cfg.OmitDeliveryOnReturn {
		s.delivery = "d-" + strconv.Itoa(d.number) + "-" + strconv.Itoa(s.state.delivery)
	}
	return s
}

func (d *Drone) position(n, k int, s *sample, verdict Verdict) Position {
	return Position{
		Counter:   d.fleet.schedule.counter(n, k),
		Time:      s.time,
		Verdict:   verdict,
		Longitude: s.longitude,
		Latitude:  s.latitude,
	}
}
