package telemetry

import (
	"context"
	"fmt"

	"go.opentelemetry.io/contrib/exporters/autoexport"
	sdkmetric "go.opentelemetry.io/otel/sdk/metric"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
)

// Variables that choose exporters
// (opentelemetry.io/docs/specs/otel/configuration/sdk-environment-variables).
// Where data goes is told by the other OTEL_* variables, which the exporters
// read themselves.
const (
	metricsExporter = "OTEL_METRICS_EXPORTER"
	tracesExporter  = "OTEL_TRACES_EXPORTER"
)

// Readers returns what OTEL_METRICS_EXPORTER asks for beside /metrics. Unset
// and none mean nothing; so does prometheus, which is served anyway and must
// not open a second port.
func Readers(ctx context.Context, getenv func(string) string) ([]sdkmetric.Reader, error) {
	switch getenv(metricsExporter) {
	case "", "none", "prometheus":
		return nil, nil
	}
	r, err := autoexport.NewMetricReader(ctx)
	if err != nil {
		return nil, fmt.Errorf("%s is %q, allowed are none, prometheus, otlp and console: %w", metricsExporter, getenv(metricsExporter), err)
	}
	return []sdkmetric.Reader{r}, nil
}

// Spans returns the exporter that OTEL_TRACES_EXPORTER asks for, nil when it
// is unset or none: traces are off by default.
func Spans(ctx context.Context, getenv func(string) string) (sdktrace.SpanExporter, error) {
	switch getenv(tracesExporter) {
	case "", "none":
		return nil, nil
	}
	e, err := autoexport.NewSpanExporter(ctx)
	if err != nil {
		return nil, fmt.Errorf("%s is %q, allowed are none, otlp and console: %w", tracesExporter, getenv(tracesExporter), err)
	}
	return e, nil
}
