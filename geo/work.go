package geo

import "fmt"

// work is what decoding one event needs. It serves one event after the other.
type work struct {
	cfg      *Config
	unpacker unpacker
	object   fields  // of the element being read
	mapper   *mapper // nil without a mapping
	walker   walker
	mapped   fields // what the mapper has found in the element
	units    units
	who      sender

	// items grows at the end of the caller's slice, from start. Until judge has
	// gone over it an item says what its element says: DeviceID is the body's
	// word, Reason and Err are of the element alone. notes has one entry per item.
	items []Item
	start int
	notes []note

	// The ids read last. Body and hub mostly name the same device, and one batch
	// the same delivery again and again, which need not be allocated again.
	device, delivery string
}

// note is what has to be known of an element until it is known who may speak
// for whom.
type note struct {
	final  bool // Reason outranks all that the ids can say
	badID  bool // the body's device id is neither text nor an integer
	badKey bool // the delivery id is no text
}

// sender is who the hub says has sent an event.
type sender struct{ device, module string }

// begin prepares for an event, whose items go to the end of dst.
func (w *work) begin(dst []Item, ev *Event) {
	w.items, w.start = dst, len(dst)
	w.who = sender{device: ev.HubDeviceID, module: ev.ModuleID}
	w.device = w.who.device
}

// forget lets go of the event.
func (w *work) forget() {
	w.unpacker.forget()
	w.object, w.mapped = fields{}, fields{}
	if w.mapper != nil {
		w.walker.reset(nil)
	}
	w.who = sender{}
	w.items = nil
	w.notes = w.notes[:0]
	w.device, w.delivery = "", ""
}

// discard takes back the items found so far: the body does not parse to its end.
func (w *work) discard() {
	clear(w.items[w.start:])
	w.items = w.items[:w.start]
}

// next appends an item that knows nothing. It is good until the next call.
func (w *work) next() (*Item, *note, error) {
	if len(w.notes) >= w.cfg.MaxPositions {
		return nil, nil, &verdict{TooLarge, fmt.Errorf("more than %d positions in one event", w.cfg.MaxPositions)}
	}
	w.notes = append(w.notes, note{})
	w.items = append(w.items, Item{})
	item := &w.items[len(w.items)-1]
	p := &item.Position
	p.Altitude, p.Speed, p.Heading, p.Battery, p.HDOP = unknown, unknown, unknown, unknown, unknown
	return item, &w.notes[len(w.notes)-1], nil
}

// addMalformed adds an element that cannot be read.
func (w *work) addMalformed(detail error) error {
	item, note, err := w.next()
	if err != nil {
		return err
	}
	item.Reason, item.Err, note.final = Malformed, detail, true
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
	item, note, err := w.next()
	if err != nil {
		return err
	}
	p, geometry := &item.Position, f.geometry
	if feature {
		flatten(f)
	}
	if w.mapper != nil && w.mapper.merge(f, &w.mapped) {
		feature, f.position = false, nil // the mapping's word on where it is
	}
	p.DeviceID, note.badID = w.deviceID(f.deviceID)
	p.DeliveryID, note.badKey = w.deliveryID(f.deliveryID)
	if !w.carriesPositions(f.sensorType) {
		item.Reason, item.Err, note.final = OtherSensor, errText("the sensor type is not one of those configured"), true
		return nil
	}
	if feature {
		err = locateFeature(p, geometry)
	} else {
		err = locateFlat(p, f, &w.units)
	}
	if err != nil {
		item.Reason, item.Err = reasonOf(err), err
		return nil
	}
	p.measure(f, &w.units)
	return nil
}

func (w *work) carriesPositions(sensorType []byte) bool {
	if isNull(sensorType) {
		return true
	}
	for _, allowed := range w.cfg.SensorTypes {
		if isText(sensorType, allowed) {
			return true
		}
	}
	return false
}

// deviceID reads the body's device id.
func (w *work) deviceID(value []byte) (id string, bad bool) {
	text, ok := idText(value)
	w.device = sameText(w.device, text)
	return w.device, !ok
}

// deliveryID reads a delivery id. It only has to be a text where it is the
// partition key; elsewhere an integer will do, and what is neither is left out.
func (w *work) deliveryID(value []byte) (id string, badKey bool) {
	text, _ := idText(value)
	w.delivery = sameText(w.delivery, text)
	return w.delivery, !isNull(value) && value[0] != '"'
}

// sameText returns text as a string: known, if that is what it says.
func sameText(known string, text []byte) string {
	if string(text) == known {
		return known
	}
	return string(text)
}
