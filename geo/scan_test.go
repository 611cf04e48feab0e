package geo

import (
	"errors"
	"io"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/go-json-experiment/json/jsontext"
)

// scanAll reports whether the scanner takes text as one JSON value.
func scanAll(text []byte) bool {
	end, err := scanValue(text, skipBlanks(text, 0), 0)
	return err == nil && scanEnd(text, end) == nil
}

// libraryTakes reports whether jsontext takes text as one JSON value.
func libraryTakes(text []byte) bool {
	d := jsontext.NewDecoder(strings.NewReader(string(text)), jsontext.AllowDuplicateNames(true))
	if _, err := d.ReadValue(); err != nil {
		return false
	}
	_, err := d.ReadToken()
	return errors.Is(err, io.EOF)
}

// TestScannerDepth holds the bound on recursion: a payload must not choose how
// much stack decoding takes.
func TestScannerDepth(t *testing.T) {
	nested := func(n int) []byte { return []byte(strings.Repeat("[", n) + strings.Repeat("]", n)) }
	if !scanAll(nested(maxDepth)) {
		t.Errorf("%d levels are refused", maxDepth)
	}
	if scanAll(nested(maxDepth + 1)) {
		t.Errorf("%d levels are taken", maxDepth+1)
	}
}

// FuzzScanner holds the scanner against the library: what one takes the other
// takes, and what one refuses the other refuses.
func FuzzScanner(f *testing.F) {
	for _, text := range []string{
		`{"deviceId":"d","n":[1,-0.5e+3,true,false,null],"o":{}}`,
		`[]`, `{}`, `[,]`, `[1,]`, `{,}`, `{"a":1,}`, `{"a" 1}`, `{"a":}`, `{a:1}`, `[1 2]`, `[1]]`, `{"a":1}}`,
		`"\u00e4\n\"\\\/\b\f\r\t"`, `"\ud83d\ude80"`, `"\ud83d"`, `"\ude80\ud83d"`, `"\ud83dx"`, `"\u12g4"`, `"\x"`, `"\`, `"`, "\"\n\"", "\"\x7f\"",
		`-`, `-0`, `01`, `1.`, `.1`, `1e`, `1e+`, `1E5`, `+1`, `0x1`, `1_0`, `NaN`, `Infinity`, `nul`, `nulll`, `truefalse`, ` 1 `, "\v1", "\u00a01",
	} {
		f.Add([]byte(text))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		if !utf8.Valid(text) {
			return // refused before it is scanned
		}
		if got, want := scanAll(text), libraryTakes(text); got != want {
			t.Errorf("scanner takes %q: %v, library %v", text, got, want)
		}
	})
}

// FuzzPositionText holds the grammar of numbers in text and their values.
func FuzzPositionText(f *testing.F) {
	for _, text := range []string{
		"+47.757084|-121.989734|93.98", "90|180|0", "|||", "1|2", "1|2|3|4", "47.757084||-121.989734", "1.2.3|4|5", "47,75|-121,9|9",
		"+.5|-.5|.5", " 47.7 |\t-121.9 | 9 ", "NaN|1|1", "Inf|1|1", "1e1|1|1", "0x1|1|1", "1_0|1|1", "-0|-.0|-0.0", "1.|2|3", "+|-|.",
		"47.75708412345678|-121.98973412345678|93.5", "000000000000000000000047|1|1", "9007199254740993|0|0", "0.000000000000000000000000001|1|1",
	} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		var p Position
		err := locateReference(&p, []byte(text))
		want, wantErr := referenceByTheBook(text)
		if (err == nil) != (wantErr == nil) {
			t.Fatalf("%q: error %v, want %v", text, err, wantErr)
		}
		if err != nil {
			if reasonOf(err) != reasonOf(wantErr) {
				t.Errorf("%q is %s, want %s", text, reasonOf(err), reasonOf(wantErr))
			}
			return
		}
		if p.Point != want.Point || p.Altitude != want.Altitude {
			t.Errorf("%q is %v, %v, want %v, %v", text, p.Point, p.Altitude, want.Point, want.Altitude)
		}
	})
}

// BenchmarkScanner takes the reference event apart, the job of the candidates
// in testdata/jsonbench.
func BenchmarkScanner(b *testing.B) {
	body := []byte(`{"deviceId":"drone-0007","deliveryId":"d-4711","sensorType":"drone-event-sensor;v1",` +
		`"position":"+47.757084|-121.989734|93.98","velocity":"12.2","acceleration":"0.1","flightStatus":"InFlight",` +
		`"occurrenceUtcTime":"2026-11-30T12:00:00.123Z"}`)
	b.ReportAllocs()
	for b.Loop() {
		var f fields
		end, err := scanObject(body, 0, 0, &f)
		if err != nil || scanEnd(body, end) != nil || !utf8.Valid(body) || len(f.position) != 30 {
			b.Fatal(err)
		}
	}
}
