package geo

import "fmt"

// The functions below read JSON (RFC 8259) in a text that is known to be UTF-8,
// from one place in it to the next: nothing is copied, nothing is converted
// before somebody wants it. Together they take and refuse what jsontext does,
// names given twice apart; a fuzz target holds the two against each other.
// docs/adr/0002-json-library.md says why they are written by hand.
//
// Each takes the place at which it begins, and returns the one behind what it
// has read. depth counts the arrays and objects around.

// maxDepth is how deep arrays and objects may nest, as in encoding/json.
const maxDepth = 10_000

// skipBlanks returns the place of the next byte that is not blank, which is
// len(text) if there is none.
func skipBlanks(text []byte, at int) int {
	for at < len(text) {
		if c := text[at]; c > ' ' || c != ' ' && c != '\n' && c != '\r' && c != '\t' {
			break
		}
		at++
	}
	return at
}

// byteAt returns the byte at a place, 0 at the end.
func byteAt(text []byte, at int) byte {
	if at < len(text) {
		return text[at]
	}
	return 0
}

// scanEnd returns an error unless nothing but blanks is left.
func scanEnd(text []byte, at int) error {
	if at = skipBlanks(text, at); at < len(text) {
		return &syntaxError{at, "data after the value"}
	}
	return nil
}

// scanValue reads the value that begins at a place.
func scanValue(text []byte, at, depth int) (int, error) {
	switch byteAt(text, at) {
	case '"':
		at, _, err := scanString(text, at)
		return at, err
	case '{':
		return scanObject(text, at, depth, nil)
	case '[':
		return scanArray(text, at, depth, func(at int) (int, error) { return scanValue(text, at, depth+1) })
	case 't':
		return scanLiteral(text, at, "true")
	case 'f':
		return scanLiteral(text, at, "false")
	case 'n':
		return scanLiteral(text, at, "null")
	default:
		return scanNumber(text, at)
	}
}

// scanObject reads the object that begins at a place, and sets the fields of its
// members in order; nil reads members to skip them.
func scanObject(text []byte, at, depth int, f *fields) (int, error) {
	if depth == maxDepth {
		return at, &syntaxError{at, "arrays and objects nest too deep"}
	}
	at = skipBlanks(text, at+1)
	if byteAt(text, at) == '}' {
		return at + 1, nil
	}
	for {
		if byteAt(text, at) != '"' {
			return at, &syntaxError{at, "a member without a name"}
		}
		end, escaped, err := scanString(text, at)
		if err != nil {
			return end, err
		}
		name := text[at+1 : end-1]
		if escaped {
			name = unquote(text[at:end])
		}
		at = skipBlanks(text, end)
		if byteAt(text, at) != ':' {
			return at, &syntaxError{at, "a member name without a colon"}
		}
		at = skipBlanks(text, at+1)
		end, err = scanValue(text, at, depth+1)
		if err != nil {
			return end, err
		}
		if f != nil {
			f.set(name, text[at:end])
		}
		at = skipBlanks(text, end)
		switch byteAt(text, at) {
		case ',':
			at = skipBlanks(text, at+1)
		case '}':
			return at + 1, nil
		default:
			return at, &syntaxError{at, "a member without a comma or brace behind it"}
		}
	}
}

// scanArray reads the array that begins at a place. It calls read at the place
// of each element, which reads exactly one value.
func scanArray(text []byte, at, depth int, read func(at int) (int, error)) (int, error) {
	if depth == maxDepth {
		return at, &syntaxError{at, "arrays and objects nest too deep"}
	}
	at = skipBlanks(text, at+1)
	if byteAt(text, at) == ']' {
		return at + 1, nil
	}
	for {
		end, err := read(at)
		if err != nil {
			return end, err
		}
		at = skipBlanks(text, end)
		switch byteAt(text, at) {
		case ',':
			at = skipBlanks(text, at+1)
		case ']':
			return at + 1, nil
		default:
			return at, &syntaxError{at, "an element without a comma or bracket behind it"}
		}
	}
}

// scanString reads a string from its opening quote.
func scanString(text []byte, at int) (end int, escaped bool, err error) {
	for at++; ; {
		for at+4 <= len(text) && plain[text[at]] && plain[text[at+1]] && plain[text[at+2]] && plain[text[at+3]] {
			at += 4
		}
		for at < len(text) && plain[text[at]] {
			at++
		}
		switch byteAt(text, at) {
		case '"':
			return at + 1, escaped, nil
		case '\\':
			n := escapeLen(text[at:])
			if n == 0 {
				return at, escaped, &syntaxError{at, "an escape that is none"}
			}
			escaped = true
			at += n
		default:
			return at, escaped, &syntaxError{at, "a string without an end, or a control character in it"}
		}
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
	switch byteAt(text, 1) {
	case '"', '\\', '/', 'b', 'f', 'n', 'r', 't':
		return 2
	}
	switch unit := escapedUnit(text); {
	case unit < 0, unit >= 0xDC00 && unit <= 0xDFFF:
		return 0
	case unit >= 0xD800 && unit <= 0xDBFF:
		if low := escapedUnit(text[6:]); low < 0xDC00 || low > 0xDFFF {
			return 0
		}
		return 12
	default:
		return 6
	}
}

// escapedUnit returns the UTF-16 code unit that text names as \uXXXX, -1 if it
// names none.
func escapedUnit(text []byte) int {
	if len(text) < 6 || text[0] != '\\' || text[1] != 'u' {
		return -1
	}
	unit := 0
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
		unit = unit<<4 | int(c)
	}
	return unit
}

// scanNumber reads -?(0|[1-9][0-9]*)(.[0-9]+)?([eE][+-]?[0-9]+)?
func scanNumber(text []byte, at int) (int, error) {
	if byteAt(text, at) == '-' {
		at++
	}
	end := at + 1
	if byteAt(text, at) != '0' {
		if end = skipDigits(text, at); end == at {
			return at, &syntaxError{at, "no value"}
		}
	}
	if at = end; byteAt(text, at) == '.' {
		if end = skipDigits(text, at+1); end == at+1 {
			return at, &syntaxError{at, "a number without digits after its point"}
		}
	}
	if at = end; byteAt(text, at) == 'e' || byteAt(text, at) == 'E' {
		at++
		if c := byteAt(text, at); c == '+' || c == '-' {
			at++
		}
		if end = skipDigits(text, at); end == at {
			return at, &syntaxError{at, "a number without digits in its exponent"}
		}
	}
	return end, nil
}

func skipDigits(text []byte, at int) int {
	for at < len(text) && isDigit(text[at]) {
		at++
	}
	return at
}

func scanLiteral(text []byte, at int, want string) (int, error) {
	if end := at + len(want); end <= len(text) && string(text[at:end]) == want {
		return end, nil
	}
	return at, &syntaxError{at, "no value"}
}

// syntaxError says where a JSON text goes wrong, and quotes nothing of it.
type syntaxError struct {
	at   int
	what string
}

func (e *syntaxError) Error() string { return fmt.Sprintf("not JSON at byte %d: %s", e.at, e.what) }
