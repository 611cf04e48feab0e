package app

import (
	"errors"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/alecthomas/kong"

	"warmpath/geo"
)

var noon = time.Date(2026, 11, 30, 12, 0, 0, 0, time.UTC)

// preview makes the settings of a decode command from its flags.
func preview(t *testing.T, args ...string) (*Preview, error) {
	t.Helper()
	var p Preview
	parser, err := kong.New(&p, kong.Exit(func(int) {}))
	if err != nil {
		t.Fatal(err)
	}
	_, err = parser.Parse(args)
	return &p, err
}

func TestDecodingDefaultsAreThoseOfTheReferenceFleet(t *testing.T) {
	p, err := preview(t)
	if err != nil {
		t.Fatal(err)
	}
	if got, want := p.decoding("/deviceId"), geo.DefaultConfig(); !reflect.DeepEqual(got, want) {
		t.Errorf("configuration %+v, want %+v", got, want)
	}
}

// Every field of geo's configuration can be set by a flag, and ends where it
// belongs: no two fields are mixed up.
func TestEveryPayloadSettingHasAFlag(t *testing.T) {
	p, err := preview(t, "--sensor-types=a,b", "--max-decompressed=2", "--max-positions=3", "--device-id=body", "--gateways=gw-*",
		"--map-device-id=/a", "--map-delivery-id=/b", "--map-latitude=/c", "--map-longitude=/d", "--map-altitude=/e", "--map-time=/f",
		"--map-speed=/g", "--map-heading=/h", "--map-battery=/i",
		"--coordinate-unit=1e-7", "--altitude-unit=ft", "--speed-unit=kn", "--heading-unit=cdeg", "--battery-unit=percent")
	if err != nil {
		t.Fatal(err)
	}
	want := geo.Config{
		KeyPath: "/id", SensorTypes: []string{"a", "b"}, MaxDecompressed: 2, MaxPositions: 3, DeviceID: geo.BodyDeviceID, Gateways: []string{"gw-*"},
		Mapping: geo.Mapping{
			DeviceID: "/a", DeliveryID: "/b", Latitude: "/c", Longitude: "/d", Altitude: "/e", Time: "/f", Speed: "/g", Heading: "/h", Battery: "/i",
			CoordinateUnit: "1e-7", AltitudeUnit: "ft", SpeedUnit: "kn", HeadingUnit: "cdeg", BatteryUnit: "percent",
		},
	}
	if got := p.decoding("/id"); !reflect.DeepEqual(got, want) {
		t.Errorf("configuration %+v, want %+v", got, want)
	}
}

func TestABadPayloadSettingNamesItsFlag(t *testing.T) {
	for want, args := range map[string][]string{
		"--sensor-types is \"[]\", allowed is at least one type":           {"--sensor-types="},
		"--max-decompressed is \"0\", allowed is 1 to":                     {"--max-decompressed=0"},
		"--max-positions is \"-1\", allowed is 1 to":                       {"--max-positions=-1"},
		"--device-id must be one of \"hub\",\"body\" but got":              {"--device-id=mine"},
		"--gateways[1] is \"[\", allowed is a pattern":                     {"--gateways=a,["},
		"--map-device-id is \"id\", allowed is a JSON Pointer":             {"--map-device-id=id"},
		"--map-latitude is \"/lat\", allowed is a pointer together with":   {"--map-latitude=/lat"},
		"--map-heading is \"/a/b\", allowed is a value beside that of":     {"--map-speed=/a", "--map-heading=/a/b"},
		"--coordinate-unit is \"feet\", allowed is deg or a positive":      {"--coordinate-unit=feet"},
		"--speed-unit is \"-1\", allowed is m/s, cm/s, km/h, kn, mph or a": {"--speed-unit=-1"},
		"--max-age is -1s, allowed is 0 or more":                           {"--max-age=-1s"},
		"--key-path must be one of":                                        {"--key-path=/tenant"},
	} {
		if _, err := preview(t, args...); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v:\n got %v\nwant %s", args, err, want)
		}
	}
	if _, err := parse(t, complete("--map-latitude=/lat")...); err == nil || !strings.Contains(err.Error(), "--map-latitude") {
		t.Errorf("run takes a mapping of one coordinate: %v", err)
	}
}

