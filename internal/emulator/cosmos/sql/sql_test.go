package sql

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
)

const drone = `{"id":"d1","n":5,"neg":-0.5,"s":"Hello","b":true,"z":null,"list":[1,"x",{"k":1,"l":2}],
	"o":{"p":{"q":"deep"}},"odd name":1,"dup":1,"dup":2,
	"geometry":{"type":"Point","coordinates":[-122.12826822304672,47.63980239335718,90]}}`

func TestFilters(t *testing.T) {
	tests := []struct {
		where string
		want  bool
	}{
		{`c.n = 5`, true},
		{`c.n != 5`, false},
		{`c.n <> 4`, true},
		{`c.n > 4 AND c.n >= 5 AND c.n < 6 AND c.n <= 5`, true},
		{`c["n"] = 5.0`, true},
		{`c.s = 'Hello' and c.s = "Hello"`, true},
		{`c.s < "Hellp"`, true},
		{`c.b`, true},
		{`NOT c.b`, false},
		{`c.b = true AND c.z = null`, true},
		{`c.o.p.q = 'deep'`, true},
		{`c["odd name"] = 1`, true},
		{`c.list[1] = 'x' AND c.list[2].k = 1`, true},
		{`c.dup = 2`, true},
		{`c.s = 'H\u0065llo'`, true},
		{`'it\'s' = "it's"`, true},

		// What is undefined is not true, and neither is its negation.
		{`c.missing = 1`, false},
		{`c.missing != 1`, false},
		{`NOT (c.missing = 1)`, false},
		{`c.n = '5'`, false},
		{`c.n != '5'`, false},
		{`c.z < 1`, false},
		{`c.list < c.list`, false},
		{`c.list != c.o`, false},
		{`c.missing = 1 OR c.n = 5`, true},
		{`c.missing = 1 AND c.n = 5`, false},
		{`NOT (c.missing = 1 AND c.n = 4)`, true},
		{`c.missing`, false},
		{`c.n`, false},

		{`c.o = {"p":{"q":"deep"}}`, true},
		{`c.list = [1, 'x', {'l':2, 'k':1}]`, true},
		{`c.n IN (1, 5)`, true},
		{`c.n NOT IN (1, 5)`, false},
		{`c.missing IN (1)`, false},
		{`c.n BETWEEN 5 AND 6`, true},
		{`c.n NOT BETWEEN 5 AND 6`, false},
		{`c.n BETWEEN 1 AND 4 OR c.s = 'Hello'`, true},
		{`c.n + 1 = 6 AND c.n * 2 - 1 = 9 AND c.n / 2 = 2.5 AND c.n % 3 = 2`, true},
		{`-c.n = -5 AND c.neg = -.5`, true},
		{`c.n / 0 = 1`, false},
		{`1 + 2 * 3 = 7 AND (1 + 2) * 3 = 9`, true},
		{`c.n = @five`, true},
		{`c.o.p = @obj`, true},

		{`IS_DEFINED(c.n) AND NOT IS_DEFINED(c.missing) AND IS_DEFINED(c.z)`, true},
		{`IS_NULL(c.z) AND NOT IS_NULL(c.missing)`, true},
		{`is_string(c.s) AND IS_NUMBER(c.n) AND IS_BOOL(c.b) AND IS_ARRAY(c.list) AND IS_OBJECT(c.o) AND IS_PRIMITIVE(c.z)`, true},
		{`STARTSWITH(c.s, 'He') AND NOT STARTSWITH(c.s, 'he') AND STARTSWITH(c.s, 'he', true)`, true},
		{`STARTSWITH(c.n, 'He')`, false},
		{`ENDSWITH(c.s, 'lo') AND CONTAINS(c.s, 'ell') AND LENGTH(c.s) = 5`, true},
		{`LOWER(c.s) = 'hello' AND UPPER(c.s) = 'HELLO'`, true},
		{`ABS(c.neg) = 0.5 AND FLOOR(c.neg) = -1 AND CEILING(c.neg) = 0`, true},
		{`ARRAY_CONTAINS(c.list, 'x') AND NOT ARRAY_CONTAINS(c.list, 'y')`, true},
		{`ARRAY_CONTAINS(c.list, {'k':1}, true) AND NOT ARRAY_CONTAINS(c.list, {'k':1})`, true},
		{`ARRAY_LENGTH(c.list) = 3`, true},

		{`ST_DISTANCE(c.geometry, {"type":"Point","coordinates":[-122.11758113953535,47.66901087006131]}) < 3345.27`, true},
		{`ST_DISTANCE({"type":"Point","coordinates":[-122.11758113953535,47.66901087006131]}, c.geometry) > 3345.269`, true},
		{`ST_DISTANCE(c.geometry, {"type":"LineString","coordinates":[[-123,48],[-121,48]]}) BETWEEN 39000 AND 41000`, true},
		{`ST_DISTANCE(c.geometry, @city) = 0`, true},
		{`ST_DISTANCE(c.o, @city) >= 0`, false},
		{`ST_WITHIN(c.geometry, @city)`, true},
		{`NOT ST_WITHIN({'type':'Point','coordinates':[0,0]}, @city)`, true},
		{`ST_WITHIN(c.o, @city)`, false},
		{`NOT ST_WITHIN(c.o, @city)`, false},
		{`ST_WITHIN({'type':'Point','coordinates':[200,0]}, @city)`, false},
		{`ST_WITHIN(c.geometry, {'type':'MultiPolygon','coordinates':[[[[0,0],[1,0],[1,1],[0,0]]],[[[-123,47],[-121,47],[-121,48],[-123,48],[-123,47]]]]})`, true},
	}
	parameters := map[string][]byte{
		"@five": []byte(`5`),
		"@obj":  []byte(`{"q":"deep"}`),
		"@city": []byte(`{"type":"Polygon","coordinates":[[[-123,47],[-121,47],[-121,48],[-123,48],[-123,47]]]}`),
	}
	for _, tt := range tests {
		q, err := Parse("SELECT * FROM c WHERE "+tt.where, parameters)
		if err != nil {
			t.Errorf("%s: %v", tt.where, err)
			continue
		}
		got, err := q.Matches([]byte(drone))
		if err != nil || got != tt.want {
			t.Errorf("%s = %v (error %v), want %v", tt.where, got, err, tt.want)
		}
	}
}

