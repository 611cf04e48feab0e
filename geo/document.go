package geo

import (
	"strconv"
	"time"

	"github.com/go-json-experiment/json/jsontext"
)

// timeLayout is RFC 3339 in UTC with milliseconds.
const timeLayout = "2006-01-02T15:04:05.000Z"

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
	dst = append(dst, `,"properties":{`...)
	dst = appendProperties(dst, p)
	dst = append(dst, `},"source":{`...)
	dst = appendSource(dst, src, p.Gateway)
	dst = append(dst, '}')
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
	return dropComma(dst, start)
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
	return dropComma(dst, start)
}

// dropComma removes the comma before the first member, which was written at start.
func dropComma(dst []byte, start int) []byte {
	if len(dst) == start {
		return dst
	}
	return append(dst[:start], dst[start+1:]...)
}

func appendProperty(dst []byte, name string, f float64) []byte {
	if !finite(f) {
		return dst
	}
	return appendNumber(append(dst, name...), f)
}

// appendTime leaves out the zero time and years that RFC 3339 cannot write.
func appendTime(dst []byte, name string, t time.Time) []byte {
	t = t.UTC()
	if t.IsZero() || t.Year() < 0 || t.Year() > 9999 {
		return dst
	}
	dst = append(dst, name...)
	dst = append(dst, '"')
	dst = t.AppendFormat(dst, timeLayout)
	return append(dst, '"')
}

// appendString appends s as a JSON string. Bytes that are not UTF-8 become
// U+FFFD; Decode lets none pass.
func appendString(dst []byte, s string) []byte {
	dst, _ = jsontext.AppendQuote(dst, s) // the error only reports the replacement
	return dst
}
