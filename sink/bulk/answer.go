package bulk

import (
	"errors"
	"math"
	"strconv"
	"time"
)

// answer is the service's word on one operation.
type answer struct {
	status     int
	subStatus  int
	charge     float64
	retryAfter time.Duration
	etag       []byte // a part of what was parsed, as is the body
	body       []byte // resourceBody as it stands, nil if there is none
}

var (
	errAnswerSyntax = errors.New("the answer is not the JSON it should be")
	errAnswerShape  = errors.New("the answer is not an array of results")
	errAnswerShort  = errors.New("the answer ends too soon")
)

// parseAnswers reads the body of a bulk response, an array of objects, and
// appends one answer per element. Members it does not know are skipped. An
// array that does not close, or is followed by something, is an error: what was
// understood until then is of no use, because an operation without an answer
// must be sent again. The text is the parser's to change.
func parseAnswers(dst []answer, text []byte) ([]answer, error) {
	s := scanner{text: text}
	if s.next() != '[' {
		if s.at >= len(text) {
			return dst, errAnswerShort
		}
		return dst, errAnswerShape
	}
	s.at++
	for first := true; ; first = false {
		c := s.next()
		if c == ']' && first {
			break
		}
		var a answer
		if err := s.answer(&a); err != nil {
			return dst, err
		}
		dst = append(dst, a)
		if c = s.next(); c == ']' {
			break
		} else if c != ',' {
			return dst, s.unexpected()
		}
		s.at++
	}
	s.at++
	if s.next(); s.at < len(text) {
		return dst, errAnswerSyntax
	}
	return dst, nil
}

// answer reads one element of the array.
func (s *scanner) answer(a *answer) error {
	if s.next() != '{' {
		return s.unexpected()
	}
	s.at++
	if s.next() == '}' {
		s.at++
		return errAnswerShape // every result has a status
	}
	for {
		name, err := s.name()
		if err != nil {
			return err
		}
		value, err := s.value()
		if err != nil {
			return err
		}
		switch string(name) {
		case "statusCode":
			a.status, err = wholeNumber(value)
		case "subStatusCode":
			a.subStatus, err = wholeNumber(value)
		case "requestCharge":
			a.charge, err = number(value)
		case "retryAfterMilliseconds":
			var ms float64
			if ms, err = number(value); err == nil {
				a.retryAfter = milliseconds(ms)
			}
		case "eTag":
			a.etag, err = unquote(value)
		case "resourceBody":
			if value[0] != 'n' { // null
				a.body = value
			}
		}
		if err != nil {
			return err
		}
		switch s.next() {
		case ',':
			s.at++
		case '}':
			s.at++
			if a.status < 100 || a.status > 999 {
				return errAnswerShape
			}
			return nil
		default:
			return s.unexpected()
		}
	}
}

// number reads a JSON number, or the number in a JSON string, as which some
// services send it. Null is 0.
func number(value []byte) (float64, error) {
	switch value[0] {
	case 'n':
		return 0, nil
	case '"':
		value = value[1 : len(value)-1]
	}
	if n, ok := smallInteger(value); ok {
		return float64(n), nil
	}
	f, err := strconv.ParseFloat(string(value), 64)
	if err != nil || math.IsInf(f, 0) || math.IsNaN(f) {
		return 0, errAnswerSyntax
	}
	return f, nil
}

// wholeNumber reads a status.
func wholeNumber(value []byte) (int, error) {
	f, err := number(value)
	if err != nil || f < -1e9 || f > 1e9 || f != math.Trunc(f) {
		return 0, errAnswerSyntax
	}
	return int(f), nil
}

// smallInteger reads what almost every status is, without ParseFloat.
func smallInteger(value []byte) (n int, ok bool) {
	if len(value) == 0 || len(value) > 9 {
		return 0, false
	}
	for _, c := range value {
		if c < '0' || c > '9' {
			return 0, false
		}
		n = 10*n + int(c-'0')
	}
	return n, true
}

// longestWait is the longest wait that is granted to a service. Its budgets are
// of one second; what asks for more is a proxy, or something broken.
const longestWait = time.Minute

// milliseconds makes a wait of what a service asks for.
func milliseconds(ms float64) time.Duration {
	if !(ms > 0) {
		return 0
	}
	return time.Duration(min(ms*float64(time.Millisecond), float64(longestWait)))
}