func TestProjections(t *testing.T) {
	tests := []struct {
		query string
		want  string // "" for no row
	}{
		{`SELECT c.id, c.n FROM c`, `{"id":"d1","n":5}`},
		{`SELECT c.id, c.missing FROM c`, `{"id":"d1"}`},
		{`SELECT c.missing FROM c`, `{}`},
		{`SELECT r.n AS number, r.o.p.q depth FROM root r`, `{"number":5,"depth":"deep"}`},
		{`SELECT c.n + 1, c["odd name"], c.list[1] FROM c`, `{"$1":6,"odd name":1,"$3":"x"}`},
		{`SELECT VALUE c.o FROM c`, `{"p":{"q":"deep"}}`},
		{`SELECT VALUE c.missing FROM c`, ``},
		{`SELECT VALUE {"id": c.id, "at": c.geometry.coordinates, "none": c.missing} FROM c`, `{"id":"d1","at":[-122.12826822304672,47.63980239335718,90]}`},
		{`SELECT VALUE [c.n, c.missing, c.s] FROM c`, `[5,"Hello"]`},
		{`SELECT VALUE 1e21 FROM c`, `1e+21`},
		{`SELECT c FROM c WHERE c.n = 5 -- a comment`, ``},
	}
	for _, tt := range tests {
		q, err := Parse(tt.query, nil)
		if err != nil {
			t.Errorf("%s: %v", tt.query, err)
			continue
		}
		row, ok, err := q.Project(nil, []byte(drone))
		if err != nil {
			t.Errorf("%s: %v", tt.query, err)
			continue
		}
		if ok && !json.Valid(row) {
			t.Errorf("%s: %s is not json", tt.query, row)
		}
		if strings.HasPrefix(tt.query, "SELECT c FROM") {
			if want := `{"c":` + drone + `}`; string(row) != want {
				t.Errorf("%s = %s, want the document", tt.query, row)
			}
			continue
		}
		if ok != (tt.want != "") || string(row) != tt.want && ok {
			t.Errorf("%s = %s (%v), want %s", tt.query, row, ok, tt.want)
		}
	}
}

