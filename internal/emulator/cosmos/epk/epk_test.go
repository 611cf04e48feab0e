package epk

import (
	"math"
	"strings"
	"testing"
)

func encode(components ...any) []byte {
	var b []byte
	for _, c := range components {
		switch c := c.(type) {
		case nil:
			b = AppendNull(b)
		case Undefined:
			b = AppendUndefined(b)
		case bool:
			b = AppendBool(b, c)
		case float64:
			b = AppendNumber(b, c)
		case string:
			b = AppendString(b, c)
		}
	}
	return b
}

// The hashes are those that the service's own SDKs publish as their baseline,
// with the two highest bits cleared as for routing.
func TestHashBaseline(t *testing.T) {
	tests := []struct {
		name string
		key  []any
		want string
	}{
		{"drone", []any{"drone-1"}, "31C97E9701BDC1E98D861ACF82F13E02"},
		{"drone six digits", []any{"drone-000123"}, "0C0EC3808B931A3AB3DD3A8F3946A4DC"},
		{"empty string", []any{""}, "32E9366E637A71B4E710384B2F4970A0"},
		{"short string", []any{"asdf"}, "208BF1D598F5B63AD5520F04FE58C5E8"},
		{"99 bytes", []any{strings.Repeat("a", 99)}, "3C02F609961C32AAC2B912B940D1209A"},
		{"100 bytes", []any{strings.Repeat("a", 100)}, "0DBD7D229437BB665DE6417747994D57"},
		{"zero", []any{0.0}, "155B95BEDAC4B1E9EC1CDC9BB0DDDE58"},
		{"negative zero", []any{math.Copysign(0, -1)}, "3D018BB1DF3DB27235766E81FD10406E"},
		{"one", []any{1.0}, "20CD98B339BA78A5D0CF6953B87070B0"},
		{"minus one", []any{-1.0}, "19938E7A936C1C5B9E3AE842BBC16839"},
		{"epsilon", []any{5e-324}, "0E6CBA63A280927DE485DEF865800139"},
		{"largest number", []any{math.MaxFloat64}, "31424D996457102634591FF245DBCC4D"},
		{"largest int64", []any{9223372036854775807.0}, "2EDB959178DFCCA18983F89384D1629B"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if got := Hash(encode(tt.key...)).String(); got != tt.want {
				t.Errorf("Hash(%v) = %s, want %s", tt.key, got, tt.want)
			}
		})
	}
}

func TestMultiHashBaseline(t *testing.T) {
	const (
		first  = "3499FD5198AE0F1EB6B77F6E428D2FF0"
		second = "27A1848BD1102A3B65AFF266874D0FF5"
		third  = "2CA5ABC953544CF9BD94776DA5E6EA52"
	)
	for n, want := range map[int]string{1: first, 2: first + second, 3: first + second + third} {
		paths := []any{"/path1", "/path2", "/path3"}[:n]
		if got := MultiHash(encode(paths...)).String(); got != want {
			t.Errorf("MultiHash of %d components = %s, want %s", n, got, want)
		}
	}
}

func TestPrefixEndHoldsEveryLongerKey(t *testing.T) {
	prefix := MultiHash(encode("tenant"))
	end := prefix.PrefixEnd(1)
	for _, second := range []string{"", "a", "b", "a long user name"} {
		full := MultiHash(encode("tenant", second))
		if full.Compare(prefix) < 0 || full.Compare(end) >= 0 {
			t.Errorf("key [tenant %q] = %s lies outside [%s, %s)", second, full, prefix, end)
		}
	}
	if other := MultiHash(encode("tenant2", "a")); other.Compare(prefix) >= 0 && other.Compare(end) < 0 {
		t.Errorf("another tenant lies inside the prefix")
	}
}

func TestBoundsCompareLengthAware(t *testing.T) {
	tests := []struct {
		a, b string
		want int
	}{
		{"", "00", 0},
		{"", "FF", -1},
		{"AB", "AB" + strings.Repeat("0", 62), 0},
		{"1FFFFFFFFFFFFFFFFFFFFFFFFFFFFFFF", "2", -1},
		{"3FFFFFFFFFFFFFFFFFFFFFFFFFFFFFFF", "FF", -1},
		{"12CC0000000000000000000000000001", "12CC", 1},
	}
	for _, tt := range tests {
		a, err := Parse(tt.a)
		if err != nil {
			t.Fatal(err)
		}
		b, err := Parse(tt.b)
		if err != nil {
			t.Fatal(err)
		}
		if got := a.Compare(b); got != tt.want {
			t.Errorf("Compare(%q, %q) = %d, want %d", tt.a, tt.b, got, tt.want)
		}
	}
}

func TestParseRoundTrip(t *testing.T) {
	for _, s := range []string{"", "FF", "0CCCCCCCCCCCCCCCCCCCCCCCCCCCCCCC", strings.Repeat("3499FD5198AE0F1EB6B77F6E428D2FF0", 3)} {
		v, err := Parse(s)
		if err != nil {
			t.Fatalf("Parse(%q): %v", s, err)
		}
		if got := v.String(); got != s {
			t.Errorf("Parse(%q).String() = %q", s, got)
		}
	}
	for _, s := range []string{"XY", strings.Repeat("0", 97)} {
		if _, err := Parse(s); err == nil {
			t.Errorf("Parse(%q) succeeded, want an error", s)
		}
	}
}

func TestComponentsRoundTrip(t *testing.T) {
	key := []any{"ü\x00\U0001F681", nil, true, false, -1.5, Undefined{}, ""}
	got := Components(encode(key...))
	if len(got) != len(key) {
		t.Fatalf("Components = %v, want %v", got, key)
	}
	for i := range key {
		if got[i] != key[i] {
			t.Errorf("component %d = %v, want %v", i, got[i], key[i])
		}
	}
}
