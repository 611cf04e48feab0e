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

var latest = start{annotationOffset, false, "@latest"}

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
	parts := strings.Fields(expression)
	if len(parts) != 3 {
		return start{}, fmt.Errorf("filter %q is not <annotation> <operator> <value>", expression)
	}
	var s start
	var ok bool
	if s.field, ok = strings.CutPrefix(parts[0], "amqp.annotation."); !ok {
		return start{}, fmt.Errorf("filter %q does not begin with amqp.annotation.", expression)
	}
	switch s.field {
	case annotationOffset, annotationSequence, annotationEnqueued:
	default:
		return start{}, fmt.Errorf("filter %q is about an unknown annotation", expression)
	}
	switch parts[1] {
	case ">":
	case ">=":
		s.inclusive = true
	default:
		return start{}, fmt.Errorf("filter %q has an unknown operator", expression)
	}
	s.value = strings.Trim(parts[2], "'")
	if s.value == "@latest" {
		if s.field != annotationOffset {
			return start{}, fmt.Errorf("filter %q: only an offset can be @latest", expression)
		}
		return s, nil
	}
	if _, err := strconv.ParseInt(s.value, 10, 64); err != nil {
		return start{}, fmt.Errorf("filter %q has a value that is not a number", expression)
	}
	return s, nil
}

// argumentError is how the service calls a start position it cannot use.
const argumentError amqp.Symbol = "com.microsoft:argument-error"

// locate finds the sequence number at which a receiver begins.
func (p *partition) locate(s start) (int64, *amqp.Error) {
	l := p.log
	info := p.info()
	if s.value == "@latest" {
		if s.inclusive {
			return max(info.BeginSequence, info.LastSequence), nil
		}
		return info.LastSequence + 1, nil
	}
	n, err := strconv.ParseInt(s.value, 10, 64)
	if err != nil {
		return 0, amqp.Errorf(argumentError, "The supplied value '%s' is not a number.", s.value)
	}
	switch s.field {
	case annotationEnqueued:
		return l.afterTime(n, s.inclusive), nil
	case annotationSequence:
		if n > info.LastSequence {
			return 0, amqp.Errorf(argumentError,
				"The supplied sequence number '%d' is invalid. The last sequence number in the system is '%d'", n, info.LastSequence)
		}
		if !s.inclusive {
			n++
		}
		return max(info.BeginSequence, n), nil
	}
	if last, _ := strconv.ParseInt(info.LastOffset, 10, 64); n > last {
		return 0, amqp.Errorf(argumentError,
			"The supplied offset '%d' is invalid. The last offset in the system is '%d'", n, last)
	}
	return l.afterOffset(n, s.inclusive), nil
}
