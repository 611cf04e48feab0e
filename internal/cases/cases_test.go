package cases

import (
	"encoding/json"
	"os"
	"strings"
	"testing"
	"time"

	"warmpath/geo"
	"warmpath/processor"
)

var (
	noon     = time.Date(2026, 11, 30, 12, 0, 0, 0, time.UTC)
	defaults = RulesOf(geo.DefaultConfig(), processor.DefaultConfig())
)

// Every payload that geo knows passes here too, where batches, ages and modes
// are the processor's own.
func TestTheKnownPayloads(t *testing.T) {
	file, err := os.Open("../../geo/testdata/payloads.jsonl")
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	cases, err := Load(file)
	if err != nil {
		t.Fatal(err)
	}
	var out strings.Builder
	Report(&out, cases, defaults, noon)
	if out.String() != "89 passed, 0 failed\n" {
		t.Error(out.String())
	}
}

func load(t *testing.T, lines string) []Case {
	t.Helper()
	cases, err := Load(strings.NewReader(lines))
	if err != nil {
		t.Fatal(err)
	}
	return cases
}

const position = `"body": "{\"deviceId\":\"d1\",\"deliveryId\":\"x\",\"latitude\":47.7,\"longitude\":-121.9,\"speed\":1.5}"`

// A case fails for whatever it names and is not so, and for what it does not
// name and is.
func TestWhatFails(t *testing.T) {
	for _, test := range []struct{ name, expect, want string }{
		{"nothing", `{"written":[{"id":"d1","coordinates":[-121.9,47.7]}]}`, ""},
		{"a zero is nothing", `{"written":[{}],"dropped":{"stale":0}}`, ""},
		{"any member can be named", `{"written":[{"type":"Feature","source":{"partition":"0","enqueuedTime":"2026-11-30T12:59:59+01:00"},"properties":{"speed":1.50009}}]}`, ""},
		{"coordinates are exact", `{"written":[{"coordinates":[-121.90000001,47.7]}]}`, "document 0: coordinates are [-121.9 47.7], want [-121.90000001 47.7]"},
		{"a missing altitude", `{"written":[{"coordinates":[-121.9,47.7,1]}]}`, "coordinates are [-121.9 47.7], want"},
		{"another id", `{"written":[{"id":"d2"}]}`, "/id is d1, want d2"},
		{"another number", `{"written":[{"properties":{"speed":1.6}}]}`, "/properties/speed is 1.5, want 1.6"},
		{"a text that is none", `{"written":[{"properties":{"speed":"1.5"}}]}`, "/properties/speed is 1.5, want 1.5"},
		{"a member that is missing", `{"written":[{"properties":{"heading":0}}]}`, "/properties/heading is <nil>, want 0"},
		{"another time", `{"written":[{"source":{"enqueuedTime":"2026-11-30T12:59:58+01:00"}}]}`, "/source/enqueuedTime is 2026-11-30T11:59:59.000Z, want"},
		{"an array of the wrong length", `{"written":[{"geometry":{"coordinates":[1]}}]}`, "/geometry/coordinates is [-121.9 47.7], want [1]"},
		{"too many documents", `{}`, "the number of documents is 1, want 0"},
		{"too few of anything", `{"written":[{}],"superseded":1,"dropped":{"stale":1},"deadLettered":{"bad_id":2}}`,
			"dropped is map[], want map[stale:1]\ndead-lettered is map[], want map[bad_id:2]\nsuperseded is 0, want 1"},
	} {
		t.Run(test.name, func(t *testing.T) {
			c := load(t, `{"name":"case","event":{`+position+`},"expect":`+test.expect+`}`)[0]
			got, err := c.Run(defaults, noon)
			if err != nil {
				t.Fatal(err)
			}
			text := ""
			if err := c.Expect.Check(got); err != nil {
				text = err.Error()
			}
			if text != test.want && (test.want == "" || !strings.Contains(text, test.want)) {
				t.Errorf("error %q, want %q", text, test.want)
			}
		})
	}
}

// -0 and a number with a needless digit are equal to what is wanted, but not
// printed as documents must be.
func TestCoordinatesArePrintedShort(t *testing.T) {
	want := json.RawMessage(`{"coordinates":[0,1.5]}`)
	for text, fits := range map[string]bool{"[0,1.5]": true, "[-0,1.5]": false, "[0,1.50]": false, "[0.0,1.5]": false, "[0,1.5,0]": false} {
		err := checkDocument(want, json.RawMessage(`{"geometry":{"coordinates":`+text+`}}`))
		if (err == nil) != fits {
			t.Errorf("%s: %v", text, err)
		}
	}
}

