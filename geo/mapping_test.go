package geo_test

import (
	"math"
	"strings"
	"testing"
	"time"

	"warmpath/geo"
)

// mavlink is how an autopilot's own message looks as JSON: integers in 1e-7
// degrees, millimetres, centimetres per second, hundredths of degrees.
var mavlink = geo.Mapping{
	DeviceID: "/sys/id", DeliveryID: "/mission", Latitude: "/pos/lat", Longitude: "/pos/lon", Altitude: "/pos/alt",
	Time: "/sys/ms", Speed: "/v~1g", Heading: "/hdg/0", Battery: "/bat",
	CoordinateUnit: "1e-7", AltitudeUnit: "mm", SpeedUnit: "cm/s", HeadingUnit: "cdeg", BatteryUnit: "percent",
}

const mavlinkBody = `{"hdg":[8300,9],"pos":{"lat":477570840,"lon":-1219897340,"alt":93980},"v/g":1220,"bat":71,
	"mission":"d-4711","sys":{"ms":1796040000123,"id":7}}`

func TestMapping(t *testing.T) {
	d := newDecoder(t, func(cfg *geo.Config) { cfg.Mapping = mavlink })
	want := fullPosition()
	want.DeviceID = "7"
	for name, body := range map[string]string{
		"alone":       mavlinkBody,
		"in an array": "[" + mavlinkBody + "]",
		"on a line":   strings.ReplaceAll(mavlinkBody, "\n", "") + "\n\n",
		"twice":       strings.Replace(mavlinkBody, `"pos":`, `"pos":{"lat":0,"lon":0,"alt":0},"pos":`, 1),
	} {
		t.Run(name, func(t *testing.T) {
			items := d.Decode(nil, &geo.Event{Body: []byte(body)})
			if len(items) != 1 || items[0].Reason != "" {
				t.Fatalf("got %+v", items)
			}
			got := geo.AppendDocument(nil, "x", &items[0].Position, &source, 0)
			if want := geo.AppendDocument(nil, "x", &want, &source, 0); string(got) != string(want) {
				t.Errorf("document is\n%s\nwant\n%s", got, want)
			}
		})
	}
}

func TestMappingVerdicts(t *testing.T) {
	for _, test := range []struct{ name, body, want string }{
		{"another shape of the same fleet", `{"deviceId":"a","latitude":10000000,"longitude":20000000}`, "a@2,1"},
		{"the reference form has units of its own", `{"deviceId":"a","position":"1|2|3"}`, "a@2,1,3"},
		{"GeoJSON has units of its own", feature("a"), "a@2,1"},
		{"a tracker line has units of its own", line, "d1@2,1,3"},
		{"the mapping outranks the position text", `{"sys":{"id":"a"},"position":"1|2|3","pos":{"lat":30000000,"lon":40000000}}`, "a@4,3"},
		{"the mapping outranks the geometry", `{"type":"Feature","id":"a","geometry":null,"pos":{"lat":30000000,"lon":40000000}}`, "a@4,3"},
		{"half a position", `{"sys":{"id":"a"},"pos":{"lat":30000000}}`, "malformed"},
		{"a value of another type on the way", `{"sys":{"id":"a"},"pos":[1,2]}`, "malformed"},
		{"the later of a name given twice leads nowhere", `{"sys":{"id":"a"},"pos":{"lat":1,"lon":1},"pos":{}}`, "malformed"},
		{"null", `{"sys":{"id":"a"},"pos":{"lat":null,"lon":1}}`, "malformed"},
		{"out of range in degrees", `{"sys":{"id":"a"},"pos":{"lat":900000001,"lon":0}}`, "out_of_range"},
		{"no id", `{"pos":{"lat":0,"lon":0}}`, "missing_id"},
		{"a bad id", `{"sys":{"id":{}},"pos":{"lat":0,"lon":0}}`, "bad_id"},
		{"an envelope", envelope("h", mavlinkBody), "h@-121.989734,47.757084,93.98"},
	} {
		t.Run(test.name, func(t *testing.T) {
			d := newDecoder(t, func(cfg *geo.Config) { cfg.Mapping = mavlink })
			if got := verdicts(d.Decode(nil, &geo.Event{Body: []byte(test.body)})); got != test.want {
				t.Errorf("got %s, want %s", got, test.want)
			}
		})
	}
	t.Run("into what would be an envelope", func(t *testing.T) {
		d := newDecoder(t, func(cfg *geo.Config) { cfg.Mapping = geo.Mapping{Latitude: "/Body/y", Longitude: "/Body/x"} })
		if got := verdicts(d.Decode(nil, &geo.Event{Body: []byte(`{"deviceId":"a","Body":{"x":2,"y":1}}`)})); got != "a@2,1" {
			t.Errorf("got %s", got)
		}
	})
}

