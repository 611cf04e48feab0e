package geo_test

import (
	"testing"

	"warmpath/geo"
)

func newDecoder(t testing.TB, change func(*geo.Config)) *geo.Decoder {
	t.Helper()
	cfg := geo.DefaultConfig()
	if change != nil {
		change(&cfg)
	}
	d, err := geo.NewDecoder(cfg)
	if err != nil {
		t.Fatal(err)
	}
	return d
}

func TestDecodeReference(t *testing.T) {
	d := newDecoder(t, nil)
	items := d.Decode(nil, &geo.Event{Body: []byte(`{"deviceId":"drone-0007","deliveryId":"d-4711","sensorType":"drone-event-sensor;v1",
		"position":"+47.757084|-121.989734|93.98","velocity":12.2,"heading":83,"battery":0.71,"occurrenceUtcTime":"2026-11-30T12:00:00.123Z"}`)})
	if len(items) != 1 || items[0].Reason != "" {
		t.Fatalf("got %+v", items)
	}
	want := fullPosition()
	got := geo.AppendDocument(nil, items[0].DocumentID, &items[0].Position, &source, 0)
	if want := geo.AppendDocument(nil, "drone-0007", &want, &source, 0); string(got) != string(want) {
		t.Errorf("document is\n%s\nwant\n%s", got, want)
	}
	if items[0].Key != "drone-0007" {
		t.Errorf("key is %q", items[0].Key)
	}
}
