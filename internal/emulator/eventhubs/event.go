package eventhubs

import (
	"maps"
	"slices"
	"time"

	"warmpath/internal/emulator/amqp"
)

// Annotations that the service sets on every event.
const (
	annotationSequence     = "x-opt-sequence-number"
	annotationOffset       = "x-opt-offset"
	annotationEnqueued     = "x-opt-enqueued-time"
	annotationPartitionKey = "x-opt-partition-key"
)

// Event is an event to publish from within the process.
type Event struct {
	Body []byte
	// Properties are the AMQP properties: message id, content type and so on.
	Properties amqp.Properties
	// ApplicationProperties and Annotations hold values that [amqp.Append] can
	// encode.
	ApplicationProperties map[string]any
	Annotations           map[string]any
	PartitionKey          string
	// EnqueuedTime is cut to milliseconds; zero means the server's clock.
	EnqueuedTime time.Time
}

// Position is where an event stands in its partition.
type Position struct {
	Sequence int64
	Offset   string
}

// encode returns the event as a sender would have sent it.
func (e *Event) encode() []byte {
	var b []byte
	if len(e.Annotations) > 0 {
		w := amqp.OpenMapSection(b, amqp.SectionAnnotations)
		for _, key := range slices.Sorted(maps.Keys(e.Annotations)) {
			w.Symbol(amqp.Symbol(key), e.Annotations[key])
		}
		b = w.Close()
	}
	b = amqp.AppendProperties(b, e.Properties)
	if len(e.ApplicationProperties) > 0 {
		w := amqp.OpenMapSection(b, amqp.SectionApplicationProperties)
		for _, key := range slices.Sorted(maps.Keys(e.ApplicationProperties)) {
			w.String(key, e.ApplicationProperties[key])
		}
		b = w.Close()
	}
	return amqp.AppendData(b, e.Body)
}

// record is an event on its way into a log: what its sender said, checked, not
// copied.
type record struct {
	kept     []amqp.Entry  // the sender's annotations that stay
	added    []annotation  // by the hub
	key      string        // partition key, or ""
	hideKey  bool          // from receivers
	sections amqp.Sections // of the message
	enqueued time.Time     // zero for the clock's time
}

type annotation struct {
	key   amqp.Symbol
	value any
}

// annotate adds an annotation unless the sender set it.
func (r *record) annotate(key amqp.Symbol, value any) {
	for _, e := range r.kept {
		if e.Key == string(key) {
			return
		}
	}
	r.added = append(r.added, annotation{key, value})
}

func (r *record) applicationProperties() (amqp.Map, error) {
	if r.sections.ApplicationProperties == nil {
		return nil, nil
	}
	return amqp.DecodeMap(r.sections.ApplicationProperties)
}

// parseRecord takes a sender's encoded message apart.
func parseRecord(message []byte) (record, error) {
	sections, err := amqp.SplitMessage(message)
	if err != nil {
		return record{}, err
	}
	r := record{sections: sections}
	if sections.Annotations == nil {
		return r, nil
	}
	entries, err := amqp.Entries(sections.Annotations)
	if err != nil {
		return record{}, err
	}
	for _, e := range entries {
		switch e.Key {
		case annotationSequence, annotationOffset, annotationEnqueued:
		case annotationPartitionKey:
			if v, _, err := amqp.Decode(e.Value); err == nil {
				r.key, _ = v.(string)
			}
		default:
			r.kept = append(r.kept, e)
		}
	}
	return r, nil
}

// appendTo appends the event as receivers get it.
func (r *record) appendTo(b []byte, sequence int64, offset string, enqueued time.Time) []byte {
	w := amqp.OpenMapSection(b, amqp.SectionAnnotations)
	w.Symbol(annotationSequence, sequence)
	w.Symbol(annotationOffset, offset)
	w.Symbol(annotationEnqueued, enqueued)
	if r.key != "" && !r.hideKey {
		w.Symbol(annotationPartitionKey, r.key)
	}
	for _, e := range r.kept {
		w.Raw(e)
	}
	for _, a := range r.added {
		w.Symbol(a.key, a.value)
	}
	return append(w.Close(), r.sections.Bare...)
}
