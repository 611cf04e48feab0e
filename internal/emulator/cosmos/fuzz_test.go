package cosmos

import (
	"bytes"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"testing"
)

// fuzzRequests are the requests whose bodies clients make, by a number that the
// fuzzer chooses.
var fuzzRequests = []struct {
	method, path string
	header       http.Header
}{
	{http.MethodPost, "/dbs/db/colls/c/docs", http.Header{headerUpsert: {"true"}, headerPartitionKey: {`["k"]`}}},
	{http.MethodPost, "/dbs/db/colls/c/docs", http.Header{headerIsBatch: {"true"}, headerBatchContinue: {"true"}, headerRangeID: {"0"}}},
	{http.MethodPost, "/dbs/db/colls/c/docs", http.Header{headerIsBatch: {"true"}, headerBatchAtomic: {"true"}, headerPartitionKey: {`["k"]`}}},
	{http.MethodPatch, "/dbs/db/colls/c/docs/a", http.Header{headerPartitionKey: {`["k"]`}}},
	{http.MethodPost, "/dbs/db/colls/c/docs", http.Header{headerQuery: {"true"}, headerCrossPartition: {"true"}}},
	{http.MethodPost, "/dbs/db/colls", http.Header{}},
	{http.MethodPost, "/offers", http.Header{headerQuery: {"true"}}},
}

// FuzzBody holds that no body makes the server fail, that answers are JSON, and
// that whatever was stored is a document under its key.
func FuzzBody(f *testing.F) {
	seeds := []string{
		`{"id":"a","k":"k","ttl":5,"geometry":{"type":"Point","coordinates":[1,2]},"_etag":"x"}`,
		`[{"operationType":"Upsert","partitionKey":"[\"k\"]","resourceBody":{"id":"a","k":"k"}},{"operationType":"Delete","id":"a","partitionKey":"[\"k\"]"}]`,
		`[{"operationType":"Create","resourceBody":{"id":"b","k":"k"}},{"operationType":"Patch","id":"a","resourceBody":{"operations":[{"op":"incr","path":"/n","value":1}]}}]`,
		`{"condition":"from c where c.n > 1","operations":[{"op":"add","path":"/list/-","value":[1]},{"op":"remove","path":"/n"}]}`,
		`{"query":"SELECT VALUE c.k FROM c WHERE c.id = @id","parameters":[{"name":"@id","value":"a"}]}`,
		`{"id":"x","partitionKey":{"paths":["/a/\"b c\""],"kind":"Hash","version":2},"indexingPolicy":{"includedPaths":[{"path":"/*"}]},"defaultTtl":-1}`,
		`{"query":"SELECT * FROM c WHERE c.offerResourceId = 'abc='"}`,
	}
	for i, s := range seeds {
		f.Add(byte(i), []byte(s))
	}
	s, err := Start(WithTokenCheck(func(string) bool { return true }))
	if err != nil {
		f.Fatal(err)
	}
	f.Cleanup(func() { _ = s.Close() })
	serve := func(n int, body []byte) *httptest.ResponseRecorder {
		req := fuzzRequests[n]
		r := httptest.NewRequest(req.method, req.path, bytes.NewReader(body))
		r.Header = req.header.Clone()
		r.Header.Set(headerAuthorization, "type=aad&ver=1.0&sig=x")
		w := httptest.NewRecorder()
		s.serve(w, r)
		return w
	}
	f.Fuzz(func(t *testing.T, n byte, body []byte) {
		s.DeleteContainer("db", "c")
		if err := s.CreateContainer("db", Container{ID: "c", DefaultTTL: -1, PartitionKey: PartitionKey{Paths: []string{"/k"}, Version: 2}}); err != nil {
			t.Fatal(err)
		}
		serve(0, []byte(`{"id":"a","k":"k","n":1,"list":[{"x":null}]}`))
		w := serve(int(n)%len(fuzzRequests), body)
		if w.Code < 200 || w.Code == http.StatusInternalServerError {
			t.Errorf("status %d", w.Code)
		}
		if w.Body.Len() > 0 && !json.Valid(w.Body.Bytes()) {
			t.Errorf("answer %s is not json", w.Body)
		}
		for d := range s.Documents("db", "c") {
			var doc map[string]any
			if err := json.Unmarshal(d.Body, &doc); err != nil || doc["id"] != d.ID {
				t.Errorf("stored %q under id %q: %v", d.Body, d.ID, err)
			}
			key, err := json.Marshal([]any{doc["k"]})
			if _, is := doc["k"].(string); is && (err != nil || !sameKey(string(key), d.Key)) {
				t.Errorf("stored %q under key %s", d.Body, d.Key)
			}
			if _, has := doc["_etag"]; has {
				t.Errorf("stored a system property: %q", d.Body)
			}
		}
	})
}

func sameKey(a, b string) bool {
	x, _, err1 := appendKey(nil, []byte(a))
	y, _, err2 := appendKey(nil, []byte(b))
	return err1 == nil && err2 == nil && bytes.Equal(x, y)
}
