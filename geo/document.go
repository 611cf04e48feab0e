package geo

import (
	"strconv"
	"time"
	"unicode/utf8"

	"github.com/go-json-experiment/json/jsontext"
)

// AppendDocument appends the document of one position to dst: an RFC 7946
// Feature whose members always come in the same order, see docs/DOCUMENT.md.
// What is not known is left out. A ttl in seconds is written when positive.
//
// NaN, infinities and negative zero never appear: an unknown number is omitted,
// and without a finite longitude and latitude the geometry is null, which RFC
// 7946 calls an unlocated Feature. Decode yields no such position.
func AppendDocument(dst []byte, id string, p *Position, src *Source, ttl int) []byte {
	dst = append(dst, `{"id":`...)
	dst = appendString(dst, id)
	dst = append(dst, `,"deviceId":`...)
	dst = appendString(dst, p.DeviceID)
	if p.DeliveryID != "" {
		dst = append(dst, `,"deliveryId":`...)
		dst = appendString(dst, p.DeliveryID)
	}
	dst = append(dst, `,"type":"Feature","geometry":`...)
	dst = appendGeometry(dst, p)
	dst = append(dst, `,"properties":`...)
	dst = appendProperties(dst, p)
	dst = append(dst, `,"source":`...)
	dst = appendSource(dst, src, p.Gateway)
	if ttl > 0 {
		dst = append(dst, `,"ttl":`...)
		dst = strconv.AppendInt(dst, int64(ttl), 10)
	}
	return append(dst, '}')
}

func appendGeometry(dst []byte, p *Position) []byte {
	if !finite(p.Point[0]) || !finite(p.Point[1]) {
		return append(dst, `null`...)
	}
	dst = append(dst, `{"type":"Point","coordinates":[`...)
	dst = appendNumber(dst, p.Point[0])
	dst = append(dst, ',')
	dst = appendNumber(dst, p.Point[1])
	if finite(p.Altitude) {
		dst = append(dst, ',')
		dst = appendNumber(dst, p.Altitude)
	}
	return append(dst, `]}`...)
}

func appendProperties(dst []byte, p *Position) []byte {
	start := len(dst)
	dst = appendTime(dst, `,"timestamp":`, p.Time)
	dst = appendProperty(dst, `,"speed":`, p.Speed)
	dst = appendProperty(dst, `,"heading":`, p.Heading)
	dst = appendProperty(dst, `,"battery":`, p.Battery)
	dst = appendProperty(dst, `,"hdop":`, p.HDOP)
	if len(dst) == start {
		return append(dst, `{}`...)
	}
	dst[start] = '{' // instead of the comma
	return append(dst, '}')
}

func appendSource(dst []byte, src *Source, gateway string) []byte {
	start := len(dst)
	dst = appendTime(dst, `,"enqueuedTime":`, src.Enqueued)
	dst = append(dst, `,"partition":`...)
	dst = appendString(dst, src.Partition)
	dst = append(dst, `,"sequenceNumber":`...)
	dst = strconv.AppendInt(dst, src.Sequence, 10)
	dst = append(dst, `,"index":`...)
	dst = strconv.AppendInt(dst, int64(src.Index), 10)
	if gateway != "" {
		dst = append(dst, `,"gateway":`...)
		dst = appendString(dst, gateway)
	}
	dst[start] = '{' // instead of the comma
	return append(dst, '}')
}

func appendProperty(dst []byte, name string, f float64) []byte {
	if !finite(f) {
		return dst
	}
	return appendNumber(append(dst, name...), f)
}

// The years 0 to 9999 in seconds since 1970.
const (
	firstSecond = -62_167_219_200
	lastSecond  = 253_402_300_799
)

// appendTime appends RFC 3339 in UTC with milliseconds. It leaves out the zero
// time and years that RFC 3339 cannot write.
func appendTime(dst []byte, name string, t time.Time) []byte {
	sec := t.Unix()
	if sec < firstSecond || sec > lastSecond || t.IsZero() {
		return dst
	}
	t = t.UTC()
	year, month, day := t.Date()
	clock := int((sec - firstSecond) % 86400) // firstSecond is a midnight
	hour, minute, second := clock/3600, clock/60%60, clock%60
	ms := t.Nanosecond() / 1e6
	dst = append(dst, name...)
	dst = append(dst, '"')
	dst = appendTwo(dst, year/100)
	dst = appendTwo(dst, year%100)
	dst = appendTwo(append(dst, '-'), int(month))
	dst = appendTwo(append(dst, '-'), day)
	dst = appendTwo(append(dst, 'T'), hour)
	dst = appendTwo(append(dst, ':'), minute)
	dst = appendTwo(append(dst, ':'), second)
	dst = appendTwo(append(dst, '.', byte('0'+ms/100)), ms%100)
	return append(dst, 'Z', '"')
}

// appendTwo appends n, 0 to 99, in two digits.
func appendTwo(dst []byte, n int) []byte {
	return append(dst, byte('0'+n/10), byte('0'+n%10))
}

// appendString appends s as a JSON string. Bytes that are not UTF-8 become
// U+FFFD; Decode lets none pass.
func appendString(dst []byte, s string) []byte {
	for i := range len(s) {
		if !plainASCII[s[i]] {
			dst, _ = jsontext.AppendQuote(dst, s) // the error only reports the replacement
			return dst
		}
	}
	dst = append(dst, '"')
	dst = append(dst, s...)
	return append(dst, '"')
}

// plainASCII are the ASCII characters that stand for themselves in a JSON string.
var plainASCII = func() (plain [256]bool) {
	for c := byte(' '); c < utf8.RuneSelf; c++ {
		plain[c] = c != '"' && c != '\\'
	}
	return plain
}()