func TestUnits(t *testing.T) {
	for _, test := range []struct {
		mapping                  geo.Mapping
		body                     string
		alt, speed, heading, bat float64
	}{
		{geo.Mapping{AltitudeUnit: "ft", SpeedUnit: "km/h"}, `"altitude":100,"speed":36,"heading":-90,"battery":0.5`, 30.48, 10, 270, 0.5},
		{geo.Mapping{AltitudeUnit: "cm", SpeedUnit: "kn"}, `"altitude":150,"speed":"36","heading":360,"battery":1`, 1.5, 18.52, 360, 1},
		{geo.Mapping{AltitudeUnit: "0.5", SpeedUnit: "mph", HeadingUnit: "1e-2", BatteryUnit: "percent"}, `"altitude":3,"speed":100,"heading":9000,"battery":71`, 1.5, 44.704, 90, 0.71},
		{geo.Mapping{HeadingUnit: "cdeg", BatteryUnit: "0.1"}, `"speed":-1,"heading":65535,"battery":11`, math.NaN(), math.NaN(), math.NaN(), math.NaN()},
		{geo.Mapping{}, `"speed":"fast","heading":null,"battery":71`, math.NaN(), math.NaN(), math.NaN(), math.NaN()},
	} {
		d := newDecoder(t, func(cfg *geo.Config) { cfg.Mapping = test.mapping })
		items := d.Decode(nil, &geo.Event{Body: []byte(`{"deviceId":"a","latitude":1,"longitude":2,` + test.body + `}`)})
		p := items[0].Position
		if items[0].Reason != "" || !same(p.Altitude, test.alt) || !same(p.Speed, test.speed) || !same(p.Heading, test.heading) || !same(p.Battery, test.bat) {
			t.Errorf("%s in %+v: got %v, %v, %v, %v, want %v, %v, %v, %v", test.body, test.mapping,
				p.Altitude, p.Speed, p.Heading, p.Battery, test.alt, test.speed, test.heading, test.bat)
		}
	}
	d := newDecoder(t, func(cfg *geo.Config) { cfg.Mapping.AltitudeUnit = "1e300" })
	if got := verdicts(d.Decode(nil, &geo.Event{Body: []byte(`{"deviceId":"a","latitude":1,"longitude":2,"altitude":1e300}`)})); got != "malformed" {
		t.Errorf("an altitude beyond all numbers is %s", got)
	}
}

func TestMappingValidate(t *testing.T) {
	for _, test := range []struct {
		mapping geo.Mapping
		want    []string
	}{
		{mavlink, nil},
		{geo.Mapping{DeviceID: "/id", DeliveryID: "/id"}, nil},
		{geo.Mapping{DeviceID: "id"}, []string{"Mapping.DeviceID", `"id"`, "JSON Pointer"}},
		{geo.Mapping{Speed: "/a~2"}, []string{"Mapping.Speed", `"/a~2"`}},
		{geo.Mapping{Latitude: "/lat"}, []string{"Mapping.Latitude", "Longitude"}},
		{geo.Mapping{Longitude: "/lon"}, []string{"Mapping.Latitude", `"/lon"`}},
		{geo.Mapping{Time: "/a", Battery: "/a/b"}, []string{"Mapping.Battery", "/a/b", "Time"}},
		{geo.Mapping{Time: "/a/b", Battery: "/a"}, []string{"Mapping.Battery", "/a/b", "Time"}},
		{geo.Mapping{CoordinateUnit: "rad"}, []string{"Mapping.CoordinateUnit", `"rad"`, "deg"}},
		{geo.Mapping{AltitudeUnit: "feet"}, []string{"Mapping.AltitudeUnit", "ft"}},
		{geo.Mapping{SpeedUnit: "-1"}, []string{"Mapping.SpeedUnit", "km/h"}},
		{geo.Mapping{SpeedUnit: "Inf"}, []string{"Mapping.SpeedUnit"}},
		{geo.Mapping{BatteryUnit: "NaN"}, []string{"Mapping.BatteryUnit"}},
	} {
		cfg := geo.DefaultConfig()
		cfg.Mapping = test.mapping
		err := cfg.Validate()
		if (err != nil) != (len(test.want) > 0) {
			t.Errorf("%+v: error %v", test.mapping, err)
			continue
		}
		for _, want := range test.want {
			if !strings.Contains(err.Error(), want) {
				t.Errorf("error %q does not name %s", err, want)
			}
		}
	}
}

// TestDeviceTime holds the forms of time that devices send.
func TestDeviceTime(t *testing.T) {
	at := time.Date(2026, 11, 30, 12, 0, 0, 123_000_000, time.UTC)
	second := at.Truncate(time.Second)
	for _, test := range []struct {
		time string
		want time.Time
	}{
		{`"2026-11-30T12:00:00.123Z"`, at},
		{`"2026-11-30T12:00:00Z"`, second},
		{`"2026-11-30T12:00:00.1234567Z"`, at.Add(456_700)},
		{`"2026-11-30T13:00:00.123+01:00"`, at},
		{`"2026-11-30T12:00:00.1230000"`, at},
		{`"2026-11-30T12:00:00"`, second},
		{`1796040000123`, at},
		{`1796040000`, second},
		{`1796040000.123`, at},
		{`"2024-02-29T00:00:00Z"`, time.Date(2024, 2, 29, 0, 0, 0, 0, time.UTC)},
		{`"2026-02-29T00:00:00Z"`, time.Time{}},
		{`"2026-13-01T00:00:00Z"`, time.Time{}},
		{`"2026-11-30T24:00:00Z"`, time.Time{}},
		{`"2026-11-30T12:00:00.Z"`, time.Time{}},
		{`"2026-11-30T12:00:0xZ"`, time.Time{}},
		{`"yesterday"`, time.Time{}},
		{`-1`, time.Time{}},
		{`1e300`, time.Time{}},
		{`null`, time.Time{}},
		{`{}`, time.Time{}},
	} {
		items := newDecoder(t, nil).Decode(nil, &geo.Event{Body: []byte(`{"deviceId":"a","latitude":1,"longitude":2,"timestamp":` + test.time + `}`)})
		if items[0].Reason != "" || !items[0].Position.Time.Equal(test.want) {
			t.Errorf("%s is %v (%s), want %v", test.time, items[0].Position.Time, items[0].Reason, test.want)
		}
	}
}
