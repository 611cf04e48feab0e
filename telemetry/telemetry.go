package telemetry

import (
	"context"
	"fmt"
	"net/http"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"
	otelprom "go.opentelemetry.io/otel/exporters/prometheus"
	"go.opentelemetry.io/otel/metric"
	sdkmetric "go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/resource"

	"go.opentelemetry.io/otel/attribute"
)

// Telemetry is the one place where a process's measurements come together.
// It is safe for concurrent use.
type Telemetry struct {
	*Instruments
	Ledger *Ledger

	meter    metric.Meter
	provider *sdkmetric.MeterProvider
	registry *prometheus.Registry
}

// New makes the instruments and a Prometheus exporter on a registry of its own.
// Ages are taken against now. Call Shutdown when done.
func New(version string, now func() time.Time) (*Telemetry, error) {
	registry := prometheus.NewRegistry()
	registry.MustRegister(collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	exporter, err := otelprom.New(otelprom.WithRegisterer(registry), otelprom.WithoutScopeInfo())
	if err != nil {
		return nil, fmt.Errorf("create the Prometheus exporter: %w", err)
	}
	provider := sdkmetric.NewMeterProvider(
		sdkmetric.WithReader(exporter),
		sdkmetric.WithResource(resource.NewSchemaless(
			attribute.String("service.name", "warmpath"),
			attribute.String("service.version", version),
		)),
	)
	t := &Telemetry{
		Ledger:   NewLedger(now),
		meter:    provider.Meter("warmpath"),
		provider: provider,
		registry: registry,
	}
	if t.Instruments, err = newInstruments(t.meter, t.Ledger); err != nil {
		return nil, fmt.Errorf("create the instruments: %w", err)
	}
	return t, nil
}

// Handler serves the metrics in the Prometheus exposition format.
func (t *Telemetry) Handler() http.Handler {
	return promhttp.HandlerFor(t.registry, promhttp.HandlerOpts{})
}

// Shutdown flushes and stops the exporters.
func (t *Telemetry) Shutdown(ctx context.Context) error {
	return t.provider.Shutdown(ctx)
}
