package rawjson

import (
	"bytes"
	"strconv"
	"unicode/utf16"
	"unicode/utf8"
)

// AppendUnquoted appends the text of a raw string (with its quotes, as a Reader
// returned it) to dst. A lone surrogate becomes U+FFFD.
func AppendUnquoted(dst, raw []byte) []byte {
	if len(raw) < 2 {
		return dst
	}
	s := raw[1 : len(raw)-1]
	for {
		i := bytes.IndexByte(s, '\\')
		if i < 0 || i+1 >= len(s) {
			return append(dst, s...)
		}
		dst = append(dst, s[:i]...)
		var n int
		dst, n = appendEscape(dst, s[i:])
		s = s[i+n:]
	}
}

// Unquote returns the text of a raw string.
func Unquote(raw []byte) string {
	if len(raw) >= 2 && bytes.IndexByte(raw, '\\') < 0 {
		return string(raw[1 : len(raw)-1])
	}
	return string(AppendUnquoted(nil, raw))
}

// appendEscape appends what the escape at the start of s stands for and returns
// how many bytes it took.
func appendEscape(dst, s []byte) ([]byte, int) {
	switch s[1] {
	case 'b':
		return append(dst, '\b'), 2
	case 'f':
		return append(dst, '\f'), 2
	case 'n':
		return append(dst, '\n'), 2
	case 'r':
		return append(dst, '\r'), 2
	case 't':
		return append(dst, '\t'), 2
	case 'u':
		if len(s) < 6 {
			return dst, len(s)
		}
		c, _ := hex4(s[2:6])
		if utf16.IsSurrogate(c) {
			if len(s) >= 12 && s[6] == '\\' && s[7] == 'u' {
				if low, ok := hex4(s[8:12]); ok {
					if pair := utf16.DecodeRune(c, low); pair != utf8.RuneError {
						return utf8.AppendRune(dst, pair), 12
					}
				}
			}
			return utf8.AppendRune(dst, utf8.RuneError), 6
		}
		return utf8.AppendRune(dst, c), 6
	default: // '"', '\\' and '/' stand for themselves
		return append(dst, s[1]), 2
	}
}

func hex4(b []byte) (rune, bool) {
	var v rune
	for _, c := range b {
		switch {
		case '0' <= c && c <= '9':
			c -= '0'
		case 'a' <= c && c <= 'f':
			c -= 'a' - 10
		case 'A' <= c && c <= 'F':
			c -= 'A' - 10
		default:
			return 0, false
		}
		v = v<<4 | rune(c)
	}
	return v, true
}

// Float returns the number that a raw value is. Numbers beyond the range of a
// float64 are not ok.
func Float(raw []byte) (f float64, ok bool) {
	if KindOf(raw) != Number {
		return 0, false
	}
	f, err := strconv.ParseFloat(string(raw), 64)
	return f, err == nil
}

// AppendQuoted appends s as a JSON string. Bytes that are not UTF-8 become
// U+FFFD.
func AppendQuoted(dst []byte, s string) []byte {
	const digits = "0123456789abcdef"
	dst = append(dst, '"')
	for i := 0; i < len(s); {
		c := s[i]
		if c < utf8.RuneSelf {
			i++
			switch {
			case plain[c]:
				dst = append(dst, c)
			case c == '"', c == '\\':
				dst = append(dst, '\\', c)
			case c == '\n':
				dst = append(dst, '\\', 'n')
			case c == '\r':
				dst = append(dst, '\\', 'r')
			case c == '\t':
				dst = append(dst, '\\', 't')
			default:
				dst = append(dst, '\\', 'u', '0', '0', digits[c>>4], digits[c&15])
			}
			continue
		}
		r, n := utf8.DecodeRuneInString(s[i:])
		dst = utf8.AppendRune(dst, r)
		i += n
	}
	return append(dst, '"')
}
