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
	d.scratch.New = func() any { return &work{cfg: &d.cfg} }
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

	who := sender{device: ev.HubDeviceID, module: ev.ModuleID}
	err := w.read(ev, &who)
	if err == nil && len(w.found) == 0 {
		err = errText("the body holds no position")
	}
	if err != nil {
		return append(dst, Item{
			Position: Position{DeviceID: who.device},
			Reason:   reasonOf(err),
			Err:      err,
		})
	}
	return d.judge(dst, w.found, who)
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

// sender is who the hub says has sent an event.
type sender struct{ device, module string }

// judge turns what was found in one event into verdicts. Up to here each
// position was looked at alone; who may speak for whom needs all of them.
func (d *Decoder) judge(dst []Item, found []candidate, who sender) []Item {
	bodySpeaks := who.device == "" || who.module != "" || d.cfg.DeviceID == BodyDeviceID || d.gateway(who.device)
	several := !bodySpeaks && namesSeveral(found)
	for i := range found {
		c := &found[i]
		dst = append(dst, Item{Position: c.position})
		item := &dst[len(dst)-1]
		switch {
		case bodySpeaks && item.Position.DeviceID != "":
			item.Position.Gateway = who.device
		case bodySpeaks && c.badID:
		default:
			item.Position.DeviceID = who.device
		}
		switch {
		case c.before != "":
			item.Reason, item.Err = c.before, c.err
		case several:
			item.Reason, item.Err = BadID, errMany
		case bodySpeaks && c.badID:
			item.Reason, item.Err = BadID, errIDs
		case item.Position.DeviceID == "":
			item.Reason, item.Err = MissingID, errNoID
		default:
			d.finish(item, c)
		}
	}
	return dst
}

// finish gives the verdicts that follow the device id.
func (d *Decoder) finish(item *Item, c *candidate) {
	id, err := DocumentID(item.Position.DeviceID)
	if err != nil {
		item.Reason, item.Err = BadID, err
		return
	}
	if c.after != "" {
		item.Reason, item.Err = c.after, c.err
		return
	}
	key := ""
	switch d.cfg.KeyPath {
	case keyDeviceID:
		key = item.Position.DeviceID
	case keyDeliveryID:
		if c.badKey {
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

// namesSeveral reports whether the positions of one event name more than one device.
func namesSeveral(found []candidate) bool {
	first := ""
	for i := range found {
		switch id := found[i].position.DeviceID; {
		case id == "" || id == first:
		case first == "":
			first = id
		default:
			return true
		}
	}
	return false
}
