package bulk

import "unicode/utf8"

const hexDigits = "0123456789abcdef"

// isPlain tells whether a byte stands for itself in a JSON string.
func isPlain(c byte) bool {
	return c >= 0x20 && c < utf8.RuneSelf && c != '"' && c != '\\'
}

// appendEscaped appends text as the inside of a JSON string in ASCII.
func appendEscaped(dst []byte, s string) []byte {
	return appendUnplain(dst, s, `\`, `\"`, `\\`)
}

// appendTwiceEscaped appends text as the inside of a JSON string inside a JSON
// string: partition keys travel as text that holds JSON.
func appendTwiceEscaped(dst []byte, s string) []byte {
	return appendUnplain(dst, s, `\\`, `\\\"`, `\\\\`)
}

// appendUnplain copies runs of plain bytes and replaces the others.
func appendUnplain(dst []byte, s, backslash, forQuote, forBackslash string) []byte {
	for {
		n := 0
		for n < len(s) && isPlain(s[n]) {
			n++
		}
		dst = append(dst, s[:n]...)
		if n == len(s) {
			return dst
		}
		s = s[n:]
		switch s[0] {
		case '"':
			dst, s = append(dst, forQuote...), s[1:]
			continue
		case '\\':
			dst, s = append(dst, forBackslash...), s[1:]
			continue
		}
		r, size := utf8.DecodeRuneInString(s)
		s = s[size:]
		if r > 0xFFFF {
			r -= 0x10000
			dst = appendCodeUnit(dst, backslash, 0xD800+uint16(r>>10))
			r = 0xDC00 + r&0x3FF
		}
		dst = appendCodeUnit(dst, backslash, uint16(r))
	}
}

func appendCodeUnit(dst []byte, backslash string, u uint16) []byte {
	dst = append(dst, backslash...)
	return append(dst, 'u', hexDigits[u>>12], hexDigits[u>>8&15], hexDigits[u>>4&15], hexDigits[u&15])
}
