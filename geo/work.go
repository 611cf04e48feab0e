package geo

import (
	"fmt"
	"slices"

	"github.com/paulmach/orb"
)

// candidate is what one element of a body says, before it is known who may
// speak for whom.
type candidate struct {
	position Position // DeviceID is the body's word
	badID    bool     // the body's device id is neither text nor an integer
	badKey   bool     // the delivery id is no text
	before   Reason   // a verdict that comes before all others: Malformed, OtherSensor
	after    Reason   // a verdict that the ids outrank: Malformed, OutOfRange
	err      error    // the detail of before or after
}

// work is what decoding one event needs. It is used again and again.
type work struct {
	cfg    *Config
	scan   scanner // over the body
	inner  scanner // over a value within it
	found  []candidate
	object fields
}

// keepCandidates is how many candidates a work keeps room for between events,
// so that one great batch does not hold memory for ever.
const keepCandidates = 512

// forget lets go of the event.
func (w *work) forget() {
	w.scan.reset(nil)
	w.inner.reset(nil)
	w.object = fields{}
	if cap(w.found) > keepCandidates {
		w.found = nil
	}
	clear(w.found[:cap(w.found)])
	w.found = w.found[:0]
}

// next appends a candidate that knows nothing, and returns it. It is good until
// the next call.
func (w *work) next() (*candidate, error) {
	if len(w.found) >= w.cfg.MaxPositions {
		return nil, &verdict{TooLarge, fmt.Errorf("more than %d positions in one event", w.cfg.MaxPositions)}
	}
	w.found = append(w.found, candidate{position: Position{
		Altitude: unknown, Speed: unknown, Heading: unknown, Battery: unknown, HDOP: unknown,
	}})
	return &w.found[len(w.found)-1], nil
}

// read finds the candidates of a body, and returns an error if the body as a
// whole is nothing to read.
func (w *work) read(ev *Event, who *sender) error {
	return w.readJSON(ev.Body)
}

// readJSON reads a body that is one JSON value.
func (w *work) readJSON(body []byte) error {
	w.scan.reset(body)
	var err error
	switch w.scan.peek() {
	case '{':
		err = w.readObject()
	case '[':
		err = w.readArray(w.readObject)
	default:
		if _, err = w.scan.value(); err == nil {
			err = errText("the body is neither an object nor an array")
		}
	}
	if err == nil {
		err = w.scan.end()
	}
	return err
}

// readArray reads an array of elements, of which objects go to readObject.
func (w *work) readArray(readObject func() error) error {
	if err := w.scan.skip(); err != nil {
		return err
	}
	for kind := w.scan.peek(); kind != ']'; kind = w.scan.peek() {
		if kind == '{' {
			if err := readObject(); err != nil {
				return err
			}
			continue
		}
		if _, err := w.scan.value(); err != nil {
			return err
		}
		if err := w.malformed(errElement); err != nil {
			return err
		}
	}
	return w.scan.skip()
}

const errElement = errText("element is no object")

// malformed adds an element that cannot be read.
func (w *work) malformed(detail error) error {
	c, err := w.next()
	if err != nil {
		return err
	}
	c.before, c.err = Malformed, detail
	return nil
}

// readObject reads the next object as one candidate.
func (w *work) readObject() error {
	w.object = fields{}
	if err := w.scan.object(w.object.set); err != nil {
		return err
	}
	c, err := w.next()
	if err != nil {
		return err
	}
	w.interpret(c, &w.object)
	return nil
}

// interpret reads the reference form and flat JSON.
func (w *work) interpret(c *candidate, f *fields) {
	if !w.carriesPositions(f.sensorType) {
		c.before, c.err = OtherSensor, errText("the sensor type is not one of those configured")
	}
	id, ok := idText(f.deviceID)
	c.position.DeviceID, c.badID = string(id), !ok
	id, ok = idText(f.deliveryID)
	c.position.DeliveryID = string(id)
	c.badKey = !isNull(f.deliveryID) && f.deliveryID[0] != '"'
	if c.before != "" {
		return
	}
	if err := w.locate(&c.position, f); err != nil {
		c.after, c.err = reasonOf(err), err
		return
	}
	c.position.Time = deviceTime(f.time)
	c.position.Speed = within(f.speed, 0, maxSpeed)
	c.position.Heading = heading(f.heading)
	c.position.Battery = within(f.battery, 0, 1)
	c.position.HDOP = within(f.hdop, 0, maxHDOP)
}

// What lies beyond is a device's way to say that it does not know.
const (
	maxSpeed = 12_000 // metres per second, more than any orbit
	maxHDOP  = 99.99  // what receivers report without a fix
)

func (w *work) carriesPositions(sensorType []byte) bool {
	return isNull(sensorType) || slices.ContainsFunc(w.cfg.SensorTypes, func(allowed string) bool {
		return isText(sensorType, allowed)
	})
}

// locate reads the coordinates of the reference form or of flat JSON.
func (w *work) locate(p *Position, f *fields) error {
	if len(f.position) > 0 && f.position[0] == '"' {
		return locateReference(p, unquote(f.position))
	}
	lat, ok := number(f.latitude)
	if !ok {
		return errText("latitude is no number")
	}
	lon, ok := number(f.longitude)
	if !ok {
		return errText("longitude is no number")
	}
	if !isNull(f.altitude) {
		if p.Altitude, ok = number(f.altitude); !ok {
			return errText("altitude is no number")
		}
	}
	return p.place(lon, lat)
}

// place sets the point if it is on the earth.
func (p *Position) place(lon, lat float64) error {
	point := orb.Point{lon, lat}
	if !earth.Contains(point) {
		return &verdict{OutOfRange, fmt.Errorf("latitude %v or longitude %v is out of range", lat, lon)}
	}
	p.Point = point
	return nil
}

// earth is every longitude and latitude that there is, limits included.
var earth = orb.Bound{Min: orb.Point{-180, -90}, Max: orb.Point{180, 90}}