func TestOrder(t *testing.T) {
	q, err := Parse("SELECT * FROM c ORDER BY c.k DESC", nil)
	if err != nil {
		t.Fatal(err)
	}
	want := []string{`{"k":"a"}`, `{"k":2}`, `{"k":-1}`, `{"k":true}`, `{"k":false}`, `{"k":null}`, `{}`}
	for i := range want {
		for j := range want {
			a, err1 := q.SortKey([]byte(want[i]))
			b, err2 := q.SortKey([]byte(want[j]))
			if err := errors.Join(err1, err2); err != nil {
				t.Fatal(err)
			}
			if got := q.CompareKeys(a, b); got < 0 != (i < j) || got == 0 != (i == j) {
				t.Errorf("%s against %s: %d", want[i], want[j], got)
			}
		}
	}
}

func TestRefused(t *testing.T) {
	deep := "SELECT * FROM c WHERE " + strings.Repeat("(", 200) + "true" + strings.Repeat(")", 200)
	for _, query := range []string{
		``, `SELECT`, `SELECT *`, `SELECT * FROM`, `SELECT FROM c`, `UPDATE c`, `SELECT * FROM c WHERE`,
		`SELECT DISTINCT c.a FROM c`, `SELECT c.a FROM c GROUP BY c.a`, `SELECT COUNT(1) FROM c`, `SELECT VALUE SUM(c.n) FROM c`,
		`SELECT VALUE MAX(c.n) FROM c`, `SELECT * FROM c JOIN d IN c.list`, `SELECT * FROM d IN c.list`, `SELECT * FROM c.list`,
		`SELECT * FROM c WHERE c.s LIKE 'H%'`, `SELECT * FROM c WHERE EXISTS(SELECT VALUE 1 FROM c)`, `SELECT * FROM c WHERE c.a = (SELECT 1)`,
		`SELECT * FROM c WHERE c.s || 'x' = 'y'`, `SELECT * FROM c WHERE c.a ?? 1 = 1`, `SELECT * FROM c WHERE c.b ? true : false`,
		`SELECT * FROM c WHERE udf.f(c.n)`, `SELECT * FROM c WHERE NOPE(c.n)`, `SELECT * FROM c WHERE ABS(1, 2) = 1`,
		`SELECT * FROM c WHERE d.n = 1`, `SELECT * FROM c WHERE c.n = @missing`, `SELECT * FROM c WHERE c.n = 'open`, `SELECT * FROM c WHERE c.n = '\q'`,
		`SELECT * FROM c WHERE c.n = 1 2`, `SELECT * FROM c ORDER BY c.n + 1`, `SELECT * FROM c ORDER BY ST_DISTANCE(c.a, c.b)`, `SELECT TOP -1 * FROM c`,
		`SELECT TOP 1.5 * FROM c`, `SELECT * FROM c OFFSET 1`, `SELECT * FROM c WHERE c.n IN ()`, `SELECT c.a, c.b.a FROM c`, `SELECT * FROM c WHERE c[c.n] = 1`,
		`SELECT * FROM c WHERE c.n BETWEEN 1`, `SELECT * FROM c WHERE #`, `SELECT * FROM c; DROP`, "SELECT * FROM c WHERE c.\x00 = 1",
		deep, `SELECT * FROM c WHERE c.s = '` + strings.Repeat("x", MaxLength) + `'`,
	} {
		var want *Error
		if _, err := Parse(query, nil); !errors.As(err, &want) {
			t.Errorf("%.80s: error %v, want a refusal", query, err)
		}
	}
}

func TestSpatialArgumentsRefused(t *testing.T) {
	for _, where := range []string{
		`ST_WITHIN({'type':'LineString','coordinates':[[0,0],[1,1]]}, c.area)`,
		`ST_DISTANCE(c.area, c.area) < 1`,
	} {
		q, err := Parse("SELECT * FROM c WHERE "+where, nil)
		if err != nil {
			t.Fatal(err)
		}
		if ok, err := q.Matches([]byte(`{"area":{"type":"Polygon","coordinates":[[[0,0],[1,0],[1,1],[0,0]]]}}`)); err == nil {
			t.Errorf("%s = %v, want an error", where, ok)
		}
	}
}

