package telemetry

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"
	"go.opentelemetry.io/otel/attribute"
	otelprom "go.opentelemetry.io/otel/exporters/prometheus"
	"go.opentelemetry.io/otel/metric"
	sdkmetric "go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/resource"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"
	"go.opentelemetry.io/otel/trace/noop"
)

// Telemetry is the one place where a process's measurements come together.
// It is safe for concurrent use.
type Telemetry struct {
	*Instruments
	Ledger *Ledger
	// Tracer makes spans; it does nothing unless Options.Spans is set.
	Tracer trace.Tracer

	meter    metric.Meter
	metrics  *sdkmetric.MeterProvider
	traces   *sdktrace.TracerProvider // nil while traces are off
	registry *prometheus.Registry
}

// Options are what a process can choose.
type Options struct {
	Version string
	Now     func() time.Time      // ages are taken against it
	Readers []sdkmetric.Reader    // of metrics, beside Prometheus, which is always there
	Spans   sdktrace.SpanExporter // nil: traces are off
}

// New makes the instruments and a Prometheus exporter on a registry of its own.
// Call Shutdown when done.
func New(o Options) (*Telemetry, error) {
	registry := prometheus.NewRegistry()
	registry.MustRegister(collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	exporter, err := otelprom.New(otelprom.WithRegisterer(registry), otelprom.WithoutScopeInfo())
	if err != nil {
		return nil, fmt.Errorf("create the Prometheus exporter: %w", err)
	}
	// service.name and what OTEL_RESOURCE_ATTRIBUTES adds to it or sets in its place.
	identity, err := resource.New(context.Background(),
		resource.WithAttributes(attribute.String("service.name", "warmpath"), attribute.String("service.version", o.Version)),
		resource.WithFromEnv())
	if err != nil {
		return nil, fmt.Errorf("describe this process: %w", err)
	}
	metrics := []sdkmetric.Option{sdkmetric.WithReader(exporter), sdkmetric.WithResource(identity)}
	for _, r := range o.Readers {
		metrics = append(metrics, sdkmetric.WithReader(r))
	}
	t := &Telemetry{
		Ledger:   NewLedger(o.Now),
		Tracer:   noop.NewTracerProvider().Tracer("warmpath"),
		metrics:  sdkmetric.NewMeterProvider(metrics...),
		registry: registry,
	}
	t.meter = t.metrics.Meter("warmpath")
	if t.Instruments, err = newInstruments(t.meter, t.Ledger); err != nil {
		return nil, fmt.Errorf("create the instruments: %w", err)
	}
	if o.Spans != nil {
		t.traces = sdktrace.NewTracerProvider(sdktrace.WithBatcher(o.Spans), sdktrace.WithResource(identity))
		t.Tracer = t.traces.Tracer("warmpath")
	}
	return t, nil
}

// Handler serves the metrics in the Prometheus exposition format.
func (t *Telemetry) Handler() http.Handler {
	return promhttp.HandlerFor(t.registry, promhttp.HandlerOpts{})
}

// Shutdown flushes and stops the exporters.
func (t *Telemetry) Shutdown(ctx context.Context) error {
	err := t.metrics.Shutdown(ctx)
	if t.traces != nil {
		err = errors.Join(err, t.traces.Shutdown(ctx))
	}
	return err
}
