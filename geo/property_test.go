package geo_test

import (
	"bytes"
	"cmp"
	"encoding/json"
	"math"
	"math/rand/v2"
	"net/url"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
	"unicode/utf8"

	"warmpath/geo"
)

// same compares two numbers of which unknown ones are NaN.
func same(a, b float64) bool { return a == b || math.IsNaN(a) && math.IsNaN(b) }

// checkItems holds what is true of every event, whatever its body.
func checkItems(t *testing.T, d *geo.Decoder, ev *geo.Event) {
	t.Helper()
	before := bytes.Clone(ev.Body)
	items := d.Decode(nil, ev)
	if !bytes.Equal(ev.Body, before) {
		t.Fatal("decoding has changed the body")
	}
	if len(items) == 0 {
		t.Fatal("an event without an item")
	}
	stale := d.DecodeStale(nil, ev)
	if n := d.Count(ev); n != len(items) || len(stale) != n {
		t.Fatalf("%d items, %d stale, count %d", len(items), len(stale), n)
	}
	for i := range items {
		item := &items[i]
		if want := stale[i].Reason; want != geo.Stale && item.Reason != geo.NotTelemetry {
			t.Errorf("stale item is %s", want)
		}
		if item.Reason != "" {
			if item.Err == nil || len(item.Err.Error()) > 300 {
				t.Errorf("%s with detail %v", item.Reason, item.Err)
			}
			continue
		}
		checkDocument(t, item, i)
	}
}

// checkDocument holds what is true of every document, and that a document can
// be read again as what it was made of.
func checkDocument(t *testing.T, item *geo.Item, index int) {
	t.Helper()
	p := &item.Position
	src := source
	src.Index = index
	doc := geo.AppendDocument(nil, item.DocumentID, p, &src, 60)
	if !json.Valid(doc) || !utf8.Valid(doc) {
		t.Fatalf("no JSON in UTF-8: %q", doc)
	}
	if id := item.DocumentID; id == "" || len(id) > geo.MaxIDBytes || strings.ContainsAny(id, `/\?#`) {
		t.Errorf("document id %q", id)
	}
	if item.Key == "" || len(item.Key) > geo.MaxKeyBytes {
		t.Errorf("key of %d bytes", len(item.Key))
	}
	if math.Abs(p.Point.Lat()) > 90 || math.Abs(p.Point.Lon()) > 180 || math.Signbit(p.Point[0]) && p.Point[0] == 0 {
		t.Errorf("point %v", p.Point)
	}
	cfg := geo.DefaultConfig()
	d, err := geo.NewDecoder(cfg)
	if err != nil {
		t.Fatal(err)
	}
	again := d.Decode(nil, &geo.Event{Body: doc})
	if len(again) != 1 || again[0].Reason != "" {
		t.Fatalf("%s: read again is %+v", doc, again)
	}
	q := &again[0].Position
	if q.DeviceID != p.DeviceID || q.DeliveryID != p.DeliveryID || q.Point != p.Point || !same(q.Altitude, p.Altitude) ||
		!same(q.Speed, p.Speed) || !same(q.Heading, p.Heading) || !same(q.Battery, p.Battery) || !same(q.HDOP, p.HDOP) ||
		q.Time.UnixMilli() != p.Time.UnixMilli() {
		t.Errorf("%s\nread again is %+v\nwant %+v", doc, q, p)
	}
}

// FuzzEvent throws whole events at the decoder.
func FuzzEvent(f *testing.F) {
	for _, c := range loadCases(f) {
		if ev := c.event(f); len(ev.Body) < 4096 {
			f.Add(ev.Body, ev.ContentEncoding, ev.HubDeviceID, ev.ModuleID)
		}
	}
	f.Fuzz(func(t *testing.T, body []byte, contentEncoding, device, module string) {
		d := newDecoder(t, func(cfg *geo.Config) {
			cfg.MaxDecompressed = 1 << 16
			cfg.MaxPositions = 1000
		})
		checkItems(t, d, &geo.Event{Body: body, ContentEncoding: contentEncoding, HubDeviceID: device, ModuleID: module})
	})
}

