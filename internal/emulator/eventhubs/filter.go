package eventhubs

import (
	"fmt"
	"strconv"
	"strings"

	"warmpath/internal/emulator/amqp"
)

// selector is the name and descriptor of the one filter that receivers use.
const (
	selectorName = "apache.org:selector-filter:string"
	selectorCode = 0x0000468C00000004
)

// start is where a receiver begins, as its filter says.
type start struct {
	field     string // one of the three annotations
	inclusive bool
	value     string
}

const valueLatest = "@latest"

var latest = start{annotationOffset, false, valueLatest}

// parseStart reads the filter set of a receiver's source. Without a selector a
// receiver begins with the next event that comes.
func parseStart(filters amqp.Map) (start, error) {
	v := filters.Get(selectorName)
	if v == nil {
		return latest, nil
	}
	if d, ok := v.(amqp.Described); ok {
		switch code := d.Descriptor.(type) {
		case uint64:
			if code != selectorCode {
				return start{}, fmt.Errorf("filter has descriptor %#x, want %#x", code, uint64(selectorCode))
			}
		case amqp.Symbol:
			if code != selectorName {
				return start{}, fmt.Errorf("filter has descriptor %q, want %q", code, selectorName)
			}
		}
		v = d.Value
	}
	expression, ok := v.(string)
	if !ok {
		return start{}, fmt.Errorf("filter is a %T, want a string", v)
	}
	return parseSelector(expression)
}

// parseSelector reads amqp.annotation.<name> (>|>=) '<value>', the only form
// that clients make. The quotes may be missing.
func parseSelector(expression string) (start, error) {
	invalid := fmt.Errorf("the filter '%s' is not a valid amqp filter for EventHub entities", expression)
	parts := strings.Fields(expression)
	if len(parts) != 3 {
		return start{}, invalid
	}
	var s start
	s.field = strings.TrimPrefix(parts[0], "amqp.annotation.")
	switch s.field {
	case annotationOffset, annotationSequence, annotationEnqueued:
	default:
		return start{}, invalid
	}
	switch parts[1] {
	case ">":
	case ">=":
		s.inclusive = true
	default:
		return start{}, invalid
	}
	s.value = strings.Trim(parts[2], "'")
	if s.field == annotationOffset {
		return s, nil // judged by the partition, whose offsets may be opaque
	}
	if _, err := strconv.ParseInt(s.value, 10, 64); err != nil {
		return start{}, invalid
	}
	return s, nil
}

// argumentError is how the service calls a start position it cannot use.
const argumentError amqp.Symbol = "com.microsoft:argument-error"

// locate finds the sequence number at which a receiver begins. What was trimmed
// is skipped; what is beyond the end is refused.
func (p *partition) locate(s start) (int64, *amqp.Error) {
	info := p.info()
	switch s.field {
	case annotationEnqueued, annotationSequence:
		n, err := strconv.ParseInt(s.value, 10, 64)
		if err != nil {
			return 0, amqp.Errorf(amqp.InvalidField, "The supplied value '%s' is not a number.", s.value)
		}
		if s.field == annotationEnqueued {
			return p.log.afterTime(n, s.inclusive), nil
		}
		if n > info.LastSequence {
			return 0, amqp.Errorf(argumentError,
				"The supplied sequence number '%d' is invalid. The last sequence number in the system is '%d'", n, info.LastSequence)
		}
		if !s.inclusive {
			n++
		}
		return max(info.BeginSequence, n), nil
	}
	if s.value == valueLatest {
		if s.inclusive {
			return max(info.BeginSequence, info.LastSequence), nil
		}
		return info.LastSequence + 1, nil
	}
	n, refused := p.parseOffset(s.value)
	if refused != nil {
		return 0, refused
	}
	if last, _ := p.parseOffset(info.LastOffset); n > last {
		return 0, amqp.Errorf(argumentError,
			"The supplied offset '%s' is invalid. The last offset in the system is '%s'", s.value, info.LastOffset)
	}
	return p.log.afterOffset(n, s.inclusive), nil
}
