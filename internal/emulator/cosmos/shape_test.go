package cosmos

import (
	"testing"

	"warmpath/internal/emulator/cosmos/rawjson"
)

func mustDefine(t testing.TB, c Container) *definition {
	t.Helper()
	c.ID = "c"
	if c.PartitionKey.Paths == nil {
		c.PartitionKey = PartitionKey{Paths: []string{"/deviceId"}, Version: 2}
	}
	def, err := c.definition()
	if err != nil {
		t.Fatal(err)
	}
	return def
}

func TestScanFindsTheKey(t *testing.T) {
	nested := PartitionKey{Paths: []string{"/a/b"}, Version: 2}
	tests := []struct {
		name string
		key  PartitionKey
		doc  string
		want string
	}{
		{"first level", PartitionKey{}, `{"deviceId":"d1"}`, `["d1"]`},
		{"missing", PartitionKey{}, `{"device":"d1"}`, `[{}]`},
		{"of members with one name the last", PartitionKey{}, `{"deviceId":"d1","deviceId":"d2"}`, `["d2"]`},
		{"escaped name", PartitionKey{}, `{"device\u0049d":"d1"}`, `["d1"]`},
		{"an object is no key", PartitionKey{}, `{"deviceId":{}}`, `[{}]`},
		{"an array is no key", PartitionKey{}, `{"deviceId":["d1"]}`, `[{}]`},
		{"number out of range", PartitionKey{}, `{"deviceId":1e999}`, `[{}]`},
		{"nested", nested, `{"x":1,"a":{"x":{"b":0},"b":7}}`, `[7]`},
		{"nested in nothing", nested, `{"a":5}`, `[{}]`},
		{"nested in an array", nested, `{"a":[{"b":1}]}`, `[{}]`},
		{"replaced by an object", nested, `{"a":{"b":1},"a":{"b":2}}`, `[2]`},
		{"replaced by an object without it", nested, `{"a":{"b":1},"a":{}}`, `[{}]`},
		{"replaced by a number", nested, `{"a":{"b":1},"a":5}`, `[{}]`},
		{"quoted path", PartitionKey{Paths: []string{`/"a/b"/c`}, Version: 2}, `{"a/b":{"c":null}}`, `[null]`},
		{"the id itself", PartitionKey{Paths: []string{"/id"}, Version: 2}, `{"id":"x"}`, `["x"]`},
		{"hierarchy", PartitionKey{Paths: []string{"/t", "/u", "/v"}, Kind: "MultiHash", Version: 2}, `{"v":3,"t":true}`, `[true,{},3]`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			def := mustDefine(t, Container{PartitionKey: tt.key})
			r := rawjson.NewReader([]byte(tt.doc))
			found := def.shape.scan(&r)
			if err := r.End(); err != nil {
				t.Fatal(err)
			}
			if got := keyJSON(string(found.appendKey(nil, len(def.keyPaths)))); got != tt.want {
				t.Errorf("key %s, want %s", got, tt.want)
			}
		})
	}
}

func TestScanCountsWhatIsIndexed(t *testing.T) {
	const doc = `{"id":"a","n":1,"o":{"p":1,"q":{"r":[1,2,{"s":3}]}},"list":[{"k":1,"l":2},{"k":3}],"geometry":{"type":"Point","coordinates":[1,2]}}`
	tests := []struct {
		policy  string
		indexed int
		spatial int
	}{
		{``, 12, 0},
		{`{"indexingMode":"none"}`, 0, 0},
		{`{"includedPaths":[{"path":"/n/?"}],"excludedPaths":[{"path":"/*"}]}`, 1, 0},
		{`{"includedPaths":[{"path":"/o/*"}],"excludedPaths":[{"path":"/*"}]}`, 4, 0},
		{`{"includedPaths":[{"path":"/*"}],"excludedPaths":[{"path":"/o/q/*"}]}`, 9, 0},
		{`{"includedPaths":[{"path":"/o/q/r/[]/s/?"}],"excludedPaths":[{"path":"/*"}]}`, 1, 0},
		{`{"includedPaths":[{"path":"/list/[]/k/?"}],"excludedPaths":[{"path":"/*"}]}`, 2, 0},
		{`{"excludedPaths":[{"path":"/*"}],"spatialIndexes":[{"path":"/geometry/*","types":["Point"]},{"path":"/none/*"}]}`, 0, 1},
	}
	for _, tt := range tests {
		def := mustDefine(t, Container{IndexingPolicy: []byte(tt.policy)})
		r := rawjson.NewReader([]byte(doc))
		found := def.shape.scan(&r)
		if err := r.End(); err != nil {
			t.Fatal(err)
		}
		if found.indexed != tt.indexed || found.spatial != tt.spatial {
			t.Errorf("policy %s: %d values and %d spatial ones, want %d and %d", tt.policy, found.indexed, found.spatial, tt.indexed, tt.spatial)
		}
	}
}

func TestParsePath(t *testing.T) {
	for path, want := range map[string]int{"/a": 1, "/a/b/?": 3, `/"a b"/[]/c`: 3, "/*": 1} {
		if got, err := parsePath(path); err != nil || len(got) != want {
			t.Errorf("parsePath(%s) = %q, %v; want %d segments", path, got, err, want)
		}
	}
	for _, path := range []string{"", "a", "/", "//", "/a/", `/"a`, `/"a"b`, `/""`} {
		if got, err := parsePath(path); err == nil {
			t.Errorf("parsePath(%s) = %q, want an error", path, got)
		}
	}
}