// Device ids map to document ids one to one: the way back is the standard
// library's percent-decoding.
func TestDocumentIDIsOneToOne(t *testing.T) {
	alphabet := []string{"a", "Z", "0", "%", "25", "2F", "/", `\`, "?", "#", " ", "\t", "\x00", "\x7f", ":", ".", "-", "_", "+", "ö", "🚁", "\u00a0"}
	rng := rand.New(rand.NewPCG(5, 6))
	for range 50_000 {
		var device strings.Builder
		for range 1 + rng.IntN(8) {
			device.WriteString(alphabet[rng.IntN(len(alphabet))])
		}
		id, err := geo.DocumentID(device.String())
		if err != nil {
			t.Fatal(err)
		}
		if strings.ContainsAny(id, "/\\?#\x00\t\x7f") || strings.HasSuffix(id, " ") {
			t.Errorf("%q becomes %q", device.String(), id)
		}
		if back, err := url.PathUnescape(id); err != nil || back != device.String() {
			t.Errorf("%q becomes %q, which becomes %q (%v)", device.String(), id, back, err)
		}
	}
	for _, bad := range []string{"", "a\xff", strings.Repeat("a", geo.MaxIDBytes+1), strings.Repeat("#", geo.MaxIDBytes/3+1)} {
		if id, err := geo.DocumentID(bad); err == nil {
			t.Errorf("%.20q becomes %.20q", bad, id)
		}
	}
}

func TestHistoryID(t *testing.T) {
	src := geo.Source{Enqueued: enqueued, Partition: "3", Sequence: 123, Index: 4}
	id, err := geo.HistoryID([]byte("x"), "a%2Fb", &src)
	if want := "xa%2Fb:1796040000456:3:123:4"; string(id) != want || err != nil {
		t.Errorf("id is %q, %v, want %q", id, err, want)
	}
	suffix := len(":1796040000456:3:123:4")
	if _, err := geo.HistoryID(nil, strings.Repeat("a", geo.MaxIDBytes-suffix), &src); err != nil {
		t.Errorf("an id of %d bytes: %v", geo.MaxIDBytes, err)
	}
	if id, err := geo.HistoryID([]byte("x"), strings.Repeat("a", geo.MaxIDBytes-suffix+1), &src); err == nil || string(id) != "x" {
		t.Errorf("an id of %d bytes is %q, %v", geo.MaxIDBytes+1, id, err)
	}
}

// TestOrder holds the definition of newer: enqueued time before sequence number
// before index.
func TestOrder(t *testing.T) {
	var all []geo.Order
	for _, enqueued := range []int64{-1, 0, 1796040000456} {
		for _, sequence := range []int64{0, 1, math.MaxInt64} {
			for _, index := range []int{0, 1} {
				all = append(all, geo.Order{Enqueued: enqueued, Sequence: sequence, Index: index})
			}
		}
	}
	for i, a := range all {
		for j, b := range all {
			if got, want := a.Compare(b), cmp.Compare(i, j); got != want {
				t.Errorf("%v to %v is %d, want %d", a, b, got, want)
			}
			if a.Newer(b) != (i > j) {
				t.Errorf("%v newer than %v is %v", a, b, a.Newer(b))
			}
		}
	}
	src := geo.Source{Enqueued: enqueued, Sequence: 123, Index: 4}
	if got, want := src.Order(), (geo.Order{Enqueued: 1796040000456, Sequence: 123, Index: 4}); got != want {
		t.Errorf("order is %v, want %v", got, want)
	}
}

// One decoder serves many partitions at once, and what is left from one event
// never shows in another.
func TestDecodeConcurrently(t *testing.T) {
	d := newDecoder(t, nil)
	cases := loadCases(t)
	want := make([]string, len(cases))
	for i := range cases {
		want[i] = verdicts(d.Decode(nil, cases[i].event(t)))
	}
	var wg sync.WaitGroup
	for start := range 4 {
		wg.Go(func() {
			items := make([]geo.Item, 1, 8)
			for n := range cases {
				i := (start*20 + n) % len(cases)
				items = d.Decode(items[:1], cases[i].event(t))
				if got := verdicts(items[1:]); got != want[i] {
					t.Errorf("%s: got %.200s, want %.200s", cases[i].Name, got, want[i])
				}
			}
		})
	}
	wg.Wait()
}

// TestDecodeMemory holds the bound that the package promises, over bodies made
// to break it.
func TestDecodeMemory(t *testing.T) {
	const size = 1 << 18
	fill := func(first, repeated, last string) []byte {
		return []byte(first + strings.Repeat(repeated, (size-len(first)-len(last))/len(repeated)) + last)
	}
	cfg := geo.DefaultConfig()
	cfg.MaxDecompressed = 1 << 20
	d := newDecoder(t, func(c *geo.Config) { *c = cfg })
	for _, test := range []struct {
		name string
		ev   geo.Event
	}{
		{"elements of one byte", geo.Event{Body: fill("[0", ",0", "]")}},
		{"empty objects", geo.Event{Body: fill("[{}", ",{}", "]")}},
		{"empty objects on lines", geo.Event{Body: fill("{}", "\n{}", "")}},
		{"bad lines", geo.Event{Body: fill("{}", "\n{", "")}},
		{"tracker lines of one field", geo.Event{Body: fill(line, "\nx", "")}},
		{"brackets", geo.Event{Body: fill("", "[", "")}},
		{"objects in objects", geo.Event{Body: fill("", `{"a":`, "")}},
		{"an id of escapes", geo.Event{Body: fill(`{"deviceId":"`, `\u0041`, `","latitude":1,"longitude":2}`)}},
		{"a type of escapes", geo.Event{Body: fill(`{"type":"`, `\n`, `","latitude":1,"longitude":2}`)}},
		{"a name of escapes", geo.Event{Body: fill(`{"`, `\n`, `":1}`)}},
		{"an envelope of escapes", geo.Event{Body: fill(`{"Body":"`, `\n`, `"}`)}},
		{"base64", geo.Event{Body: fill("", "QUJD", "")}},
		{"digits", geo.Event{Body: fill(`{"deviceId":"a","latitude":0.`, "1", `,"longitude":2}`)}},
		{"a bomb", geo.Event{Body: []byte(gzipped(t, strings.Repeat("[", 4<<20)))}},
		{"a bomb in base64", geo.Event{Body: []byte(base64ed(gzipped(t, strings.Repeat("0", 4<<20))))}},
		{"a bomb of elements", geo.Event{Body: []byte(gzipped(t, string(fill("[0", ",0", "]"))))}},
	} {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		start := time.Now()
		items := d.Decode(nil, &test.ev)
		took := time.Since(start)
		runtime.ReadMemStats(&after)
		got := after.TotalAlloc - before.TotalAlloc
		bound := uint64(4*len(test.ev.Body) + 64<<10)
		if strings.Contains(test.name, "bomb") {
			bound += uint64(4 * cfg.MaxDecompressed)
		}
		positions := len(items)
		if items[0].Reason == geo.TooLarge {
			positions = cfg.MaxPositions
		}
		bound += uint64(positions) * 2048
		if got > bound {
			t.Errorf("%s: %d bytes allocated for a body of %d, bound %d", test.name, got, len(test.ev.Body), bound)
		}
		if took > 5*time.Second {
			t.Errorf("%s: took %v", test.name, took)
		}
	}
}

// Allocations do not grow with what a reference event holds beyond its ids.
func TestDecodeAllocations(t *testing.T) {
	d := newDecoder(t, nil)
	ev := &geo.Event{Body: []byte(referenceBody), HubDeviceID: "drone-0007", MessageSource: "Telemetry"}
	var items []geo.Item
	docs := make([]byte, 0, 4096)
	got := testing.AllocsPerRun(1000, func() { items, docs = toDocuments(t, d, ev, items[:0], docs[:0]) })
	if got > 3 {
		t.Errorf("%v allocations from event to document, want at most 3", got)
	}
}

func TestConfigValidate(t *testing.T) {
	for _, test := range []struct {
		name   string
		change func(*geo.Config)
		want   []string // in the error
	}{
		{"default", func(*geo.Config) {}, nil},
		{"key path", func(c *geo.Config) { c.KeyPath = "/tenant" }, []string{"KeyPath", `"/tenant"`, "/deviceId, /deliveryId, /id"}},
		{"sensor types", func(c *geo.Config) { c.SensorTypes = nil }, []string{"SensorTypes"}},
		{"decompressed", func(c *geo.Config) { c.MaxDecompressed = 0 }, []string{"MaxDecompressed", `"0"`}},
		{"positions", func(c *geo.Config) { c.MaxPositions = -1 }, []string{"MaxPositions", `"-1"`}},
		{"policy", func(c *geo.Config) { c.DeviceID = "both" }, []string{"DeviceID", `"both"`, "hub or body"}},
		{"gateway", func(c *geo.Config) { c.Gateways = []string{"a", "[b"} }, []string{"Gateways[1]", `"[b"`}},
		{"two at once", func(c *geo.Config) { c.KeyPath, c.MaxPositions = "", 0 }, []string{"KeyPath", "MaxPositions"}},
	} {
		t.Run(test.name, func(t *testing.T) {
			cfg := geo.DefaultConfig()
			test.change(&cfg)
			_, err := geo.NewDecoder(cfg)
			if (err != nil) != (len(test.want) > 0) {
				t.Fatalf("error %v", err)
			}
			for _, want := range test.want {
				if !strings.Contains(err.Error(), want) {
					t.Errorf("error %q does not name %s", err, want)
				}
			}
		})
	}
	if got := geo.KeyPaths(); !slices.Equal(got, []string{"/deviceId", "/deliveryId", "/id"}) {
		t.Errorf("key paths are %v", got)
	}
}