func TestSettingsOfACase(t *testing.T) {
	for _, test := range []struct{ settings, expect, want string }{
		{`{"partitionKeyPath":"/deliveryId"}`, `{"written":[{"deliveryId":"x"}]}`, ""},
		{`{"mode":"history"}`, `{"written":[{"id":"d1:1796039999000:0:0:0"}]}`, ""},
		{`{"mode":"history","partitionKeyPath":"/id"}`, `{"written":[{"id":"d1:1796039999000:0:0:0"}]}`, ""},
		{`{"maxAge":"999ms"}`, `{"dropped":{"stale":1}}`, ""},
		{`{"sensorTypes":["a","b"],"max-decompressed":7}`, `{"written":[{}]}`, ""},
		{`{"device-id":"body","gateways":["gw-*"]}`, `{"written":[{"id":"d1"}]}`, ""},
		{`{"mapping":{"latitude":"/longitude","longitude":"/latitude"}}`, `{"deadLettered":{"out_of_range":1}}`, ""},
		{`{"mapping":{"speedUnit":"km/h"}}`, `{"written":[{"properties":{"speed":0.4167}}]}`, ""},
		{`{"mode":"sometimes"}`, `{}`, `mode is "sometimes"`},
		{`{"partitionKeyPath":"/tenant"}`, `{}`, `KeyPath is "/tenant"`},
		{`{"missingKey":"keep"}`, `{}`, `missingKey is "keep"`},
		{`{"maxAge":"soon"}`, `{}`, `settings: time: invalid duration "soon"`},
		{`{"colour":"red"}`, `{}`, `unknown field "colour"`},
	} {
		t.Run(test.settings, func(t *testing.T) {
			c := load(t, `{"event":{`+position+`},"settings":`+test.settings+`,"expect":`+test.expect+`}`)[0]
			got, err := c.Run(defaults, noon)
			if err == nil {
				err = c.Expect.Check(got)
			}
			if test.want == "" && err != nil || test.want != "" && (err == nil || !strings.Contains(err.Error(), test.want)) {
				t.Errorf("error %v, want %q", err, test.want)
			}
		})
	}
	if len(defaults.SensorTypes) != 1 || defaults.SensorTypes[0] != "drone-event-sensor;v1" {
		t.Errorf("a case has changed the sensor types of all to %v", defaults.SensorTypes)
	}
}

func TestAgesOfACase(t *testing.T) {
	for text, want := range map[string]time.Time{
		``:       noon.Add(-time.Second),
		`null`:   {},
		`0`:      noon,
		`-60000`: noon.Add(time.Minute),
	} {
		line := `{"event":{}}`
		if text != "" {
			line = `{"event":{"enqueuedAgoMillis":` + text + `}}`
		}
		if got, err := load(t, line)[0].Event.Enqueued(noon); err != nil || !got.Equal(want) {
			t.Errorf("enqueuedAgoMillis %s: %v, %v; want %v", text, got, err, want)
		}
	}
}

func TestReport(t *testing.T) {
	cases := load(t, "\n"+`{"group":"g","name":"passes","event":{`+position+`},"expect":{"written":[{}]}}
{"group":"g","name":"fails","event":{"bodyBase64":"e30="},"expect":{"superseded":1}}

{"name":"cannot run","event":{"enqueuedAgoMillis":"old"}}`)
	var out strings.Builder
	failed := Report(&out, cases, defaults, noon)
	want := `FAIL  g/fails
      wanted  {"superseded":1}
      got     {"deadLettered":{"missing_id":1}}
      dead-lettered is map[missing_id:1], want map[]
      superseded is 0, want 1
FAIL  cannot run
      wanted  {}
      enqueuedAgoMillis: json: cannot unmarshal string into Go value of type int64
1 passed, 2 failed
`
	if failed != 2 || out.String() != want {
		t.Errorf("%d failed:\n%s\nwant:\n%s", failed, out.String(), want)
	}
}

func TestLoadNamesTheLine(t *testing.T) {
	for lines, want := range map[string]string{
		"{}\n\n{\"event\":":                           "line 3",
		`{"event":{"bodyBase64":"*"}}`:                "line 1",
		`{"expect":{"superseded":1.5}}`:               "line 1",
		"{}\r\n{\"event\":{\"body\":7}}\r\n{\"a\":1}": "line 2",
	} {
		if _, err := Load(strings.NewReader(lines)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: error %v, want it to name %s", lines, err, want)
		}
	}
}