func TestLookups(t *testing.T) {
	parameters := map[string][]byte{"@id0": []byte(`"a"`), "@pk0": []byte(`"x"`), "@id1": []byte(`"b"`), "@pk1": []byte(`7`)}
	device := [][]string{{"deviceId"}}
	tests := []struct {
		name  string
		where string
		paths [][]string
		want  string // "no" for none
	}{
		{"alternatives", `(c.id = @id0 AND c.deviceId = @pk0) OR (c.id = @id1 AND c.deviceId = @pk1)`, device, `a["x"] b[7]`},
		{"one", `(c.id = @id0 AND c.deviceId = @pk0)`, device, `a["x"]`},
		{"one key", `c.deviceId = @pk0 AND c.id IN (@id0, @id1)`, device, `a["x"] b["x"]`},
		{"null key", `c.id = @id0 AND IS_NULL(c.deviceId)`, device, `a[null]`},
		{"by id", `c.id IN (@id0, @id1)`, [][]string{{"id"}}, `a["a"] b["b"]`},
		{"hierarchy", `c.id = @id0 AND c["a"]["b"] = @pk0 AND c.t = @pk1`, [][]string{{"a", "b"}, {"t"}}, `a["x" 7]`},
		{"more conditions", `c.id = @id0 AND c.deviceId = @pk0 AND c.n = 1`, device, "no"},
		{"not the key", `c.id = @id0`, device, "no"},
		{"twice the id", `c.id = @id0 AND c.id = @id1 AND c.deviceId = @pk0`, device, "no"},
		{"another operator", `c.id = @id0 AND c.deviceId > @pk0`, device, "no"},
		{"another alternative", `(c.id = @id0 AND c.deviceId = @pk0) OR c.n = 1`, device, "no"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			q, err := Parse("SELECT * FROM c WHERE "+tt.where, parameters)
			if err != nil {
				t.Fatal(err)
			}
			lookups, ok := q.Lookups(tt.paths)
			got := "no"
			if ok {
				var parts []string
				for _, l := range lookups {
					parts = append(parts, fmt.Sprintf("%s%s", l.ID, l.Key))
				}
				got = strings.Join(parts, " ")
			}
			if got != tt.want {
				t.Errorf("lookups %s, want %s", got, tt.want)
			}
		})
	}
	if q, _ := Parse("SELECT * FROM c", nil); q != nil {
		if _, ok := q.Lookups(device); ok {
			t.Error("a query without a filter names documents")
		}
	}
}

// A chain of a thousand alternatives, as SDKs send it, must not nest.
func TestLongChains(t *testing.T) {
	var b strings.Builder
	b.WriteString("SELECT * FROM c WHERE false")
	for i := range 5000 {
		fmt.Fprintf(&b, " OR (c.id = 'd%d' AND c.n = 5)", i)
	}
	q, err := Parse(b.String(), nil)
	if err != nil {
		t.Fatal(err)
	}
	if ok, err := q.Matches([]byte(drone)); !ok || err != nil {
		t.Errorf("matches = %v, %v", ok, err)
	}
}

// FuzzQuery holds that no query and no document makes the package panic, and
// that rows are JSON.
func FuzzQuery(f *testing.F) {
	for _, q := range []string{
		`SELECT * FROM c WHERE c.n = 5 AND NOT STARTSWITH(c.s, 'x') ORDER BY c.n`,
		`SELECT VALUE {"a": c.list[0], 'b': -c.n} FROM c`,
		`SELECT c.id, c["o"].p FROM root c WHERE c.n BETWEEN 1 AND 2 OR c.x IN (1,"a")`,
		`SELECT TOP 3 * FROM c WHERE ST_DISTANCE(c.geometry, {"type":"Point","coordinates":[0,0]}) < 1e9`,
		`SELECT VALUE COUNT(1) FROM c WHERE ST_WITHIN(c.geometry, {'type':'Polygon','coordinates':[[[0,0],[1,0],[1,1],[0,0]]]})`,
	} {
		f.Add(q)
	}
	f.Fuzz(func(t *testing.T, query string) {
		q, err := Parse(query, map[string][]byte{"@p": []byte(`[1]`)})
		if err != nil {
			return
		}
		_, _ = q.Matches([]byte(drone))
		_, _ = q.SortKey([]byte(drone))
		_, _ = q.Lookups([][]string{{"n"}})
		if q.All || q.Count {
			return
		}
		if row, ok, err := q.Project(nil, []byte(drone)); ok && err == nil && !json.Valid(row) {
			t.Errorf("%q gives %s, which is not json", query, row)
		}
	})
}