func TestDecodeSaysWhatBecomesOfEachPosition(t *testing.T) {
	const batch = `[{"deviceId":"a","lat":1,"lon":2},{"deviceId":"a","lat":3,"lon":4},{"lat":5,"lon":6},{"deviceId":"b","lat":7,"lon":8}]`
	const head, tail = `"type":"Feature","geometry":{"type":"Point","coordinates":`, `},"properties":{},"source":{"enqueuedTime":"2026-11-30T12:00:00.000Z","partition":"0","sequenceNumber":0,"index":`
	for _, test := range []struct {
		name string
		args []string
		body string
		want string
	}{
		{"one batch", nil, batch, `{"index":0,"fate":"superseded","deviceId":"a"}
{"id":"a","deviceId":"a",` + head + `[4,3]` + tail + `1}}
{"index":2,"fate":"dead-lettered","reason":"missing_id","error":"neither the hub nor the body names the device"}
{"id":"b","deviceId":"b",` + head + `[8,7]` + tail + `3}}
`},
		{"history", []string{"--mode=history"}, `{"deviceId":"a","lat":1,"lon":2}`, `{"id":"a:1796040000000:0:0:0","deviceId":"a",` + head + `[2,1]` + tail + `0}}
`},
		{"a mapping with units", []string{"--map-device-id=/s/0", "--map-latitude=/p/a", "--map-longitude=/p/o", "--coordinate-unit=1e-7"},
			`{"s":["d"],"p":{"a":477570840,"o":-1219897340}}`, `{"id":"d","deviceId":"d",` + head + `[-121.989734,47.757084]` + tail + `0}}
`},
		{"another device speaks", []string{"--hub-device-id=hub-dev"}, `{"deviceId":"claimed","lat":1,"lon":2}`,
			`{"id":"hub-dev","deviceId":"hub-dev",` + head + `[2,1]` + tail + `0}}
`},
		{"a module speaks", []string{"--hub-device-id=gw", "--hub-module-id=m"}, `{"deviceId":"d","lat":1,"lon":2}`,
			`{"id":"d","deviceId":"d",` + head + `[2,1]` + tail + `0,"gateway":"gw"}}
`},
		{"dropped", []string{"--key-path=/deliveryId", "--missing-key=drop"}, `{"deviceId":"d","lat":1,"lon":2}`,
			`{"index":0,"fate":"dropped","reason":"missing_partition_key","deviceId":"d","error":"the body has no text at the container's partition key path"}
`},
		{"an unknown coding", []string{"--content-encoding=br"}, `{}`,
			`{"index":0,"fate":"dead-lettered","reason":"malformed","error":"content-encoding \"br\" is not known"}
`},
	} {
		t.Run(test.name, func(t *testing.T) {
			p, err := preview(t, test.args...)
			if err != nil {
				t.Fatal(err)
			}
			var out strings.Builder
			if err := p.Decode([]byte(test.body), noon, &out); err != nil {
				t.Fatal(err)
			}
			if out.String() != test.want {
				t.Errorf("got\n%swant\n%s", out.String(), test.want)
			}
		})
	}
}

func TestDecodeCases(t *testing.T) {
	const line = `{"name":"n","event":{"body":"{\"deviceId\":\"d\",\"lat\":1,\"lon\":2}"},"expect":`
	for _, test := range []struct {
		args []string
		in   string
		want string // the last line
		err  error
	}{
		{nil, line + `{"written":[{"id":"d"}]}}`, "1 passed, 0 failed\n", nil},
		{nil, line + `{"superseded":1}}`, "0 passed, 1 failed\n", ErrCasesFailed},
		{[]string{"--key-path=/deliveryId"}, line + `{"deadLettered":{"missing_partition_key":1}}}`, "1 passed, 0 failed\n", nil},
		{[]string{"--max-age=10ms"}, line + `{"dropped":{"stale":1}}}`, "1 passed, 0 failed\n", nil},
		{[]string{"--mode=history"}, line + `{"written":[{"id":"d:1796039999000:0:0:0"}]}}`, "1 passed, 0 failed\n", nil},
		{nil, "", "0 passed, 0 failed\n", nil},
	} {
		p, err := preview(t, test.args...)
		if err != nil {
			t.Fatal(err)
		}
		var out strings.Builder
		if err := p.DecodeCases(strings.NewReader(test.in), noon, &out); !errors.Is(err, test.err) || !strings.HasSuffix(out.String(), test.want) {
			t.Errorf("%v %s: %v\n%s", test.args, test.in, err, out.String())
		}
	}
	p, err := preview(t)
	if err != nil {
		t.Fatal(err)
	}
	if err := p.DecodeCases(strings.NewReader("no case"), noon, &strings.Builder{}); err == nil || errors.Is(err, ErrCasesFailed) {
		t.Errorf("a file of no cases: %v", err)
	}
}
