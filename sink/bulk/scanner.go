package bulk

import "bytes"

// scanner walks over JSON that it understands only as far as needed to find
// members: it tells values apart without decoding them.
type scanner struct {
	text []byte
	at   int
}

// next skips white space and returns the byte there, 0 at the end.
func (s *scanner) next() byte {
	for s.at < len(s.text) {
		switch c := s.text[s.at]; c {
		case ' ', '\t', '\r', '\n':
			s.at++
		default:
			return c
		}
	}
	return 0
}

// unexpected is the error for the byte at the current place.
func (s *scanner) unexpected() error {
	if s.at >= len(s.text) {
		return errAnswerShort
	}
	return errAnswerSyntax
}

// name reads the name of a member and the colon after it. Names are compared as
// they are written: the service escapes nothing in them.
func (s *scanner) name() ([]byte, error) {
	if s.next() != '"' {
		return nil, s.unexpected()
	}
	start := s.at + 1
	if err := s.skipString(); err != nil {
		return nil, err
	}
	name := s.text[start : s.at-1]
	if s.next() != ':' {
		return nil, s.unexpected()
	}
	s.at++
	return name, nil
}

// value skips a value of any kind and returns its text, which is not empty.
func (s *scanner) value() ([]byte, error) {
	c := s.next()
	start := s.at
	switch c {
	case '"':
		if err := s.skipString(); err != nil {
			return nil, err
		}
	case '{', '[':
		if err := s.skipNested(); err != nil {
			return nil, err
		}
	default:
		for s.at < len(s.text) && isScalar(s.text[s.at]) {
			s.at++
		}
		if s.at == start {
			return nil, s.unexpected()
		}
	}
	return s.text[start:s.at], nil
}

// isScalar tells whether a byte can be part of a number, true, false or null.
func isScalar(c byte) bool {
	return c >= '0' && c <= '9' || c >= 'a' && c <= 'z' || c == '-' || c == '+' || c == '.' || c == 'E'
}

// skipString skips the string that starts here.
func (s *scanner) skipString() error {
	from := s.at + 1
	for {
		n := bytes.IndexByte(s.text[from:], '"')
		if n < 0 {
			s.at = len(s.text)
			return errAnswerShort
		}
		end := from + n
		escapes := 0
		for i := end - 1; i >= from && s.text[i] == '\\'; i-- {
			escapes++
		}
		from = end + 1
		if escapes%2 == 0 {
			s.at = from
			return nil
		}
	}
}

// skipNested skips the object or array that starts here. It asks only that
// brackets match: what is inside is the caller's own document come back.
func (s *scanner) skipNested() error {
	depth := 0
	for s.at < len(s.text) {
		switch s.text[s.at] {
		case '"':
			if err := s.skipString(); err != nil {
				return err
			}
			continue
		case '{', '[':
			depth++
		case '}', ']':
			depth--
			if depth == 0 {
				s.at++
				return nil
			}
		}
		s.at++
	}
	return errAnswerShort
}

// unquote returns the etag in a JSON string, null being none. It undoes escapes
// in place, since text never grows by that.
func unquote(value []byte) ([]byte, error) {
	switch value[0] {
	case 'n':
		return nil, nil
	case '"':
	default:
		return nil, errAnswerSyntax
	}
	inside := value[1 : len(value)-1]
	escape := bytes.IndexByte(inside, '\\')
	if escape < 0 {
		return inside, nil
	}
	text := inside[:escape]
	for i := escape; i < len(inside); i++ {
		c := inside[i]
		if c == '\\' {
			i++
			c = inside[i] // there is one: the closing quote was not escaped
			if c != '"' && c != '\\' && c != '/' {
				return nil, errAnswerSyntax // an etag is printable ASCII (RFC 9110, 8.8.3)
			}
		}
		text = append(text, c)
	}
	return text, nil
}
