package telemetry

import (
	"context"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"
)

// bulkInstruments are the meters of bulk writing.
type bulkInstruments struct {
	operations  metric.Int64Counter
	perRequest  metric.Float64Histogram
	rangesReads metric.Int64Counter
}

// operationBounds are the bucket boundaries of operations per request, whose
// most is 100.
var operationBounds = []float64{1, 2, 5, 10, 20, 40, 60, 80, 99, 100}

func newBulkInstruments(m *maker) bulkInstruments {
	return bulkInstruments{
		operations: m.counter("warmpath.cosmos.operations", "{operation}",
			"Operations within bulk requests, by operation and status."),
		perRequest: m.histogram("warmpath.cosmos.operations_per_request", "{operation}",
			"Operations that one bulk request carried.", operationBounds),
		rangesReads: m.counter("warmpath.cosmos.range.refreshes", "{refresh}",
			"Times that the container's physical ranges were read anew, by status."),
	}
}

// BulkRequest records how many operations a bulk request carried.
func (in *Instruments) BulkRequest(operations int) {
	in.bulk.perRequest.Record(context.Background(), float64(operations))
}

// Operations records operations of one kind that had one answer.
func (in *Instruments) Operations(operation string, status, n int) {
	in.bulk.operations.Add(context.Background(), int64(n), metric.WithAttributes(
		attribute.String(attrOperation, operation), attribute.String(attrStatus, statusText(status))))
}

// RangesRead records that the physical ranges were read anew, or could not be.
func (in *Instruments) RangesRead(ok bool) {
	status := "ok"
	if !ok {
		status = "failed"
	}
	in.bulk.rangesReads.Add(context.Background(), 1, metric.WithAttributes(attribute.String(attrStatus, status)))
}

// RangeLoad is what a writer knows of one physical range.
type RangeLoad struct {
	Range          string
	Waiting        int     // operations in its lanes
	UnderWay       int     // operations in requests without an answer
	UnitsPerSecond float64 // request units used in the last second
	Heat           float64 // UnitsPerSecond as a share of the range's budget, 0 while that is unknown
}

// ObserveRanges registers the load of the physical ranges: the partition heat
// map. loads calls its argument once per range.
func (t *Telemetry) ObserveRanges(loads func(func(RangeLoad))) error {
	m := &maker{meter: t.meter}
	heat, err := t.meter.Float64ObservableGauge("warmpath.cosmos.range.heat", metric.WithUnit("1"),
		metric.WithDescription("Request units used in the last second as a share of what the physical range has to give; 0 while that is unknown."))
	keep(m, heat, err)
	units, err := t.meter.Float64ObservableGauge("warmpath.cosmos.range.request_units", metric.WithUnit("{request_unit}"),
		metric.WithDescription("Request units used in the last second, by physical range."))
	keep(m, units, err)
	depth := m.observedGauge("warmpath.lane.depth", "{document}", "Documents waiting in a lane of the sink.")
	if m.err != nil {
		return m.err
	}
	_, err = t.meter.RegisterCallback(func(_ context.Context, o metric.Observer) error {
		loads(func(l RangeLoad) {
			at := metric.WithAttributes(attribute.String(attrRange, l.Range))
			o.ObserveFloat64(heat, l.Heat, at)
			o.ObserveFloat64(units, l.UnitsPerSecond, at)
			o.ObserveInt64(depth, int64(l.Waiting), metric.WithAttributes(attribute.String(attrLane, l.Range)))
		})
		return nil
	}, heat, units, depth)
	return err
}
