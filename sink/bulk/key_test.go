package bulk

import (
	"encoding/hex"
	"encoding/json"
	"math"
	"math/rand/v2"
	"strings"
	"testing"
	"unicode/utf8"

	"warmpath/internal/emulator/cosmos"
	"warmpath/internal/emulator/cosmos/epk"
)

// hexOf writes the first n components of a position.
func hexOf(p position, n int) string {
	var raw []byte
	for _, w := range p[:2*n] {
		for shift := 56; shift >= 0; shift -= 8 {
			raw = append(raw, byte(w>>shift))
		}
	}
	return strings.ToUpper(hex.EncodeToString(raw))
}

// The hashes are those of the baseline that the service's own SDKs publish,
// with the two highest bits cleared.
func TestPositionOfBaseline(t *testing.T) {
	tests := []struct {
		name string
		key  Key
		want string
	}{
		{"drone", StringKey("drone-1"), "31C97E9701BDC1E98D861ACF82F13E02"},
		{"drone of six digits", StringKey("drone-000123"), "0C0EC3808B931A3AB3DD3A8F3946A4DC"},
		{"empty string", StringKey(""), "32E9366E637A71B4E710384B2F4970A0"},
		{"short string", StringKey("asdf"), "208BF1D598F5B63AD5520F04FE58C5E8"},
		{"99 bytes", StringKey(strings.Repeat("a", 99)), "3C02F609961C32AAC2B912B940D1209A"},
		{"100 bytes", StringKey(strings.Repeat("a", 100)), "0DBD7D229437BB665DE6417747994D57"},
		{"zero", NewKey(Number(0)), "155B95BEDAC4B1E9EC1CDC9BB0DDDE58"},
		{"negative zero", NewKey(Number(math.Copysign(0, -1))), "3D018BB1DF3DB27235766E81FD10406E"},
		{"one", NewKey(Number(1)), "20CD98B339BA78A5D0CF6953B87070B0"},
		{"smallest number", NewKey(Number(5e-324)), "0E6CBA63A280927DE485DEF865800139"},
		{"largest number", NewKey(Number(math.MaxFloat64)), "31424D996457102634591FF245DBCC4D"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if got := hexOf(positionOf(&tt.key, false), 1); got != tt.want {
				t.Errorf("position = %s, want %s", got, tt.want)
			}
		})
	}
}

func TestPositionOfHierarchicalBaseline(t *testing.T) {
	const want = "3499FD5198AE0F1EB6B77F6E428D2FF0" + "27A1848BD1102A3B65AFF266874D0FF5" + "2CA5ABC953544CF9BD94776DA5E6EA52"
	components := []Component{String("/path1"), String("/path2"), String("/path3")}
	for n := 1; n <= 3; n++ {
		key := NewKey(components[0], components[1:n]...)
		if got := hexOf(positionOf(&key, true), n); got != want[:32*n] {
			t.Errorf("position of %d components = %s, want %s", n, got, want[:32*n])
		}
	}
}

// randomComponent makes keys of all types, among them empty ones, ones of the
// greatest length, and text outside of ASCII.
func randomComponent(r *rand.Rand) (Component, epk.Component) {
	switch r.IntN(48) {
	case 0:
		return Null(), nil
	case 1:
		return Undefined(), epk.Undefined{}
	case 2:
		b := r.IntN(2) == 0
		return Bool(b), b
	case 3:
		f := math.Float64frombits(r.Uint64())
		if math.IsNaN(f) || math.IsInf(f, 0) {
			f = float64(r.IntN(1000))
		}
		return Number(f), f
	case 4:
		return String(""), ""
	case 5:
		s := strings.Repeat(string(rune('a'+r.IntN(26))), maxKeyBytes)
		return String(s), s
	}
	var b []byte
	for range r.IntN(24) {
		switch r.IntN(4) {
		case 0:
			b = utf8.AppendRune(b, rune(r.IntN(0x80)))
		case 1:
			b = utf8.AppendRune(b, rune(0xA0+r.IntN(0x2000)))
		case 2:
			b = utf8.AppendRune(b, rune(0x1F300+r.IntN(0x300)))
		default:
			b = append(b, "drone-0123456789"[r.IntN(16)])
		}
	}
	return String(string(b)), string(b)
}

func encodeForEmulator(components []epk.Component) []byte {
	var b []byte
	for _, c := range components {
		switch c := c.(type) {
		case nil:
			b = epk.AppendNull(b)
		case bool:
			b = epk.AppendBool(b, c)
		case float64:
			b = epk.AppendNumber(b, c)
		case string:
			b = epk.AppendString(b, c)
		default:
			b = epk.AppendUndefined(b)
		}
	}
	return b
}

