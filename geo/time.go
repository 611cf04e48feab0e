package geo

import (
	"time"
	"unsafe"
)

// Numbers of time above the bound are milliseconds since 1970, others seconds:
// as seconds it lies in the year 5138, as milliseconds in 1973.
const millisBound = 1e11

// deviceTime reads RFC 3339, the same without a zone (which devices mean as
// UTC), or a number since 1970. A time that cannot be read is unknown: it never
// decides anything.
func deviceTime(value []byte) time.Time {
	if len(value) == 0 {
		return time.Time{}
	}
	if value[0] == '"' {
		return parseTime(unquote(value))
	}
	f, ok := number(value)
	switch {
	case !ok || f <= 0 || f >= 1e15:
		return time.Time{}
	case f >= millisBound:
		return time.UnixMilli(int64(f)).UTC()
	default:
		return time.UnixMilli(int64(f * 1000)).UTC()
	}
}

func parseTime(text []byte) time.Time {
	if t, ok := parseUTC(text); ok {
		return t
	}
	var t time.Time
	if t.UnmarshalText(text) == nil {
		return t.UTC()
	}
	t, _ = parseLayout("2006-01-02T15:04:05", text)
	return t
}

// parseLayout is time.Parse for bytes. It returns the zero time if it fails.
func parseLayout(layout string, text []byte) (time.Time, bool) {
	// The string lives only as long as the call, and nobody writes text meanwhile.
	t, err := time.Parse(layout, unsafe.String(unsafe.SliceData(text), len(text)))
	if err != nil {
		return time.Time{}, false
	}
	return t, true
}

// parseUTC reads yyyy-mm-ddThh:mm:ss[.fraction]Z. It is what nearly all devices
// send, and read here in half the time that the standard library takes for any
// RFC 3339. What is not ok here may still be a time.
func parseUTC(text []byte) (t time.Time, ok bool) {
	if len(text) < len("yyyy-mm-ddThh:mm:ssZ") || text[4] != '-' || text[7] != '-' || text[10] != 'T' ||
		text[13] != ':' || text[16] != ':' || text[len(text)-1] != 'Z' {
		return t, false
	}
	nanos := 0
	if fraction := text[19 : len(text)-1]; len(fraction) > 0 {
		if fraction[0] != '.' || len(fraction) == 1 || len(fraction) > 10 {
			return t, false
		}
		nanos = digits(fraction[1:])
		for range 10 - len(fraction) {
			nanos *= 10
		}
	}
	year := 100*twoDigits(text[0], text[1]) + twoDigits(text[2], text[3])
	month, day := twoDigits(text[5], text[6]), twoDigits(text[8], text[9])
	hour, minute, second := twoDigits(text[11], text[12]), twoDigits(text[14], text[15]), twoDigits(text[17], text[18])
	if year|month|day|hour|minute|second|nanos < 0 || month < 1 || month > 12 || day < 1 || hour > 23 || minute > 59 || second > 59 {
		return t, false
	}
	t = time.Date(year, time.Month(month), day, hour, minute, second, nanos, time.UTC)
	return t, day <= 28 || t.Day() == day // Date takes February 30 for March 2
}

// twoDigits returns the number that two digits are, negative if they are not both.
func twoDigits(ten, one byte) int {
	if !isDigit(ten) || !isDigit(one) {
		return -100
	}
	return 10*int(ten-'0') + int(one-'0')
}

// digits returns the number that text is, negative if it is more than digits.
func digits(text []byte) int {
	n := 0
	for _, c := range text {
		if !isDigit(c) {
			return -1
		}
		n = n*10 + int(c-'0')
	}
	return n
}
