package geo_test

import (
	"bytes"
	"encoding/json"
	"flag"
	"math"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/paulmach/orb"
	"github.com/paulmach/orb/geojson"

	"warmpath/geo"
)

var update = flag.Bool("update", false, "write the golden files anew")

var (
	enqueued = time.Date(2026, 11, 30, 12, 0, 0, 456_999_999, time.UTC)
	source   = geo.Source{Enqueued: enqueued, Partition: "3", Sequence: 123}
)

func fullPosition() geo.Position {
	return geo.Position{
		DeviceID:   "drone-0007",
		DeliveryID: "d-4711",
		Point:      orb.Point{-121.989734, 47.757084},
		Altitude:   93.98,
		Time:       time.Date(2026, 11, 30, 13, 0, 0, 123_000_000, time.FixedZone("", 3600)),
		Speed:      12.2,
		Heading:    83,
		Battery:    0.71,
		HDOP:       math.NaN(),
	}
}

func barePosition() geo.Position {
	nan := math.NaN()
	return geo.Position{DeviceID: "a/b", Point: orb.Point{2, 1}, Altitude: nan, Speed: nan, Heading: nan, Battery: nan, HDOP: nan}
}

// TestDocument holds the contract with readers: names, order and form of every member.
func TestDocument(t *testing.T) {
	gateway := fullPosition()
	gateway.Gateway, gateway.HDOP = "edge-1", 4.08
	full, bare := fullPosition(), barePosition()
	var got []byte
	for _, line := range []struct {
		id  string
		p   *geo.Position
		src geo.Source
		ttl int
	}{
		{id: "drone-0007", p: &full, src: source},
		{id: "a%2Fb", p: &bare, src: geo.Source{Partition: "0", Index: 2}},
		{id: "drone-0007:1796040000456:3:123:0", p: &gateway, src: source, ttl: 86400},
	} {
		got = geo.AppendDocument(got, line.id, line.p, &line.src, line.ttl)
		got = append(got, '\n')
	}
	golden := filepath.Join("testdata", "documents.golden.jsonl")
	if *update {
		if err := os.WriteFile(golden, got, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(golden)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(got, want) {
		t.Errorf("documents are\n%s\nwant\n%s", got, want)
	}
}

// A GIS library reads documents as they stand.
func TestDocumentIsAFeature(t *testing.T) {
	p := fullPosition()
	feature, err := geojson.UnmarshalFeature(geo.AppendDocument(nil, "d", &p, &source, 0))
	if err != nil {
		t.Fatal(err)
	}
	if got, want := feature.Point(), p.Point; got != want {
		t.Errorf("point is %v, want %v", got, want)
	}
}

// Whatever a caller puts into a Position, no number that JSON or GIS tools
// cannot take reaches a document.
func TestDocumentNumbers(t *testing.T) {
	odd := []float64{math.NaN(), math.Inf(1), math.Inf(-1), math.Copysign(0, -1), math.MaxFloat64, math.SmallestNonzeroFloat64, 1e21, 1e-7, 0.30000000000000004}
	for _, f := range odd {
		for _, g := range odd {
			p := geo.Position{DeviceID: "d", Point: orb.Point{f, g}, Altitude: g, Speed: f, Heading: f, Battery: f, HDOP: f, Time: time.Unix(1<<60, 0)}
			doc := geo.AppendDocument(nil, "d", &p, &source, 0)
			if !json.Valid(doc) {
				t.Fatalf("%v, %v: not JSON: %s", f, g, doc)
			}
			for _, bad := range []string{"NaN", "Inf", "-0,", "-0]", "-0}"} {
				if bytes.Contains(doc, []byte(bad)) {
					t.Errorf("%v, %v: document holds %q: %s", f, g, bad, doc)
				}
			}
			if math.IsNaN(f-f) || math.IsNaN(g-g) {
				continue
			}
			var read struct {
				Geometry struct{ Coordinates orb.Point }
			}
			if err := json.Unmarshal(doc, &read); err != nil {
				t.Fatal(err)
			}
			if got := read.Geometry.Coordinates; got != p.Point {
				t.Errorf("point is %v, want %v", got, p.Point)
			}
		}
	}
}