// Routing must agree with where the emulator keeps a document, which is where
// it compares the hash of the key with the bounds that it serves.
func TestRoutingAgreesWithEmulator(t *testing.T) {
	t.Parallel()
	const keys, ranges = 100_000, 7
	server, err := cosmos.Start(cosmos.WithRanges(ranges))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = server.Close() })
	container := cosmos.Container{ID: "c", PartitionKey: cosmos.PartitionKey{Paths: []string{"/k"}, Kind: "Hash", Version: 2}}
	if err := server.CreateContainer("d", container); err != nil {
		t.Fatal(err)
	}
	var served []servedRange
	var ends []epk.Value
	for _, r := range server.Ranges("d", "c") {
		served = append(served, servedRange{ID: r.ID, Min: r.Min, Max: r.Max, Parents: r.Parents})
		end, err := epk.Parse(r.Max)
		if err != nil {
			t.Fatal(err)
		}
		ends = append(ends, end)
	}
	layout, err := newLayout(served)
	if err != nil {
		t.Fatal(err)
	}

	rng := rand.New(rand.NewPCG(1, 2))
	seen := make([]int, ranges)
	for i := range keys {
		hierarchical := i%4 == 0
		n := 1
		if hierarchical {
			n += rng.IntN(3)
		}
		ours := make([]Component, n)
		theirs := make([]epk.Component, n)
		for j := range ours {
			ours[j], theirs[j] = randomComponent(rng)
		}
		key := NewKey(ours[0], ours[1:]...)
		if err := key.check(n); err != nil {
			t.Fatalf("key %v: %v", theirs, err)
		}
		at := positionOf(&key, hierarchical)
		want := epk.Hash(encodeForEmulator(theirs))
		if hierarchical {
			want = epk.MultiHash(encodeForEmulator(theirs))
		}
		if position(want) != at {
			t.Fatalf("key %q: position %x, want %x", theirs, at, want)
		}
		wantRange := 0
		for want.Compare(ends[wantRange]) >= 0 {
			wantRange++
		}
		got := find(layout, &at)
		if layout[got].id != served[wantRange].ID {
			t.Fatalf("key %q: range %s, want %s", theirs, layout[got].id, served[wantRange].ID)
		}
		seen[got]++
	}
	for i, n := range seen {
		if n < keys/ranges/2 {
			t.Errorf("range %d got %d of %d keys", i, n, keys)
		}
	}
}

// A key on the wire is JSON in a JSON string; read twice it is the key again.
func TestKeyOnTheWire(t *testing.T) {
	t.Parallel()
	rng := rand.New(rand.NewPCG(3, 4))
	for range 20_000 {
		n := 1 + rng.IntN(3)
		ours := make([]Component, n)
		theirs := make([]epk.Component, n)
		for j := range ours {
			ours[j], theirs[j] = randomComponent(rng)
		}
		key := NewKey(ours[0], ours[1:]...)
		wire := key.appendQuotedJSON(nil)
		if len(wire) > key.size() {
			t.Fatalf("key %q takes %d bytes, size said at most %d", theirs, len(wire), key.size())
		}
		for _, c := range wire {
			if c >= utf8.RuneSelf {
				t.Fatalf("key %q is not ASCII on the wire: %s", theirs, wire)
			}
		}
		var inside string
		if err := json.Unmarshal(wire, &inside); err != nil {
			t.Fatalf("key %q: %s: %v", theirs, wire, err)
		}
		var got []any
		if err := json.Unmarshal([]byte(inside), &got); err != nil {
			t.Fatalf("key %q: %s: %v", theirs, inside, err)
		}
		for j, want := range theirs {
			if _, undefined := want.(epk.Undefined); undefined {
				if m, ok := got[j].(map[string]any); !ok || len(m) != 0 {
					t.Fatalf("undefined became %v", got[j])
				}
				continue
			}
			if got[j] != want {
				t.Fatalf("component %q became %q", want, got[j])
			}
		}
	}
}

func TestKeyCheck(t *testing.T) {
	tests := []struct {
		name  string
		key   Key
		paths int
		want  string // part of the error, "" for none
	}{
		{"good", StringKey("a"), 1, ""},
		{"good hierarchical", NewKey(String("a"), Null(), Number(3)), 3, ""},
		{"zero", Key{}, 1, "missing"},
		{"too few", StringKey("a"), 2, "1 components"},
		{"too many", NewKey(String("a"), String("b")), 1, "2 components"},
		{"longest", StringKey(strings.Repeat("k", 2048)), 1, ""},
		{"too long", StringKey(strings.Repeat("k", 2049)), 1, "2049 bytes"},
		{"not UTF-8", StringKey("a\xffb"), 1, "UTF-8"},
		{"not UTF-8 below", NewKey(String("a"), String("\xc3")), 2, "UTF-8"},
		{"not a number", NewKey(Number(math.NaN())), 1, "NaN"},
		{"infinite", NewKey(Number(math.Inf(-1))), 1, "-Inf"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			err := tt.key.check(tt.paths)
			if got := err == nil; got != (tt.want == "") || err != nil && !strings.Contains(err.Error(), tt.want) {
				t.Errorf("check = %v, want %q", err, tt.want)
			}
		})
	}
}
