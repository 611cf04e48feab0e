package bulk_test

import (
	"bytes"
	"context"
	"io"
	"net/http"
	"strings"
	"sync"
	"testing"

	"warmpath/sink/bulk"
)

// instant is a transport that answers at once, without a network: what remains
// is the writer's own cost.
type instant struct{ bodies sync.Pool }

func (t *instant) Do(r *http.Request) (*http.Response, error) {
	res := &http.Response{StatusCode: http.StatusOK, Header: http.Header{"X-Ms-Request-Charge": {"600"}}, Request: r}
	if r.Method == http.MethodPost {
		n := 0
		buffer, _ := t.bodies.Get().(*bytes.Buffer)
		if buffer == nil {
			buffer = new(bytes.Buffer)
		}
		buffer.Reset()
		if _, err := buffer.ReadFrom(r.Body); err != nil {
			return nil, err
		}
		_ = r.Body.Close()
		n = bytes.Count(buffer.Bytes(), []byte(`{"operationType":`))
		t.bodies.Put(buffer)
		const one = `{"statusCode":201,"requestCharge":6.29,"eTag":"\"00000004-0000-0700-0000-6b0e58fa0000\""}`
		text := "[" + strings.Repeat(one+",", n-1) + one + "]"
		res.Body, res.ContentLength = io.NopCloser(strings.NewReader(text)), int64(len(text))
		return res, nil
	}
	text := `{"writableLocations":[]}`
	switch {
	case strings.HasSuffix(r.URL.Path, "/pkranges"):
		text = `{"PartitionKeyRanges":[{"id":"0","minInclusive":"","maxExclusive":"FF"}]}`
	case strings.Contains(r.URL.Path, "/colls/"):
		text = `{"partitionKey":{"paths":["/deviceId"],"kind":"Hash","version":2}}`
	}
	res.Body, res.ContentLength = io.NopCloser(strings.NewReader(text)), int64(len(text))
	return res, nil
}

// BenchmarkWriter is one document of about 430 bytes from Submit to Done.
func BenchmarkWriter(b *testing.B) {
	credential, err := bulk.NewKeyCredential("a2V5")
	if err != nil {
		b.Fatal(err)
	}
	config := bulk.DefaultConfig()
	config.Client.Transport = new(instant)
	w := startWriter(b, context.Background(), bulk.Target{Endpoint: "https://bench.documents.azure.com/", Database: database, Container: container, Credential: credential}, config)
	var names []string
	var bodies [][]byte
	for i := range 2000 {
		names = append(names, device(i))
		bodies = append(bodies, document(device(i), i))
	}
	var finished sync.WaitGroup
	done := func(_ *bulk.Operation, r bulk.Result) {
		if r.Err != nil {
			b.Error(r.Err)
		}
		finished.Done()
	}
	b.SetBytes(int64(len(bodies[0])))
	b.ReportAllocs()
	for i := 0; b.Loop(); i++ {
		d := i % len(names)
		finished.Add(1)
		if err := w.Submit(context.Background(), &bulk.Operation{Key: bulk.StringKey(names[d]), ID: names[d], Body: bodies[d], Done: done}); err != nil {
			b.Fatal(err)
		}
	}
	flush(b, w)
	finished.Wait()
}
