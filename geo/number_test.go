package geo

import (
	"encoding/json"
	"math"
	"math/rand/v2"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/paulmach/orb"
)

// textNumber is the grammar of numbers in text as the specification puts it.
var textNumber = regexp.MustCompile(`^[ \t]*([+-]?(?:[0-9]+(?:\.[0-9]+)?|\.[0-9]+))[ \t]*$`)

// numberByTheBook reads a number in text with a regular expression and the
// standard library.
func numberByTheBook(text string) (float64, bool) {
	match := textNumber.FindStringSubmatch(text)
	if match == nil {
		return 0, false
	}
	f, err := strconv.ParseFloat(match[1], 64)
	return f, err == nil
}

func referenceByTheBook(text string) (p Position, err error) {
	parts := strings.Split(text, "|")
	if len(parts) != 3 {
		return p, errText("not three fields")
	}
	var numbers [3]float64
	for i, part := range parts {
		f, ok := numberByTheBook(part)
		if !ok {
			return p, errText("no number")
		}
		numbers[i] = f
	}
	if math.Abs(numbers[0]) > 90 || math.Abs(numbers[1]) > 180 {
		return p, &verdict{OutOfRange, errText("out of range")}
	}
	p.Point, p.Altitude = orb.Point{numbers[1], numbers[0]}, numbers[2]
	return p, nil
}

// TestParseText compares with the standard library, over numbers as devices
// print them and over the edges.
func TestParseText(t *testing.T) {
	texts := []string{"9007199254740992", "9007199254740993", "999999999999999999", "9999999999999999999", "0.30000000000000004", "00000000000000000000001.5", "4.9e-324", ".000000000000000000000000000001"}
	rng := rand.New(rand.NewPCG(1, 2))
	for range 20_000 {
		f := (rng.Float64() - 0.5) * math.Pow(10, float64(rng.IntN(24)-6))
		texts = append(texts, strconv.FormatFloat(f, 'f', rng.IntN(20)-1, 64))
	}
	for _, text := range texts {
		got, ok := parseText([]byte(text))
		want, wantOK := numberByTheBook(text)
		if ok != wantOK || ok && got != want {
			t.Errorf("%q is %v, %v, want %v, %v", text, got, ok, want, wantOK)
		}
	}
}

// TestAppendNumber holds the short way against the standard library: both must
// find the shortest decimal.
func TestAppendNumber(t *testing.T) {
	numbers := []float64{0, math.Copysign(0, -1), 1, -1, 0.1, 1e-6, 9.999999e-7, 999999.999999999, 1e6, 1e6 + 1e-9, 1e15, 1e20, 1e21, math.MaxFloat64, math.SmallestNonzeroFloat64, 0.30000000000000004, 179.9999999, 180, -121.98973412345678}
	rng := rand.New(rand.NewPCG(3, 4))
	for range 50_000 {
		f := (rng.Float64() - 0.5) * 360
		places := math.Pow(10, float64(rng.IntN(12)))
		numbers = append(numbers, f, math.Round(f*places)/places, math.Float64frombits(rng.Uint64()))
	}
	for _, f := range numbers {
		if !finite(f) {
			continue
		}
		want, err := json.Marshal(f + 0)
		if err != nil {
			t.Fatal(err)
		}
		if got := appendNumber(nil, f); string(got) != string(want) && !sameExponent(string(got), string(want)) {
			t.Errorf("%v is %s, want %s", f, got, want)
		}
	}
}

// sameExponent allows 1e-07 beside 1e-7.
func sameExponent(got, want string) bool {
	return strings.Contains(got, "e-0") && strings.Replace(got, "e-0", "e-", 1) == want
}
