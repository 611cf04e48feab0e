package geo

import (
	"fmt"
	"path"
	"slices"
	"sync"
)

// Decoder decodes events. It is safe for concurrent use.
type Decoder struct {
	cfg     Config
	scratch sync.Pool // of *work
}

// NewDecoder returns a Decoder, or what Config.Validate says.
func NewDecoder(cfg Config) (*Decoder, error) {
	if err := cfg.Validate(); err != nil {
		return nil, fmt.Errorf("payload settings: %w", err)
	}
	cfg.SensorTypes = slices.Clone(cfg.SensorTypes)
	cfg.Gateways = slices.Clone(cfg.Gateways)
	d := &Decoder{cfg: cfg}
	mapper, units := newMapper(&cfg.Mapping), cfg.Mapping.units()
	d.scratch.New = func() any { return &work{cfg: &d.cfg, mapper: mapper, units: units} }
	return d, nil
}

// Decode appends the verdicts on the positions of an event to dst, in the order
// of the body, at least one. It keeps nothing of ev.
func (d *Decoder) Decode(dst []Item, ev *Event) []Item {
	if !ev.Telemetry() {
		return append(dst, Item{
			Position: Position{DeviceID: ev.HubDeviceID},
			Reason:   NotTelemetry,
			Err:      errNotTelemetry,
		})
	}
	w := d.scratch.Get().(*work)
	defer d.scratch.Put(w)
	defer w.forget()

	w.begin(dst, ev)
	err := w.read(ev)
	if err == nil && len(w.notes) == 0 {
		err = errText("the body holds no position")
	}
	if err != nil {
		w.discard()
		return append(w.items, Item{
			Position: Position{DeviceID: w.who.device},
			Reason:   reasonOf(err),
			Err:      err,
		})
	}
	d.judge(w.items[w.start:], w.notes, &w.who)
	return w.items
}

// DecodeStale appends the verdicts on an event that is older than allowed:
// NotTelemetry comes before age, every position of any other event is Stale
// whatever its content.
func (d *Decoder) DecodeStale(dst []Item, ev *Event) []Item {
	start := len(dst)
	dst = d.Decode(dst, ev)
	for i := range dst[start:] {
		if item := &dst[start+i]; item.Reason != NotTelemetry {
			*item = Item{Position: Position{DeviceID: item.Position.DeviceID}, Reason: Stale}
		}
	}
	return dst
}

// Count returns how many positions an event counts as, at least 1: the length
// of what Decode appends.
func (d *Decoder) Count(ev *Event) int { return len(d.Decode(nil, ev)) }

// judge turns what the elements of one event say into verdicts. Up to here each
// was looked at alone; who may speak for whom needs all of them.
func (d *Decoder) judge(items []Item, notes []note, who *sender) {
	bodySpeaks := who.device == "" || who.module != "" || d.cfg.DeviceID == BodyDeviceID || d.gateway(who.device)
	several := !bodySpeaks && nameSeveral(items)
	for i := range items {
		item, note := &items[i], notes[i]
		if bodySpeaks && item.Position.DeviceID != "" {
			item.Position.Gateway = who.device
		} else if !bodySpeaks || !note.badID {
			item.Position.DeviceID = who.device
		}
		switch {
		case note.final:
		case several:
			item.Reason, item.Err = BadID, errMany
		case bodySpeaks && note.badID:
			item.Reason, item.Err = BadID, errIDs
		case item.Position.DeviceID == "":
			item.Reason, item.Err = MissingID, errNoID
		default:
			d.finish(item, note.badKey)
		}
	}
}

// finish gives the verdicts that follow the device id: on the document id, on
// the coordinates, where reading them has given one, and on the partition key.
func (d *Decoder) finish(item *Item, badKey bool) {
	id, err := DocumentID(item.Position.DeviceID)
	if err != nil {
		item.Reason, item.Err = BadID, err
		return
	}
	if item.Reason != "" {
		return
	}
	key := ""
	switch d.cfg.KeyPath {
	case keyDeviceID:
		key = item.Position.DeviceID
	case keyDeliveryID:
		if badKey {
			item.Reason, item.Err = BadPartitionKey, errKey
			return
		}
		key = item.Position.DeliveryID
	case keyID:
		key = id
	}
	switch {
	case key == "":
		item.Reason, item.Err = MissingPartitionKey, errNoKey
	case len(key) > MaxKeyBytes:
		item.Reason = BadPartitionKey
		item.Err = fmt.Errorf("partition key of %d bytes is longer than %d", len(key), MaxKeyBytes)
	default:
		item.DocumentID, item.Key = id, key
	}
}

// MaxKeyBytes is the greatest length of a partition key value that Cosmos DB takes.
const MaxKeyBytes = 2048

func (d *Decoder) gateway(device string) bool {
	return slices.ContainsFunc(d.cfg.Gateways, func(pattern string) bool {
		ok, _ := path.Match(pattern, device) // validated in NewDecoder
		return ok
	})
}

// nameSeveral reports whether the elements of one event name more than one device.
func nameSeveral(items []Item) bool {
	first := ""
	for i := range items {
		switch id := items[i].Position.DeviceID; {
		case id == "" || id == first:
		case first == "":
			first = id
		default:
			return true
		}
	}
	return false
}
