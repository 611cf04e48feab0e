package cosmos

import (
	"bytes"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"testing"
)

// benchDocument is a document of the service, about 430 bytes.
func benchDocument(device string, n int) string {
	return fmt.Sprintf(`{"id":"%s","deviceId":"%s","deliveryId":"d-4711","type":"Feature",`+
		`"geometry":{"type":"Point","coordinates":[-121.989734,47.757084,93.98]},`+
		`"properties":{"timestamp":"2026-11-30T12:00:00.123Z","speed":12.2,"heading":83,"battery":0.71},`+
		`"source":{"enqueuedTime":"2026-11-30T12:00:00.456Z","partition":"3","sequenceNumber":%d,"index":0}}`, device, device, n)
}

func benchServer(b *testing.B, opts ...Option) *Server {
	b.Helper()
	s, err := Start(append([]Option{WithTokenCheck(func(string) bool { return true })}, opts...)...)
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { _ = s.Close() })
	if err := s.CreateContainer("db", Container{ID: "c", PartitionKey: PartitionKey{Paths: []string{"/deviceId"}, Version: 2}}); err != nil {
		b.Fatal(err)
	}
	return s
}

// discard is a response writer that keeps only the status.
type discard struct {
	header http.Header
	status int
}

func (d *discard) Header() http.Header         { return d.header }
func (d *discard) Write(p []byte) (int, error) { return len(p), nil }
func (d *discard) WriteHeader(status int)      { d.status = status }

func benchRequest(path string, header http.Header, body []byte) *http.Request {
	header.Set(headerAuthorization, url.QueryEscape("type=aad&ver=1.0&sig=x"))
	r := httptest.NewRequest(http.MethodPost, path, bytes.NewReader(body))
	r.Header = header
	return r
}

// serveBench serves a request once and checks its status.
func serveBench(b *testing.B, s *Server, r *http.Request, body []byte, want int) {
	r.Body = readCloser{bytes.NewReader(body)}
	w := &discard{header: make(http.Header, 8)}
	s.serve(w, r)
	if w.status != want {
		b.Fatalf("status %d, want %d", w.status, want)
	}
}

type readCloser struct{ *bytes.Reader }

func (readCloser) Close() error { return nil }

// BenchmarkBulk serves bulk requests of 100 documents without a network; one
// iteration is one document. The latest documents of 20,000 drones are
// overwritten again and again.
func BenchmarkBulk(b *testing.B) {
	for _, bench := range []struct {
		name string
		opts []Option
	}{{"journal", nil}, {"no journal", []Option{WithoutJournal()}}} {
		b.Run(bench.name, func(b *testing.B) {
			s := benchServer(b, bench.opts...)
			bodies := make([][]byte, 200)
			for i := range bodies {
				body := []byte{'['}
				for j := range 100 {
					if j > 0 {
						body = append(body, ',')
					}
					device := fmt.Sprintf("drone-%06d", i*100+j)
					body = fmt.Appendf(body, `{"operationType":"Upsert","partitionKey":"[\"%s\"]","resourceBody":%s}`, device, benchDocument(device, j))
				}
				bodies[i] = append(body, ']')
			}
			r := benchRequest("/dbs/db/colls/c/docs", http.Header{
				headerIsBatch: {"true"}, headerBatchContinue: {"true"}, headerRangeID: {"0"}, headerPrefer: {"return=minimal"},
			}, bodies[0])
			r.ContentLength = int64(len(bodies[0]))
			for _, body := range bodies {
				serveBench(b, s, r, body, http.StatusOK)
			}
			b.ReportAllocs()
			b.ResetTimer()
			for i := 0; i < b.N; i += 100 {
				serveBench(b, s, r, bodies[i/100%len(bodies)], http.StatusOK)
			}
		})
	}
}

// BenchmarkUpsert serves single upserts without a network.
func BenchmarkUpsert(b *testing.B) {
	s := benchServer(b, WithoutJournal())
	body := []byte(benchDocument("drone-000001", 1))
	r := benchRequest("/dbs/db/colls/c/docs", http.Header{
		headerUpsert: {"true"}, headerPartitionKey: {`["drone-000001"]`}, headerPrefer: {"return=minimal"},
	}, body)
	serveBench(b, s, r, body, http.StatusCreated)
	b.ReportAllocs()
	for b.Loop() {
		serveBench(b, s, r, body, http.StatusOK)
	}
}

// BenchmarkQuery scans 10,000 documents for those near a place; one iteration
// is one document looked at.
func BenchmarkQuery(b *testing.B) {
	s := benchServer(b, WithoutJournal())
	const documents = maxScanned
	for i := range documents {
		device := fmt.Sprintf("drone-%06d", i)
		body := []byte(benchDocument(device, i))
		r := benchRequest("/dbs/db/colls/c/docs", http.Header{headerPartitionKey: {`["` + device + `"]`}}, body)
		serveBench(b, s, r, body, http.StatusCreated)
	}
	body := []byte(`{"query":"SELECT * FROM c WHERE ST_DISTANCE(c.geometry, {'type':'Point','coordinates':[10,10]}) < 1000"}`)
	r := benchRequest("/dbs/db/colls/c/docs", http.Header{headerQuery: {"true"}, headerCrossPartition: {"true"}}, body)
	b.ReportAllocs()
	b.ResetTimer()
	for i := 0; i < b.N; i += documents {
		serveBench(b, s, r, body, http.StatusOK)
	}
}
