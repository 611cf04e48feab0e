package geo

import "fmt"

// maxDepth is how deep arrays and objects may nest, as in encoding/json.
const maxDepth = 10_000

// scanner reads JSON (RFC 8259) as spans of a text that is known to be UTF-8:
// nothing is copied, nothing is converted before somebody wants it. It takes
// and refuses what jsontext does, names given twice apart; a fuzz target holds
// the two against each other. docs/adr/0002-json-library.md says why it is
// written by hand.
type scanner struct {
	text    []byte
	pos     int
	depth   int
	escaped bool // the string read last has escapes
}

func (s *scanner) reset(text []byte) { *s = scanner{text: text} }

// peek skips blanks and returns the byte that follows, 0 at the end.
func (s *scanner) peek() byte {
	for s.pos < len(s.text) {
		c := s.text[s.pos]
		if c > ' ' || c != ' ' && c != '\n' && c != '\r' && c != '\t' {
			return c
		}
		s.pos++
	}
	return 0
}

// end returns an error unless nothing but blanks is left.
func (s *scanner) end() error {
	s.peek()
	if s.pos < len(s.text) {
		return s.fail("data after the value")
	}
	return nil
}

// value reads the next value and returns its span.
func (s *scanner) value() ([]byte, error) {
	c := s.peek()
	start := s.pos
	var err error
	switch c {
	case '"':
		err = s.str()
	case '{':
		err = s.object(nil)
	case '[':
		err = s.array(nil)
	case 't':
		err = s.literal("true")
	case 'f':
		err = s.literal("false")
	case 'n':
		err = s.literal("null")
	default:
		err = s.number()
	}
	return s.text[start:s.pos], err
}

// object reads the object that peek has seen, and sets the fields of its members
// in order; nil reads members to skip them.
func (s *scanner) object(f *fields) error {
	if err := s.enter(); err != nil {
		return err
	}
	if s.peek() == '}' {
		return s.leave()
	}
	for {
		if s.peek() != '"' {
			return s.fail("a member without a name")
		}
		start := s.pos
		if err := s.str(); err != nil {
			return err
		}
		name := s.text[start+1 : s.pos-1]
		if s.escaped {
			name = unquote(s.text[start:s.pos])
		}
		if s.peek() != ':' {
			return s.fail("a member name without a colon")
		}
		s.pos++
		value, err := s.value()
		if err != nil {
			return err
		}
		if f != nil {
			f.set(name, value)
		}
		switch s.peek() {
		case ',':
			s.pos++
		case '}':
			return s.leave()
		default:
			return s.fail("a member without a comma or brace behind it")
		}
	}
}

// array reads the array that peek has seen. For each element it calls read,
// which must read exactly one value; nil reads elements to skip them.
func (s *scanner) array(read func() error) error {
	if err := s.enter(); err != nil {
		return err
	}
	if s.peek() == ']' {
		return s.leave()
	}
	for {
		var err error
		if read != nil {
			err = read()
		} else {
			_, err = s.value()
		}
		if err != nil {
			return err
		}
		switch s.peek() {
		case ',':
			s.pos++
		case ']':
			return s.leave()
		default:
			return s.fail("an element without a comma or bracket behind it")
		}
	}
}

// enter goes past the bracket that opens an array or object.
func (s *scanner) enter() error {
	if s.depth == maxDepth {
		return s.fail("arrays and objects nest too deep")
	}
	s.depth++
	s.pos++
	return nil
}

// leave goes past the bracket that closes an array or object.
func (s *scanner) leave() error {
	s.depth--
	s.pos++
	return nil
}

// str reads a string from its opening quote.
func (s *scanner) str() error {
	s.escaped = false
	text, i := s.text, s.pos+1
	for {
		for i+4 <= len(text) && plain[text[i]] && plain[text[i+1]] && plain[text[i+2]] && plain[text[i+3]] {
			i += 4
		}
		for i < len(text) && plain[text[i]] {
			i++
		}
		s.pos = i
		switch {
		case i == len(text):
			return s.fail("a string without an end")
		case text[i] == '"':
			s.pos++
			return nil
		case text[i] != '\\':
			return s.fail("a control character in a string")
		}
		n := escapeLen(text[i:])
		if n == 0 {
			return s.fail("an escape that is none")
		}
		s.escaped = true
		i += n
	}
}

// plain are the bytes that stand for themselves in a string.
var plain = func() (plain [256]bool) {
	for c := range plain {
		plain[c] = c >= ' ' && c != '"' && c != '\\'
	}
	return plain
}()

// escapeLen returns the length of the escape that text begins with, 0 if it is
// none. Two escapes that make a surrogate pair count as one.
func escapeLen(text []byte) int {
	if len(text) < 2 {
		return 0
	}
	switch text[1] {
	case '"', '\\', '/', 'b', 'f', 'n', 'r', 't':
		return 2
	}
	switch r := hexEscape(text); {
	case r < 0, r >= 0xDC00 && r <= 0xDFFF:
		return 0
	case r >= 0xD800 && r <= 0xDBFF:
		if low := hexEscape(text[6:]); low < 0xDC00 || low > 0xDFFF {
			return 0
		}
		return 12
	default:
		return 6
	}
}

// hexEscape returns the code unit that text names as \uXXXX, -1 if it does not.
func hexEscape(text []byte) rune {
	if len(text) < 6 || text[0] != '\\' || text[1] != 'u' {
		return -1
	}
	var r rune
	for _, c := range text[2:6] {
		switch {
		case c >= '0' && c <= '9':
			c -= '0'
		case c >= 'a' && c <= 'f':
			c -= 'a' - 10
		case c >= 'A' && c <= 'F':
			c -= 'A' - 10
		default:
			return -1
		}
		r = r<<4 | rune(c)
	}
	return r
}

// number reads -?(0|[1-9][0-9]*)(.[0-9]+)?([eE][+-]?[0-9]+)?
func (s *scanner) number() error {
	if s.at('-') {
		s.pos++
	}
	if s.at('0') {
		s.pos++
	} else if !s.digits() {
		return s.fail("no value")
	}
	if s.at('.') {
		s.pos++
		if !s.digits() {
			return s.fail("a number without digits after its point")
		}
	}
	if s.at('e') || s.at('E') {
		s.pos++
		if s.at('+') || s.at('-') {
			s.pos++
		}
		if !s.digits() {
			return s.fail("a number without digits in its exponent")
		}
	}
	return nil
}

// at reports whether the next byte is c.
func (s *scanner) at(c byte) bool { return s.pos < len(s.text) && s.text[s.pos] == c }

// digits goes past digits, and reports whether there are any.
func (s *scanner) digits() bool {
	start := s.pos
	for s.pos < len(s.text) && isDigit(s.text[s.pos]) {
		s.pos++
	}
	return s.pos > start
}

func (s *scanner) literal(want string) error {
	if end := s.pos + len(want); end <= len(s.text) && string(s.text[s.pos:end]) == want {
		s.pos = end
		return nil
	}
	return s.fail("no value")
}

// syntaxError says where a JSON text goes wrong, and quotes nothing of it.
type syntaxError struct {
	at   int
	what string
}

func (e *syntaxError) Error() string { return fmt.Sprintf("not JSON at byte %d: %s", e.at, e.what) }

func (s *scanner) fail(what string) error { return &syntaxError{at: s.pos, what: what} }
