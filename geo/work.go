package geo

import (
	"fmt"
	"slices"
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

// work is what decoding one event needs. It serves one event after the other.
type work struct {
	cfg      *Config
	unpacker unpacker
	scan     scanner // over the text
	inner    scanner // over a value within it, such as a geometry
	object   fields  // of the element being read
	found    []candidate
}

// keepCandidates is how many candidates a work keeps room for between events,
// so that one great batch does not hold memory for ever.
const keepCandidates = 512

// forget lets go of the event.
func (w *work) forget() {
	w.unpacker.forget()
	w.scan.reset(nil)
	w.inner.reset(nil)
	w.object = fields{}
	clear(w.found)
	w.found = w.found[:0]
	if cap(w.found) > keepCandidates {
		w.found = nil
	}
}

// next appends a candidate that knows nothing. It is good until the next call.
func (w *work) next() (*candidate, error) {
	if len(w.found) >= w.cfg.MaxPositions {
		return nil, &verdict{TooLarge, fmt.Errorf("more than %d positions in one event", w.cfg.MaxPositions)}
	}
	w.found = append(w.found, candidate{position: Position{
		Altitude: unknown, Speed: unknown, Heading: unknown, Battery: unknown, HDOP: unknown,
	}})
	return &w.found[len(w.found)-1], nil
}

// errElement is the detail of an element of a batch that is something else.
const errElement = errText("element is no object")

// addMalformed adds an element that cannot be read.
func (w *work) addMalformed(detail error) error {
	c, err := w.next()
	if err != nil {
		return err
	}
	c.before, c.err = Malformed, detail
	return nil
}

// elements says which objects may be positions.
type elements int

const (
	anyObject elements = iota
	onlyFeatures
)

// add adds the position of an object: a GeoJSON Feature, or else the reference
// form or flat JSON.
func (w *work) add(f *fields, allowed elements) error {
	feature := isText(f.kind, "Feature")
	if allowed == onlyFeatures && !feature {
		return w.addMalformed(errText("element of the FeatureCollection is no Feature"))
	}
	if isText(f.kind, "FeatureCollection") {
		return w.addMalformed(errText("element is a FeatureCollection within a batch"))
	}
	c, err := w.next()
	if err != nil {
		return err
	}
	var geometry []byte
	if feature {
		geometry = f.geometry
		w.flatten(f)
	}
	if !w.carriesPositions(f.sensorType) {
		c.before, c.err = OtherSensor, errText("the sensor type is not one of those configured")
	}
	c.identify(f)
	if c.before != "" {
		return nil
	}
	if feature {
		err = w.locateFeature(&c.position, geometry)
	} else {
		err = locateFlat(&c.position, f)
	}
	if err != nil {
		c.after, c.err = reasonOf(err), err
		return nil
	}
	c.position.measure(f)
	return nil
}

func (w *work) carriesPositions(sensorType []byte) bool {
	return isNull(sensorType) || slices.ContainsFunc(w.cfg.SensorTypes, func(allowed string) bool {
		return isText(sensorType, allowed)
	})
}

// identify reads the ids. A delivery id only has to be a text where it is the
// partition key; elsewhere an integer will do, and what is neither is left out.
func (c *candidate) identify(f *fields) {
	id, ok := idText(f.deviceID)
	c.position.DeviceID, c.badID = string(id), !ok
	if isNull(f.deliveryID) {
		return
	}
	c.badKey = f.deliveryID[0] != '"'
	if id, ok = idText(f.deliveryID); ok {
		c.position.DeliveryID = string(id)
	}
}
