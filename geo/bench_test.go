package geo_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"testing"

	"warmpath/geo"
)

// referenceBody is the event of the reference fleet with every member it sends.
const referenceBody = `{"deviceId":"drone-0007","deliveryId":"d-4711","sensorType":"drone-event-sensor;v1",` +
	`"position":"+47.757084|-121.989734|93.98","velocity":"12.2","acceleration":"0.1","flightStatus":"InFlight",` +
	`"occurrenceUtcTime":"2026-11-30T12:00:00.123Z"}`

// referenceStruct is what a decoder without geo would unmarshal into.
type referenceStruct struct {
	DeviceID          string `json:"deviceId"`
	DeliveryID        string `json:"deliveryId"`
	SensorType        string `json:"sensorType"`
	Position          string `json:"position"`
	Velocity          string `json:"velocity"`
	Acceleration      string `json:"acceleration"`
	FlightStatus      string `json:"flightStatus"`
	OccurrenceUTCTime string `json:"occurrenceUtcTime"`
}

func arrayBody(n int) []byte {
	var body bytes.Buffer
	for i := range n {
		body.WriteByte("[,"[min(i, 1)])
		fmt.Fprintf(&body, `{"deviceId":"drone-%04d"%s`, i, referenceBody[len(`{"deviceId":"drone-0007"`):])
	}
	body.WriteByte(']')
	return body.Bytes()
}

// toDocuments decodes an event and appends its documents.
func toDocuments(tb testing.TB, d *geo.Decoder, ev *geo.Event, items []geo.Item, docs []byte) ([]geo.Item, []byte) {
	items = d.Decode(items, ev)
	for i := range items {
		if items[i].Reason != "" {
			tb.Fatal(items[i].Err)
		}
		src := source
		src.Index = i
		docs = geo.AppendDocument(docs, items[i].DocumentID, &items[i].Position, &src, 0)
	}
	return items, docs
}

func BenchmarkReferenceEvent(b *testing.B) {
	for _, hub := range []string{"", "drone-0007"} {
		b.Run("hub="+hub, func(b *testing.B) {
			d := newDecoder(b, nil)
			ev := &geo.Event{Body: []byte(referenceBody), HubDeviceID: hub, MessageSource: "Telemetry"}
			var items []geo.Item
			var docs []byte
			b.ReportAllocs()
			for b.Loop() {
				items, docs = toDocuments(b, d, ev, items[:0], docs[:0])
			}
		})
	}
}

func BenchmarkArrayOf100(b *testing.B) {
	d := newDecoder(b, nil)
	ev := &geo.Event{Body: arrayBody(100)}
	var items []geo.Item
	var docs []byte
	b.ReportAllocs()
	for b.Loop() {
		items, docs = toDocuments(b, d, ev, items[:0], docs[:0])
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*100), "ns/position")
}

// BenchmarkMapping is what a shape of its own costs a fleet.
func BenchmarkMapping(b *testing.B) {
	d := newDecoder(b, func(cfg *geo.Config) { cfg.Mapping = mavlink })
	ev := &geo.Event{Body: []byte(mavlinkBody)}
	var items []geo.Item
	var docs []byte
	b.ReportAllocs()
	for b.Loop() {
		items, docs = toDocuments(b, d, ev, items[:0], docs[:0])
	}
}

// BenchmarkStandardLibrary is the measure beside the two above: encoding/json
// into a struct and nothing more.
func BenchmarkStandardLibrary(b *testing.B) {
	b.ReportAllocs()
	for b.Loop() {
		var into referenceStruct
		if err := json.Unmarshal([]byte(referenceBody), &into); err != nil {
			b.Fatal(err)
		}
	}
}
