package rawjson

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"
)

// check reads one whole value the way a server does.
func check(text string) error {
	r := NewReader([]byte(text))
	r.Value()
	if r.Err() != nil {
		return r.Err()
	}
	return r.End()
}

func TestSyntax(t *testing.T) {
	tests := []struct {
		text string
		ok   bool
	}{
		{`{}`, true},
		{` [ 1 , -0.5e+3 , true , false , null , "x" ] `, true},
		{`{"a":{"b":[{}]}}`, true},
		{`"\u00e9\ud83d\ude81\n\/"`, true},
		{``, false},
		{`{`, false},
		{`{"a"}`, false},
		{`{"a":}`, false},
		{`{"a":1,}`, false},
		{`{,"a":1}`, false},
		{`{a:1}`, false},
		{`[1,]`, false},
		{`[1 2]`, false},
		{`[1}`, false},
		{`{"a":1]`, false},
		{`01`, false},
		{`1.`, false},
		{`.5`, false},
		{`1e`, false},
		{`+1`, false},
		{`NaN`, false},
		{`tru`, false},
		{`nulll`, false},
		{`"a`, false},
		{`"\x"`, false},
		{`"\u12"`, false},
		{`"\u12g4"`, false},
		{"\"a\nb\"", false},
		{"\"\xff\"", false},
		{`1 2`, false},
		{`{"a":1}{`, false},
	}
	for _, tt := range tests {
		if got := check(tt.text); (got == nil) != tt.ok {
			t.Errorf("%q: error %v, want ok %v", tt.text, got, tt.ok)
		}
		if tt.text != "\"\xff\"" && json.Valid([]byte(tt.text)) != tt.ok {
			t.Errorf("%q: the table disagrees with encoding/json", tt.text)
		}
	}
}

func TestDepthIsBounded(t *testing.T) {
	nested := func(n int) string { return strings.Repeat("[", n) + strings.Repeat("]", n) }
	if err := check(nested(MaxDepth)); err != nil {
		t.Errorf("%d levels: %v", MaxDepth, err)
	}
	if err := check(nested(MaxDepth + 1)); !errors.Is(err, ErrDepth) {
		t.Errorf("%d levels: error %v, want %v", MaxDepth+1, err, ErrDepth)
	}
}

func TestPullsMembersInOnePass(t *testing.T) {
	r := NewReader([]byte(` [ {"id":"a","body":{"x":[1,2,{"y":null}],"z":"t"}} , {"\u0069d":"b"} , 7 ] `))
	var ids, bodies []string
	scalars := 0
	r.EnterArray()
	for r.NextElement() {
		if r.Kind() != Object {
			r.Value()
			continue
		}
		r.EnterObject()
		for {
			name, ok := r.NextMember()
			if !ok {
				break
			}
			switch string(name) {
			case "id":
				ids = append(ids, Unquote(r.Value()))
			case "body":
				start := r.Offset()
				_, n := r.Count()
				scalars += n
				bodies = append(bodies, string(r.Since(start)))
			default:
				r.Value()
			}
		}
	}
	if err := r.End(); err != nil {
		t.Fatal(err)
	}
	if got := strings.Join(ids, ","); got != "a,b" {
		t.Errorf("ids = %s, want a,b", got)
	}
	if len(bodies) != 1 || bodies[0] != `{"x":[1,2,{"y":null}],"z":"t"}` {
		t.Errorf("bodies = %q", bodies)
	}
	if scalars != 4 {
		t.Errorf("scalars = %d, want 4", scalars)
	}
}

func TestStringsRoundTrip(t *testing.T) {
	for _, s := range []string{"", "plain", `quote " and \`, "tab\tnew\nline\r\b\f\x00\x1f", "é\U0001F681\u2028"} {
		raw := AppendQuoted(nil, s)
		if !json.Valid(raw) {
			t.Errorf("AppendQuoted(%q) = %s is not json", s, raw)
		}
		if got := Unquote(raw); got != s {
			t.Errorf("Unquote(%s) = %q, want %q", raw, got, s)
		}
	}
	if got := Unquote([]byte(`"\ud83d\ude81 \ud83d x \udead"`)); got != "\U0001F681 \uFFFD x \uFFFD" {
		t.Errorf("surrogates: %q", got)
	}
}

// Strings are looked at eight bytes at a time, so what ends them is tried at
// every place.
func TestStringsEndAnywhere(t *testing.T) {
	for n := range 40 {
		for at := range n {
			for _, special := range []string{`"`, `\n`, `\u00e9`, "\x1f", "é", "\x7f", "\x80"} {
				body := strings.Repeat("x", at) + special + strings.Repeat("y", n-at)
				text := `["` + body + `"]`
				if got, want := check(text) == nil, json.Valid([]byte(text)) && special != "\x80"; got != want {
					t.Errorf("%q: accepted %v, want %v", text, got, want)
				}
			}
		}
	}
}

// FuzzReader holds the reader against encoding/json: both accept the same
// texts, apart from UTF-8 and depth where the reader is stricter.
func FuzzReader(f *testing.F) {
	for _, s := range []string{`{"a":[1,2,{"b":null}]}`, `"\ud83d\ude81"`, `[[],{},-1e-5]`, `{"a":1`, "\"\xff\"", `[1,]`} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		err := check(string(data))
		if err == nil && !json.Valid(data) {
			t.Errorf("accepted %q, which is not json", data)
		}
		var syntax *SyntaxError
		if errors.As(err, &syntax) && syntax.Reason != "text is not UTF-8" && json.Valid(data) {
			t.Errorf("refused %q: %v", data, err)
		}
	})
}
