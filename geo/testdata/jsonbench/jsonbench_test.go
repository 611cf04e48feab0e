// Package jsonbench compares libraries for the hot path of package geo: take the
// members of one reference event apart, as spans or texts, and be sure that the
// whole text is JSON.
package jsonbench

import (
	"bytes"
	"encoding/json"
	"io"
	"strings"
	"testing"

	"github.com/go-json-experiment/json/jsontext"
	gojson "github.com/goccy/go-json"
	"github.com/tidwall/gjson"
	"github.com/valyala/fastjson"
)

var body = []byte(`{"deviceId":"drone-0007","deliveryId":"d-4711","sensorType":"drone-event-sensor;v1",` +
	`"position":"+47.757084|-121.989734|93.98","velocity":"12.2","acceleration":"0.1","flightStatus":"InFlight",` +
	`"occurrenceUtcTime":"2026-11-30T12:00:00.123Z"}`)

type event struct {
	DeviceID          string `json:"deviceId"`
	DeliveryID        string `json:"deliveryId"`
	SensorType        string `json:"sensorType"`
	Position          string `json:"position"`
	Velocity          string `json:"velocity"`
	Acceleration      string `json:"acceleration"`
	FlightStatus      string `json:"flightStatus"`
	OccurrenceUTCTime string `json:"occurrenceUtcTime"`
}

// candidate reports whether text is JSON, and how many members it has taken.
type candidate struct {
	name string
	take func(text []byte) (n int, ok bool)
}

func candidates() []candidate {
	var (
		buf    bytes.Buffer
		dec    = jsontext.NewDecoder(&buf)
		parser fastjson.Parser
	)
	return []candidate{
		{"jsontext", func(text []byte) (n int, ok bool) {
			buf = *bytes.NewBuffer(text)
			dec.Reset(&buf, jsontext.AllowDuplicateNames(true))
			if dec.PeekKind() != '{' {
				_, err := dec.ReadValue()
				_, end := dec.ReadToken()
				return 0, err == nil && end == io.EOF
			}
			if _, err := dec.ReadToken(); err != nil {
				return 0, false
			}
			for dec.PeekKind() != '}' {
				if _, err := dec.ReadValue(); err != nil {
					return n, false
				}
				if _, err := dec.ReadValue(); err != nil {
					return n, false
				}
				n++
			}
			_, err := dec.ReadToken()
			_, end := dec.ReadToken()
			return n, err == nil && end == io.EOF
		}},
		{"gjson", func(text []byte) (n int, ok bool) {
			if !gjson.ValidBytes(text) {
				return 0, false
			}
			gjson.ParseBytes(text).ForEach(func(gjson.Result, gjson.Result) bool { n++; return true })
			return n, true
		}},
		{"fastjson", func(text []byte) (n int, ok bool) {
			value, err := parser.ParseBytes(text)
			if err != nil {
				return 0, false
			}
			if object, err := value.Object(); err == nil {
				object.Visit(func([]byte, *fastjson.Value) { n++ })
			}
			return n, true
		}},
		{"go-json into a struct", func(text []byte) (n int, ok bool) {
			var into event
			err := gojson.Unmarshal(text, &into)
			return 8, err == nil
		}},
		{"encoding/json into a struct", func(text []byte) (n int, ok bool) {
			var into event
			err := json.Unmarshal(text, &into)
			return 8, err == nil
		}},
	}
}

func BenchmarkMembers(b *testing.B) {
	for _, c := range candidates() {
		b.Run(strings.ReplaceAll(c.name, " ", "-"), func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if n, ok := c.take(body); n != 8 || !ok {
					b.Fatal(n, ok)
				}
			}
		})
	}
}

// TestStrictness prints what each candidate takes that it should not.
func TestStrictness(t *testing.T) {
	for _, text := range []struct{ name, json string }{
		{"bytes that are not UTF-8", "{\"a\":\"\xff\"}"},
		{"half a surrogate pair", `{"a":"\ud83d"}`},
		{"a control character", "{\"a\":\"\n\"}"},
		{"a leading zero", `{"a":01}`},
		{"data after the value", `{} x`},
		{"an escape that is none", `{"a":"\x"}`},
		{"100,000 levels", `{"a":` + strings.Repeat("[", 100_000) + strings.Repeat("]", 100_000) + `}`},
	} {
		var takes []string
		for _, c := range candidates() {
			if _, ok := c.take([]byte(text.json)); ok {
				takes = append(takes, c.name)
			}
		}
		t.Logf("%s: taken by %q", text.name, takes)
	}
}
