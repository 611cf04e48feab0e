package eventhubs

import (
	"bytes"
	"fmt"
	"slices"

	"warmpath/internal/emulator/amqp"
)

// Poison is a kind of event that clients stumble over.
type Poison string

// The kinds. The first group breaks the Go client's AMQP decoder, so that it
// asks for the same event for ever; the second breaks its conversion of the
// decoded message; the third is legal and unusual.
const (
	PoisonChar      Poison = "char"      // an application property of AMQP type char
	PoisonDecimal   Poison = "decimal"   // one of type decimal128
	PoisonTruncated Poison = "truncated" // the last section is cut short

	PoisonOffsetType   Poison = "offset-type"   // x-opt-offset is a long
	PoisonSequenceType Poison = "sequence-type" // x-opt-sequence-number is a string
	PoisonKeyType      Poison = "key-type"      // x-opt-partition-key is a long
	PoisonTimeType     Poison = "time-type"     // x-opt-enqueued-time is a string
	PoisonNoSequence   Poison = "no-sequence"   // x-opt-sequence-number is missing
	PoisonBare         Poison = "bare"          // all annotations are missing

	PoisonEmpty    Poison = "empty"     // an empty body
	PoisonNoBody   Poison = "no-body"   // no body section
	PoisonValue    Poison = "value"     // an amqp-value body
	PoisonSequence Poison = "sequence"  // an amqp-sequence body
	PoisonTwoData  Poison = "two-data"  // two data sections
	PoisonHuge     Poison = "huge"      // a body of 1,000,000 bytes
	PoisonNotJSON  Poison = "not-json"  // a body that is text
	PoisonNotUTF8  Poison = "not-utf-8" // a body that is no UTF-8
)

// Poisons lists all kinds.
func Poisons() []Poison {
	return []Poison{
		PoisonChar, PoisonDecimal, PoisonTruncated,
		PoisonOffsetType, PoisonSequenceType, PoisonKeyType, PoisonTimeType, PoisonNoSequence, PoisonBare,
		PoisonEmpty, PoisonNoBody, PoisonValue, PoisonSequence, PoisonTwoData, PoisonHuge, PoisonNotJSON, PoisonNotUTF8,
	}
}

// PublishPoison appends a poison event to a partition.
func (s *Server) PublishPoison(hub, partition string, kind Poison) (Position, error) {
	p, err := s.partition(hub, partition)
	if err != nil {
		return Position{}, fmt.Errorf("publish poison: %w", err)
	}
	if !slices.Contains(Poisons(), kind) {
		return Position{}, fmt.Errorf("publish poison: kind %q is unknown", kind)
	}
	now := s.now()
	return p.appendEncoded(now, func(b []byte, at Position) []byte {
		annotations := map[amqp.Symbol]any{
			annotationSequence: at.Sequence,
			annotationOffset:   at.Offset,
			annotationEnqueued: now,
		}
		kind.annotate(annotations)
		if len(annotations) > 0 {
			w := amqp.OpenMapSection(b, amqp.SectionAnnotations)
			for _, key := range []amqp.Symbol{annotationSequence, annotationOffset, annotationEnqueued, annotationPartitionKey} {
				if v, ok := annotations[key]; ok {
					w.Symbol(key, v)
				}
			}
			b = w.Close()
		}
		return kind.appendRest(b)
	}), nil
}

// annotate spoils the service's annotations.
func (k Poison) annotate(annotations map[amqp.Symbol]any) {
	switch k {
	case PoisonOffsetType:
		annotations[annotationOffset] = annotations[annotationSequence]
	case PoisonSequenceType:
		annotations[annotationSequence] = fmt.Sprint(annotations[annotationSequence])
	case PoisonKeyType:
		annotations[annotationPartitionKey] = int64(7)
	case PoisonTimeType:
		annotations[annotationEnqueued] = "yesterday"
	case PoisonNoSequence:
		delete(annotations, annotationSequence)
	case PoisonBare:
		clear(annotations)
	}
}

// appendRest appends what follows the annotations.
func (k Poison) appendRest(b []byte) []byte {
	property := func(v any) {
		w := amqp.OpenMapSection(b, amqp.SectionApplicationProperties)
		w.String("poison", v)
		b = w.Close()
	}
	body := []byte(`{"poison":"` + string(k) + `"}`)
	switch k {
	case PoisonChar:
		property(amqp.Char('x'))
	case PoisonDecimal:
		property(amqp.Decimal128{15: 1})
	case PoisonTruncated:
		b = amqp.AppendData(b, body)
		return b[:len(b)-5]
	case PoisonEmpty:
		body = nil
	case PoisonNoBody:
		return b
	case PoisonValue:
		return amqp.AppendValue(b, string(body))
	case PoisonSequence:
		return amqp.Append(b, amqp.Described{Descriptor: uint64(amqp.SectionSequence), Value: amqp.List{string(body)}})
	case PoisonTwoData:
		b = amqp.AppendData(b, body)
	case PoisonHuge:
		body = bytes.Repeat([]byte("x"), 1_000_000)
	case PoisonNotJSON:
		body = []byte("not JSON")
	case PoisonNotUTF8:
		body = []byte("{\"deviceId\":\"\xff\xfe\"}")
	}
	return amqp.AppendData(b, body)
}
