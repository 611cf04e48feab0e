package telemetry

import (
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	metricspb "go.opentelemetry.io/proto/otlp/collector/metrics/v1"
	tracespb "go.opentelemetry.io/proto/otlp/collector/trace/v1"
	"google.golang.org/protobuf/proto"
)

// collector is an OTLP receiver over HTTP that remembers names.
type collector struct {
	mu    sync.Mutex
	names map[string]bool
}

func (c *collector) ServeHTTP(_ http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(r.Body)
	c.mu.Lock()
	defer c.mu.Unlock()
	switch r.URL.Path {
	case "/v1/metrics":
		var m metricspb.ExportMetricsServiceRequest
		if proto.Unmarshal(body, &m) == nil {
			for _, rm := range m.ResourceMetrics {
				for _, sm := range rm.ScopeMetrics {
					for _, metric := range sm.Metrics {
						c.names[metric.Name] = true
					}
				}
			}
		}
	case "/v1/traces":
		var t tracespb.ExportTraceServiceRequest
		if proto.Unmarshal(body, &t) == nil {
			for _, rs := range t.ResourceSpans {
				for _, ss := range rs.ScopeSpans {
					for _, span := range ss.Spans {
						c.names["span "+span.Name] = true
					}
				}
			}
		}
	}
}

func TestOTLPByTheStandardVariables(t *testing.T) {
	c := &collector{names: map[string]bool{}}
	server := httptest.NewServer(c)
	defer server.Close()
	t.Setenv("OTEL_EXPORTER_OTLP_ENDPOINT", server.URL)
	t.Setenv("OTEL_METRICS_EXPORTER", "otlp")
	t.Setenv("OTEL_TRACES_EXPORTER", "otlp")
	environment := map[string]string{metricsExporter: "otlp", tracesExporter: "otlp"}
	getenv := func(name string) string { return environment[name] }

	ctx := context.Background()
	readers, err := Readers(ctx, getenv)
	if err != nil {
		t.Fatal(err)
	}
	spans, err := Spans(ctx, getenv)
	if err != nil {
		t.Fatal(err)
	}
	tel, err := New(Options{Version: "test", Now: fixedClock(noon), Readers: readers, Spans: spans})
	if err != nil {
		t.Fatal(err)
	}
	tel.Ledger.Partition("0").Open(1, []int64{0}).Written(0)
	_, span := tel.Tracer.Start(ctx, "batch")
	span.End()
	if err := tel.Shutdown(ctx); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"warmpath.positions.received", "warmpath.positions.written", "span batch"} {
		if !c.names[name] {
			t.Errorf("%s did not reach the collector, got %v", name, c.names)
		}
	}
}

// What is not asked for is not done, and the Prometheus value opens no port.
func TestNoExporterUnlessAskedFor(t *testing.T) {
	for _, value := range []string{"", "none", "prometheus"} {
		getenv := func(string) string { return value }
		if readers, err := Readers(context.Background(), getenv); err != nil || readers != nil {
			t.Errorf("%q: readers %v, %v", value, readers, err)
		}
	}
	for _, value := range []string{"", "none"} {
		if spans, err := Spans(context.Background(), func(string) string { return value }); err != nil || spans != nil {
			t.Errorf("%q: spans %v, %v", value, spans, err)
		}
	}
	t.Setenv("OTEL_METRICS_EXPORTER", "zipkin")
	_, err := Readers(context.Background(), func(string) string { return "zipkin" })
	if err == nil || !strings.Contains(err.Error(), `OTEL_METRICS_EXPORTER is "zipkin", allowed are`) {
		t.Errorf("a wrong exporter: %v", err)
	}
}
