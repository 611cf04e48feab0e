package geo

import (
	"math"
	"strconv"
	"unsafe"
)

// unknown is the value of a number that was not sent.
var unknown = math.NaN()

// powers are the powers of ten that a float64 holds exactly.
var powers = [...]float64{1e0, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10, 1e11, 1e12, 1e13, 1e14, 1e15, 1e16, 1e17, 1e18}

// exactIntegers bounds the integers that are all float64 values.
const exactIntegers = 1 << 53

// parseText reads a number in text: [+-]?(digits[.digits] | .digits) with
// blanks and tabs around. There is no exponent, no NaN and no infinity in text.
func parseText(text []byte) (float64, bool) {
	text = trimBlanks(text)
	i := 0
	if len(text) > 0 && (text[0] == '+' || text[0] == '-') {
		i++
	}
	var integer uint64 // the digits without their point
	first := i
	for ; i < len(text) && isDigit(text[i]); i++ {
		integer = integer*10 + uint64(text[i]-'0')
	}
	digits, places := i-first, 0
	if i < len(text) && text[i] == '.' {
		i++
		first = i
		for ; i < len(text) && isDigit(text[i]); i++ {
			integer = integer*10 + uint64(text[i]-'0')
		}
		places = i - first
		digits += places
		if places == 0 {
			return unknown, false
		}
	}
	if i < len(text) || digits == 0 {
		return unknown, false
	}
	if digits > 18 || integer > exactIntegers {
		return parseFinite(text)
	}
	// Both operands are exact, so that the quotient is rounded once and right.
	f := float64(integer) / powers[places]
	if text[0] == '-' {
		f = -f
	}
	return f + 0, true // -0 + 0 = 0
}

func isDigit(c byte) bool { return c >= '0' && c <= '9' }

// parseFinite converts text that is known to follow a number's grammar. Numbers
// that overflow are refused, and negative zero becomes zero: some tools print
// it, none means it.
func parseFinite(text []byte) (float64, bool) {
	// The string lives only as long as the call, and nobody writes text meanwhile.
	f, err := strconv.ParseFloat(unsafe.String(unsafe.SliceData(text), len(text)), 64)
	if err != nil {
		return unknown, false
	}
	return f + 0, true
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
// that ECMAScript prints. f must be finite.
func appendNumber(dst []byte, f float64) []byte {
	if f < 0 { // which -0 is not
		dst = append(dst, '-')
	}
	f = math.Abs(f)
	if f != 0 && (f < 1e-6 || f >= 1e21) {
		return strconv.AppendFloat(dst, f, 'e', -1, 64)
	}
	// What devices send has few places. If f is the float64 nearest to an
	// integer of at most 15 digits over 10^9, that decimal reads back as f, and
	// no other of 15 digits or fewer does: without its trailing zeros it is the
	// shortest, and found in half the time.
	const scale = 1e9
	if f < 1e6 {
		if n := int64(f*scale + 0.5); float64(n)/scale == f {
			return appendDecimal(dst, n/scale, n%scale, scale)
		}
	}
	return strconv.AppendFloat(dst, f, 'f', -1, 64)
}

// appendDecimal appends integer + fraction/scale, where scale is a power of ten.
func appendDecimal(dst []byte, integer, fraction, scale int64) []byte {
	dst = strconv.AppendInt(dst, integer, 10)
	if fraction == 0 {
		return dst
	}
	fraction += scale // a one before the places, where the point goes
	for fraction%1000 == 0 {
		fraction /= 1000
	}
	for fraction%10 == 0 {
		fraction /= 10
	}
	point := len(dst)
	dst = strconv.AppendInt(dst, fraction, 10)
	dst[point] = '.'
	return dst
}
