package geo

import (
	"math"
	"strconv"
	"unsafe"
)

// unknown is the value of a number that was not sent.
var unknown = math.NaN()

// parseText reads a number in text: [+-]?(digits[.digits] | .digits) with
// blanks and tabs around. There is no exponent, no NaN and no infinity in text.
func parseText(text []byte) (float64, bool) {
	text = trimBlanks(text)
	digits, dot := 0, false
	for i, c := range text {
		switch {
		case c >= '0' && c <= '9':
			digits++
		case c == '.' && !dot && i < len(text)-1:
			dot = true
		case (c == '+' || c == '-') && i == 0:
		default:
			return unknown, false
		}
	}
	if digits == 0 {
		return unknown, false
	}
	return parseFinite(text)
}

// parseFinite converts text that is known to follow a number's grammar. Numbers
// that overflow are refused, and negative zero becomes zero: some GIS tools
// print it, none means it.
func parseFinite(text []byte) (float64, bool) {
	// The string lives only as long as the call, and nobody writes text meanwhile.
	f, err := strconv.ParseFloat(unsafe.String(unsafe.SliceData(text), len(text)), 64)
	if err != nil {
		return unknown, false
	}
	return f + 0, true // -0 + 0 = 0
}

// finite reports whether f is neither NaN nor infinite.
func finite(f float64) bool { return f-f == 0 }

// trimBlanks cuts blanks and tabs from both ends.
func trimBlanks(text []byte) []byte {
	for len(text) > 0 && (text[0] == ' ' || text[0] == '\t') {
		text = text[1:]
	}
	for len(text) > 0 && (text[len(text)-1] == ' ' || text[len(text)-1] == '\t') {
		text = text[:len(text)-1]
	}
	return text
}

// appendNumber appends the shortest decimal that reads back as f, in the form
// that ECMAScript prints.
func appendNumber(dst []byte, f float64) []byte {
	f += 0 // never -0
	format := byte('f')
	if abs := math.Abs(f); abs != 0 && (abs < 1e-6 || abs >= 1e21) {
		format = 'e'
	}
	return strconv.AppendFloat(dst, f, format, -1, 64)
}
