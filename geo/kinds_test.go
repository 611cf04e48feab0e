package geo_test

import (
	"bytes"
	"compress/flate"
	"compress/gzip"
	"compress/zlib"
	"encoding/base64"
	"fmt"
	"io"
	"strings"
	"testing"

	"warmpath/geo"
)

func gzipped(t testing.TB, text string) string {
	t.Helper()
	var b bytes.Buffer
	return compressed(t, &b, gzip.NewWriter(&b), text)
}

func compressed(t testing.TB, b *bytes.Buffer, w io.WriteCloser, text string) string {
	t.Helper()
	if _, err := io.WriteString(w, text); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

func zlibbed(t testing.TB, text string) string {
	t.Helper()
	var b bytes.Buffer
	return compressed(t, &b, zlib.NewWriter(&b), text)
}

func deflated(t testing.TB, text string) string {
	t.Helper()
	var b bytes.Buffer
	w, err := flate.NewWriter(&b, flate.BestCompression)
	if err != nil {
		t.Fatal(err)
	}
	return compressed(t, &b, w, text)
}

func base64ed(text string) string { return base64.StdEncoding.EncodeToString([]byte(text)) }

// verdicts prints items as words: the document id and coordinates of a good
// position, the reason of any other.
func verdicts(items []geo.Item) string {
	var words []string
	for _, item := range items {
		if item.Reason != "" {
			words = append(words, string(item.Reason))
			continue
		}
		p := &item.Position
		word := fmt.Sprintf("%s@%v,%v", item.DocumentID, p.Point[0], p.Point[1])
		if p.Altitude == p.Altitude {
			word += fmt.Sprintf(",%v", p.Altitude)
		}
		words = append(words, word)
	}
	return strings.Join(words, " ")
}

const (
	one   = `{"deviceId":"a","latitude":1,"longitude":2}`
	two   = `{"deviceId":"b","latitude":3,"longitude":4}`
	other = `{"deviceId":"s","sensorType":"drone-state-sensor;v1"}`
	line  = "d1 20130126054537 T 1 2 3 4.08 1 83"
)

// TestKinds holds what the case collection stands for beyond its rows.
func TestKinds(t *testing.T) {
	both := "a@2,1 b@4,3"
	for _, test := range []struct {
		name, body, want string
		event            geo.Event
	}{
		// Text around a value.
		{name: "blanks before", body: " \r\n\t" + one, want: "a@2,1"},
		{name: "blanks only", body: " \n ", want: "malformed"},
		{name: "NUL after", body: one + "\x00", want: "malformed"},
		{name: "two objects without a line end", body: one + two, want: "malformed"},
		{name: "an empty object", body: "{}", want: "missing_id"},
		{name: "a number", body: "47.7", want: "malformed"},
		{name: "a comma too many", body: `{"deviceId":"a","latitude":1,"longitude":2,}`, want: "malformed"},
		{name: "single quotes", body: `{'deviceId':'a','latitude':1,'longitude':2}`, want: "malformed"},
		{name: "JSON has no NaN", body: `{"deviceId":"a","latitude":NaN,"longitude":2}`, want: "malformed"},
		{name: "JSON numbers have no leading plus", body: `{"deviceId":"a","latitude":+1,"longitude":2}`, want: "malformed"},
		{name: "deep nesting that nobody asked for", body: `{"x":` + strings.Repeat("[", 9000) + strings.Repeat("]", 9000) + "," + one[1:], want: "a@2,1"},
		{name: "nesting beyond all bounds", body: strings.Repeat("[", 1_000_000), want: "malformed"},
		{name: "nesting of objects beyond all bounds", body: strings.Repeat(`{"a":`, 200_000), want: "malformed"},

		// Text that is not UTF-8.
		{name: "Latin-1", body: "{\"deviceId\":\"dr\xF6hn\",\"latitude\":1,\"longitude\":2}", want: "malformed"},
		{name: "Latin-1 in a member that nobody asked for", body: "{\"x\":\"\xE4\"," + one[1:], want: "malformed"},
		{name: "Latin-1 in one line takes the body", body: one + "\n\"\xE4\"\n" + two, want: "malformed"},
		{name: "half a surrogate pair", body: `{"deviceId":"\ud83d","latitude":1,"longitude":2}`, want: "malformed"},
		{name: "a whole surrogate pair", body: `{"deviceId":"\ud83d\ude80","latitude":1,"longitude":2}`, want: "🚀@2,1"},
		{name: "UTF-16", body: "\xFF\xFE{\x00}\x00", want: "malformed"},

		// Names.
		{name: "names with escapes", body: `{"device\u0049d":"a","latitude":1,"longitude":2}`, want: "a@2,1"},
		{name: "names are case-sensitive", body: `{"deviceid":"a","latitude":1,"longitude":2}`, want: "missing_id"},
		{name: "a name twice: the last stands", body: `{"deviceId":"x","deviceId":"a","latitude":9,"latitude":1,"longitude":2}`, want: "a@2,1"},
		{name: "a name twice: null as well", body: `{"deviceId":"a","latitude":1,"latitude":null,"longitude":2}`, want: "malformed"},

		// Numbers.
		{name: "no exponent in text", body: `{"deviceId":"a","latitude":"1e1","longitude":2}`, want: "malformed"},
		{name: "no hexadecimal in text", body: `{"deviceId":"a","latitude":"0x1p3","longitude":2}`, want: "malformed"},
		{name: "no underscore in text", body: `{"deviceId":"a","latitude":"1_0","longitude":2}`, want: "malformed"},
		{name: "no infinity in text", body: `{"deviceId":"a","latitude":"Inf","longitude":2}`, want: "malformed"},
		{name: "no trailing dot in text", body: `{"deviceId":"a","latitude":"1.","longitude":2}`, want: "malformed"},
		{name: "a dot alone", body: `{"deviceId":"a","latitude":".","longitude":2}`, want: "malformed"},
		{name: "a sign alone", body: `{"deviceId":"a","latitude":"+","longitude":2}`, want: "malformed"},
		{name: "two signs", body: `{"deviceId":"a","latitude":"--1","longitude":2}`, want: "malformed"},
		{name: "a blank within", body: `{"deviceId":"a","latitude":"1 2","longitude":2}`, want: "malformed"},
		{name: "a no-break space is no blank", body: `{"deviceId":"a","latitude":"1\u00a0","longitude":2}`, want: "malformed"},
		{name: "an empty text", body: `{"deviceId":"a","latitude":"","longitude":2}`, want: "malformed"},
		{name: "text that overflows", body: `{"deviceId":"a","latitude":"` + strings.Repeat("9", 400) + `","longitude":2}`, want: "malformed"},
		{name: "a negative overflow", body: `{"deviceId":"a","latitude":1,"longitude":-1e999}`, want: "malformed"},
		{name: "an overflowing altitude", body: `{"deviceId":"a","latitude":1,"longitude":2,"altitude":1e999}`, want: "malformed"},
		{name: "an underflow is zero", body: `{"deviceId":"a","latitude":1e-999,"longitude":2}`, want: "a@2,0"},
		{name: "negative zero", body: `{"deviceId":"a","latitude":-0,"longitude":-0.0,"altitude":-0e5}`, want: "a@0,0,0"},
		{name: "negative zero in text", body: `{"deviceId":"a","position":"-0|-.0|-0.0"}`, want: "a@0,0,0"},
		{name: "a boolean", body: `{"deviceId":"a","latitude":true,"longitude":2}`, want: "malformed"},
		{name: "an altitude in text", body: `{"deviceId":"a","latitude":1,"longitude":2,"altitude":" 3.5 "}`, want: "a@2,1,3.5"},
		{name: "an altitude of another type", body: `{"deviceId":"a","latitude":1,"longitude":2,"altitude":[3]}`, want: "malformed"},
		{name: "the poles and the antimeridian", body: `[{"deviceId":"a","lat":-90,"lng":-180},{"deviceId":"b","lat":90,"lng":180}]`, want: "a@-180,-90 b@180,90"},
		{name: "just over the antimeridian", body: `{"deviceId":"a","lat":0,"lng":-180.00000000000003}`, want: "out_of_range"},

		// The reference position.
		{name: "four fields", body: `{"deviceId":"a","position":"1|2|3|4"}`, want: "malformed"},
		{name: "two fields", body: `{"deviceId":"a","position":"1|2"}`, want: "malformed"},
		{name: "an empty altitude", body: `{"deviceId":"a","position":"1|2|"}`, want: "malformed"},
		{name: "an empty position", body: `{"deviceId":"a","position":""}`, want: "malformed"},
		{name: "a position of another type", body: `{"deviceId":"a","position":[1,2,3]}`, want: "malformed"},
		{name: "escapes in the position", body: `{"deviceId":"a","position":"1\u007c2\u007c3"}`, want: "a@2,1,3"},
		{name: "a line end is no blank", body: `{"deviceId":"a","position":"1|2|3\n"}`, want: "malformed"},

		// Sensor types.
		{name: "null is no sensor type", body: `{"sensorType":null,` + one[1:], want: "a@2,1"},
		{name: "a number is another sensor type", body: `{"sensorType":7,` + one[1:], want: "other_sensor"},
		{name: "a sensor type with escapes", body: `{"sensorType":"drone-event-sensor\u003bv1",` + one[1:], want: "a@2,1"},
		{name: "another sensor needs no id", body: `{"sensorType":"x","latitude":"bad"}`, want: "other_sensor"},
		{name: "another sensor in a Feature", body: `{"type":"Feature","id":"a","geometry":null,"properties":{"sensorType":"x"}}`, want: "other_sensor"},

		// The order of verdicts.
		{name: "no id before bad coordinates", body: `{"latitude":"x","longitude":2}`, want: "missing_id"},
		{name: "a bad id before bad coordinates", body: `{"deviceId":{},"latitude":"x","longitude":2}`, want: "bad_id"},
		{name: "bad coordinates before the range", body: `{"deviceId":"a","latitude":"x","longitude":999}`, want: "malformed"},
		{name: "a bad altitude before the range", body: `{"deviceId":"a","latitude":95,"longitude":2,"altitude":"x"}`, want: "malformed"},
		{name: "no telemetry before anything", body: "{", event: geo.Event{MessageSource: "digitalTwinChangeEvents"}, want: "not_telemetry"},

		// Ids.
		{name: "null is no id", body: `{"deviceId":null,"latitude":1,"longitude":2}`, want: "missing_id"},
		{name: "a boolean is a bad id", body: `{"deviceId":true,"latitude":1,"longitude":2}`, want: "bad_id"},
		{name: "an array is a bad id", body: `{"deviceId":["a"],"latitude":1,"longitude":2}`, want: "bad_id"},
		{name: "a fraction is a bad id", body: `{"deviceId":1.5,"latitude":1,"longitude":2}`, want: "bad_id"},
		{name: "an exponent is a bad id", body: `{"deviceId":1e3,"latitude":1,"longitude":2}`, want: "bad_id"},
		{name: "a great integer keeps its digits", body: `{"deviceId":123456789012345678901234567890,"latitude":1,"longitude":2}`, want: "123456789012345678901234567890@2,1"},
		{name: "a percent sign", body: `{"deviceId":"a%2Fb","latitude":1,"longitude":2}`, want: "a%252Fb@2,1"},
		{name: "controls", body: `{"deviceId":"a\u0000\n\u001f\u007fb","latitude":1,"longitude":2}`, want: "a%00%0A%1F%7Fb@2,1"},
		{name: "a backslash", body: `{"deviceId":"a\\b","latitude":1,"longitude":2}`, want: "a%5Cb@2,1"},
		{name: "only the last blank", body: `{"deviceId":" a b  ","latitude":1,"longitude":2}`, want: " a b %20@2,1"},
		{name: "a blank alone", body: `{"deviceId":" ","latitude":1,"longitude":2}`, want: "%20@2,1"},
		{name: "length counts after encoding", body: `{"deviceId":"` + strings.Repeat("/", 342) + `","latitude":1,"longitude":2}`, want: "bad_id"},
		{name: "length counts bytes", body: `{"deviceId":"` + strings.Repeat("ö", 512) + `","latitude":1,"longitude":2}`, want: "bad_id"},

		// Who speaks.
		{name: "a bad id of the body does not matter to the hub", body: `{"deviceId":{},"latitude":1,"longitude":2}`, event: geo.Event{HubDeviceID: "h"}, want: "h@2,1"},
		{name: "a module may name nobody", body: `{"latitude":1,"longitude":2}`, event: geo.Event{HubDeviceID: "h", ModuleID: "m"}, want: "h@2,1"},
		{name: "a module's bad id", body: `{"deviceId":{},"latitude":1,"longitude":2}`, event: geo.Event{HubDeviceID: "h", ModuleID: "m"}, want: "bad_id"},
		{name: "a gateway by its pattern", body: "[" + one + "," + two + "]", event: geo.Event{HubDeviceID: "edge-7"}, want: both},
		{name: "no gateway", body: "[" + one + "," + two + "]", event: geo.Event{HubDeviceID: "ledge-7"}, want: "bad_id bad_id"},
		{name: "one other name is taken for the device", body: "[" + one + "," + one + "]", event: geo.Event{HubDeviceID: "h"}, want: "h@2,1 h@2,1"},
		{name: "several names in lines", body: one + "\n" + two, event: geo.Event{HubDeviceID: "a"}, want: "bad_id bad_id"},
		{name: "several names, other faults first", body: "[" + one + ",7," + other + "]", event: geo.Event{HubDeviceID: "a"}, want: "bad_id malformed other_sensor"},
		{name: "several names in a collection", body: collection(feature("x"), feature("y")), event: geo.Event{HubDeviceID: "h"}, want: "bad_id bad_id"},

		// GeoJSON.
		{name: "a Feature without a geometry", body: `{"type":"Feature","id":"a","geometry":null,"properties":null}`, want: "malformed"},
		{name: "a Feature with one coordinate", body: point(`[1]`), want: "malformed"},
		{name: "a Feature with no coordinates", body: point(`[]`), want: "malformed"},
		{name: "a Feature with a null altitude", body: point(`[2,1,null]`), want: "a@2,1"},
		{name: "a Feature with a null latitude", body: point(`[2,null]`), want: "malformed"},
		{name: "a Feature with coordinates in text", body: point(`["2","1"]`), want: "malformed"},
		{name: "a Feature with four coordinates", body: point(`[2,1,3,1700000000]`), want: "a@2,1,3"},
		{name: "a Feature with an overflow", body: point(`[2,1e999]`), want: "malformed"},
		{name: "a Feature with a numeric id", body: `{"type":"Feature","id":7,"geometry":{"type":"Point","coordinates":[2,1]}}`, want: "7@2,1"},
		{name: "an empty id in properties is none", body: `{"type":"Feature","id":"a","geometry":{"type":"Point","coordinates":[2,1]},"properties":{"deviceId":""}}`, want: "a@2,1"},
		{name: "an array of Features", body: "[" + feature("a") + "," + feature("b") + "]", want: "a@2,1 b@2,1"},
		{name: "a collection of nothing", body: collection(), want: "malformed"},
		{name: "a collection without features", body: `{"type":"FeatureCollection"}`, want: "malformed"},
		{name: "a collection of other things", body: collection(feature("a"), one, "7", feature("b")), want: "a@2,1 malformed malformed b@2,1"},
		{name: "a collection in a batch", body: "[" + collection(feature("a")) + "]", want: "malformed"},

		// Batches.
		{name: "elements that are no objects", body: `[1,null,"x",[` + one + `],` + two + `]`, want: "malformed malformed malformed malformed b@4,3"},
		{name: "an array with a comma too many", body: "[" + one + ",]", want: "malformed"},
		{name: "an array with something after it", body: "[" + one + "]]", want: "malformed"},
		{name: "lines with blank ones", body: "\n" + one + "\n\n \r\n" + two + "\n\n", want: both},
		{name: "a line that is no object", body: one + "\n[" + two + "]\n7\n" + two, want: "a@2,1 malformed malformed b@4,3"},
		{name: "a line with two objects", body: one + two + "\n" + two, want: "malformed b@4,3"},
		{name: "a first line that is bad", body: "{not json\n" + two, want: "malformed b@4,3"},
		{name: "lines without a good one", body: "{not json\n{nor this", want: "malformed"},
		{name: "lines that begin with an array", body: "[" + one + "]\n" + two, want: "malformed"},
		{name: "an object over several lines", body: strings.ReplaceAll(one, ",", ",\n"), want: "a@2,1"},

		// Wrappings.
		{name: "gzip in base64", body: base64ed(gzipped(t, one)), want: "a@2,1"},
		{name: "base64 in gzip", body: gzipped(t, base64ed(one)), want: "a@2,1"},
		{name: "gzip in base64 in gzip", body: gzipped(t, base64ed(gzipped(t, one))), want: "a@2,1"},
		{name: "gzip in gzip", body: gzipped(t, gzipped(t, one)), want: "malformed"},
		{name: "base64 in base64", body: base64ed(base64ed(one)), want: "malformed"},
		{name: "base64 for URLs without padding", body: strings.TrimRight(base64.URLEncoding.EncodeToString([]byte(`{"deviceId":"a>?","latitude":1,"longitude":2}`)), "="), want: "a>%3F@2,1"},
		{name: "base64 over several lines", body: base64ed(one)[:20] + "\r\n" + base64ed(one)[20:] + "\n", want: "a@2,1"},
		{name: "base64 cut short", body: base64ed(one)[:len(base64ed(one))-7], want: "malformed"},
		{name: "a byte order mark in gzip", body: gzipped(t, "\uFEFF"+one), want: "a@2,1"},
		{name: "two byte order marks", body: "\uFEFF\uFEFF" + one, want: "malformed"},
		{name: "a byte order mark and lines", body: "\uFEFF" + one + "\n" + two, want: both},
		{name: "gzip by name in capitals", body: gzipped(t, one), event: geo.Event{ContentEncoding: " GZip "}, want: "a@2,1"},
		{name: "gzip in two members", body: gzipped(t, "["+one) + gzipped(t, ","+two+"]"), want: both},
		{name: "gzip with something after it", body: gzipped(t, one) + "x", want: "malformed"},
		{name: "gzip with a wrong checksum", body: corrupt(gzipped(t, one)), want: "malformed"},
		{name: "gzip of nothing", body: gzipped(t, ""), want: "malformed"},
		{name: "gzip by name only", body: one, event: geo.Event{ContentEncoding: "gzip"}, want: "malformed"},
		{name: "deflate", body: zlibbed(t, one), event: geo.Event{ContentEncoding: "deflate"}, want: "a@2,1"},
		{name: "deflate without zlib", body: deflated(t, one), event: geo.Event{ContentEncoding: "deflate"}, want: "a@2,1"},
		{name: "deflate by name only", body: one, event: geo.Event{ContentEncoding: "deflate"}, want: "malformed"},
		{name: "deflate cut short", body: zlibbed(t, one)[:20], event: geo.Event{ContentEncoding: "deflate"}, want: "malformed"},
		{name: "deflate with something after it", body: zlibbed(t, one) + "x", event: geo.Event{ContentEncoding: "deflate"}, want: "malformed"},
		{name: "deflate that is gzip", body: gzipped(t, one), event: geo.Event{ContentEncoding: "deflate"}, want: "malformed"},
		{name: "charset names", body: one, event: geo.Event{ContentEncoding: "UTF-8"}, want: "a@2,1"},
		{name: "another charset name", body: one, event: geo.Event{ContentEncoding: "iso-8859-1"}, want: "a@2,1"},
		{name: "gzip under a charset name", body: gzipped(t, one), event: geo.Event{ContentEncoding: "utf-8"}, want: "a@2,1"},
		{name: "zstd", body: one, event: geo.Event{ContentEncoding: "zstd"}, want: "malformed"},
		{name: "a wrong content type does not matter", body: one, event: geo.Event{ContentType: "text/plain"}, want: "a@2,1"},
		{name: "exactly the limit", body: gzipped(t, one+strings.Repeat(" ", 1<<20-len(one))), want: "a@2,1"},
		{name: "a byte over the limit", body: gzipped(t, one+strings.Repeat(" ", 1<<20-len(one)+1)), want: "too_large"},
		{name: "too large in the second gzip", body: base64ed(gzipped(t, strings.Repeat(" ", 1<<20+1))), want: "too_large"},
		{name: "too large in deflate", body: zlibbed(t, strings.Repeat(" ", 1<<20+1)), event: geo.Event{ContentEncoding: "deflate"}, want: "too_large"},
		{name: "more positions than allowed", body: "[" + strings.Repeat("0,", 1000) + "0]", want: "too_large"},
		{name: "as many positions as allowed", body: "[" + strings.Repeat("0,", 999) + "0]", want: strings.TrimSpace(strings.Repeat("malformed ", 1000))},

		// The envelope.
		{name: "an object in an envelope", body: envelope("h", one), want: "h@2,1"},
		{name: "an array in an envelope", body: envelope("h", "["+one+","+one+"]"), want: "h@2,1 h@2,1"},
		{name: "a text in an envelope", body: envelope("h", fmt.Sprintf("%q", one)), want: "h@2,1"},
		{name: "lines in an envelope", body: envelope("h", fmt.Sprintf("%q", one+"\n"+one)), want: "h@2,1 h@2,1"},
		{name: "a tracker line in an envelope", body: envelope("h", fmt.Sprintf("%q", line)), want: "h@2,1,3"},
		{name: "gzip in base64 in an envelope", body: envelope("h", fmt.Sprintf("%q", base64ed(gzipped(t, one)))), want: "h@2,1"},
		{name: "an envelope in an envelope", body: envelope("h", envelope("i", one)), want: "malformed"},
		{name: "an envelope around nothing", body: envelope("h", `""`), want: "malformed"},
		{name: "an envelope around null", body: envelope("h", `null`), want: "malformed"},
		{name: "an envelope in gzip in base64", body: base64ed(gzipped(t, envelope("h", one))), want: "h@2,1"},
		{name: "an envelope as storage gets it", body: `{"SystemProperties":{"connectionDeviceId":"h","connectionModuleId":"m"},"Body":` + two + `}`, want: "b@4,3"},
		{name: "an envelope without properties", body: `{"Body":` + one + `}`, want: "a@2,1"},
		{name: "a position with a Body is none", body: `{"Body":"carbon",` + one[1:], want: "a@2,1"},
		{name: "the annotation outranks the envelope", body: envelope("h", one), event: geo.Event{HubDeviceID: "real"}, want: "real@2,1"},
		{
			name: "an envelope gives a device no module", want: "bad_id bad_id", event: geo.Event{HubDeviceID: "real"},
			body: `{"SystemProperties":{"iothub-connection-device-id":"h","iothub-connection-module-id":"m"},"Body":[` + one + `,` + two + `]}`,
		},
		{
			name: "a module in an envelope", want: both,
			body: `{"SystemProperties":{"iothub-connection-device-id":"h","iothub-connection-module-id":"m"},"Body":[` + one + `,` + two + `]}`,
		},
		{name: "a twin change in an envelope", body: `{"SystemProperties":{"iothub-message-source":"twinChangeEvents"},"Body":{}}`, want: "not_telemetry"},

		// Tracker lines.
		{name: "several lines", body: line + "\r\n\n" + line, want: "d1@2,1,3 d1@2,1,3"},
		{name: "one bad line of two", body: line + "\n" + line[:20], want: "d1@2,1,3 malformed"},
		{name: "a field too many", body: line + " x", want: "malformed"},
		{name: "tabs and more blanks", body: strings.ReplaceAll(line, " ", " \t "), want: "d1@2,1,3"},
		{name: "a fix of its own", body: strings.Replace(line, " T ", " X ", 1), want: "malformed"},
		{name: "no such month", body: strings.Replace(line, "201301", "201313", 1), want: "malformed"},
		{name: "latitude out of range", body: strings.Replace(line, "T 1", "T 91", 1), want: "out_of_range"},
		{name: "an altitude that is no number", body: strings.Replace(line, "2 3", "2 x", 1), want: "malformed"},
		{name: "an exponent", body: strings.Replace(line, "T 1", "T 1e0", 1), want: "malformed"},
		{name: "the hub's word wins on lines", body: line, event: geo.Event{HubDeviceID: "h"}, want: "h@2,1,3"},
		{name: "prose on three lines is one body", body: "hello\nworld\nagain", want: "malformed"},
		{name: "a web page", body: "<html>\n<body>502 Bad Gateway</body>\n</html>", want: "malformed"},
	} {
		t.Run(test.name, func(t *testing.T) {
			d := newDecoder(t, func(cfg *geo.Config) {
				cfg.Gateways = []string{"edge-*"}
				cfg.MaxDecompressed = 1 << 20
				cfg.MaxPositions = 1000
			})
			ev := test.event
			ev.Body = []byte(test.body)
			items := d.Decode(nil, &ev)
			if got := verdicts(items); got != test.want {
				t.Errorf("got %.300s\nwant %.300s (%v)", got, test.want, items[0].Err)
			}
		})
	}
}

func feature(id string) string {
	return `{"type":"Feature","id":"` + id + `","geometry":{"type":"Point","coordinates":[2,1]},"properties":{}}`
}

func point(coordinates string) string {
	return strings.Replace(feature("a"), "[2,1]", coordinates, 1)
}

func collection(features ...string) string {
	return `{"type":"FeatureCollection","features":[` + strings.Join(features, ",") + `]}`
}

func envelope(device, body string) string {
	return `{"EnqueuedTimeUtc":"2016-11-30T12:00:00Z","Properties":{},"SystemProperties":{"iothub-connection-device-id":"` + device + `"},"Body":` + body + `}`
}

// corrupt changes a byte of gzip's checksum.
func corrupt(body string) string {
	return body[:len(body)-8] + string(body[len(body)-8]^1) + body[len(body)-7:]
}
