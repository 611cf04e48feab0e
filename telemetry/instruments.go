package telemetry

import (
	"context"
	"fmt"
	"strconv"
	"sync/atomic"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"
)

// Attribute keys. Values come from small closed sets: partitions of the hub,
// physical ranges of the container, lanes, reasons, operations.
const (
	attrPartition = "partition"
	attrReason    = "reason"
	attrOperation = "operation"
	attrStatus    = "status"
	attrRange     = "range"
	attrLane      = "lane"
)

// freshnessBounds are the bucket boundaries in seconds of both freshness
// histograms. 60 s is the article's promise, 300 s the age at which positions
// are dropped: both must be readable without interpolation.
var freshnessBounds = []float64{0.01, 0.025, 0.05, 0.1, 0.15, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 120, 300, 600}

// durationBounds are the bucket boundaries in seconds of store operations.
var durationBounds = []float64{0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10}

// Instruments are the meters that rooms record into directly. What the ledger
// knows is not among them: it is observed from one snapshot per collection.
// All methods are safe for concurrent use.
type Instruments struct {
	// Freshness is receive time minus enqueued time, per event.
	Freshness *Latency
	// WriteFreshness is written time minus enqueued time, per written position.
	WriteFreshness *Latency

	requests     metric.Int64Counter
	requestUnits metric.Float64Counter
	throttled    metric.Int64Counter
	pause        metric.Float64Counter
	duration     metric.Float64Histogram
	clockSkew    metric.Float64Gauge
	restarts     metric.Int64Counter
	bulk         bulkInstruments

	throttledTotal atomic.Int64
}

// maker creates instruments and keeps the first error, so that the table below
// stays a table.
type maker struct {
	meter metric.Meter
	err   error
}

func keep[T any](m *maker, made T, err error) T {
	if err != nil && m.err == nil {
		m.err = err
	}
	return made
}

func (m *maker) counter(name, unit, description string) metric.Int64Counter {
	made, err := m.meter.Int64Counter(name, metric.WithUnit(unit), metric.WithDescription(description))
	return keep(m, made, err)
}

func (m *maker) counterOfFloats(name, unit, description string) metric.Float64Counter {
	made, err := m.meter.Float64Counter(name, metric.WithUnit(unit), metric.WithDescription(description))
	return keep(m, made, err)
}

func (m *maker) histogram(name, unit, description string, bounds []float64) metric.Float64Histogram {
	made, err := m.meter.Float64Histogram(name, metric.WithUnit(unit), metric.WithDescription(description), metric.WithExplicitBucketBoundaries(bounds...))
	return keep(m, made, err)
}

func (m *maker) observedCounter(name, unit, description string) metric.Int64ObservableCounter {
	made, err := m.meter.Int64ObservableCounter(name, metric.WithUnit(unit), metric.WithDescription(description))
	return keep(m, made, err)
}

func (m *maker) observedGauge(name, unit, description string) metric.Int64ObservableGauge {
	made, err := m.meter.Int64ObservableGauge(name, metric.WithUnit(unit), metric.WithDescription(description))
	return keep(m, made, err)
}

func (m *maker) observedSeconds(name, description string) metric.Float64ObservableGauge {
	made, err := m.meter.Float64ObservableGauge(name, metric.WithUnit("s"), metric.WithDescription(description))
	return keep(m, made, err)
}

// newInstruments creates the recorded instruments and registers the observed
// ones against the ledger.
func newInstruments(meter metric.Meter, ledger *Ledger) (*Instruments, error) {
	m := &maker{meter: meter}
	skew, err := meter.Float64Gauge("warmpath.clock_skew", metric.WithUnit("s"),
		metric.WithDescription("How far the hub's clock was ahead of this process's at the last event that came from the future, 0 otherwise."))
	keep(m, skew, err)
	in := &Instruments{
		Freshness: newLatency(m.histogram("warmpath.freshness", "s",
			"Receive time minus enqueued time of every event.", freshnessBounds)),
		WriteFreshness: newLatency(m.histogram("warmpath.write_freshness", "s",
			"Written time minus enqueued time of every written position.", freshnessBounds)),
		requests: m.counter("warmpath.cosmos.requests", "{request}",
			"Requests to Cosmos DB that were answered or failed, by operation and status."),
		requestUnits: m.counterOfFloats("warmpath.cosmos.request_units", "{request_unit}",
			"Request units that Cosmos DB charged, by operation."),
		throttled: m.counter("warmpath.cosmos.throttled", "{operation}",
			"Operations that Cosmos DB answered with 429, by physical range."),
		pause: m.counterOfFloats("warmpath.cosmos.pause", "s",
			"Time that writers waited because Cosmos DB told them to, by physical range."),
		duration: m.histogram("warmpath.cosmos.operation.duration", "s",
			"Duration of requests to Cosmos DB, by operation.", durationBounds),
		clockSkew: skew,
		restarts: m.counter("warmpath.supervisor.restarts", "{restart}",
			"Times that the hub's client was built again, by reason."),
		bulk: newBulkInstruments(m),
	}
	if err := observe(m, ledger); err != nil {
		return nil, err
	}
	return in, m.err
}

// observe registers everything that the ledger knows. One callback takes one
// snapshot for all of them: that is why every collection balances.
func observe(m *maker, ledger *Ledger) error {
	var (
		events       = m.observedCounter("warmpath.events.received", "{event}", "Events received from the hub.")
		received     = m.observedCounter("warmpath.positions.received", "{position}", "Positions received; an event that yields none counts as one.")
		written      = m.observedCounter("warmpath.positions.written", "{position}", "Positions that Cosmos DB acknowledged.")
		superseded   = m.observedCounter("warmpath.positions.superseded", "{position}", "Positions not written because a newer one of the same document stands.")
		dropped      = m.observedCounter("warmpath.positions.dropped", "{position}", "Positions dropped by policy, by reason.")
		deadLettered = m.observedCounter("warmpath.positions.deadlettered", "{position}", "Positions kept in the dead letters, by reason.")
		inFlight     = m.observedGauge("warmpath.positions.in_flight", "{position}", "Positions received and not settled, counted from what is really held.")
		lag          = m.observedGauge("warmpath.partition.lag", "{event}", "Events in the hub beyond the last settled one.")
		watermark    = m.observedSeconds("warmpath.partition.watermark_age", "Age of the oldest position in flight.")
		freshness    = m.observedSeconds("warmpath.partition.freshness", "Receive freshness of the event seen last.")
		owned        = m.observedGauge("warmpath.partition.owned", "{partition}", "1 while this process owns the partition.")
		clamped      = m.observedCounter("warmpath.partition.clamped", "{event}", "Events whose enqueued time was more than a minute ahead of this clock.")
		missing      = m.observedCounter("warmpath.partition.missing_events", "{event}", "Sequence numbers that the hub never handed over.")
		duplicates   = m.observedCounter("warmpath.partition.duplicates", "{event}", "Events received again in this process, as after a change of owner.")
		checkpoint   = m.observedGauge("warmpath.checkpoint.sequence", "{sequence_number}", "Sequence number of the last checkpoint written.")
		age          = m.observedSeconds("warmpath.checkpoint.age", "Time since the last checkpoint was written.")
	)
	if m.err != nil {
		return m.err
	}
	_, err := m.meter.RegisterCallback(func(_ context.Context, o metric.Observer) error {
		for _, r := range ledger.Snapshot().Partitions {
			at := metric.WithAttributes(attribute.String(attrPartition, r.Partition))
			o.ObserveInt64(events, r.Events, at)
			o.ObserveInt64(received, r.Received, at)
			o.ObserveInt64(written, r.Written, at)
			o.ObserveInt64(superseded, r.Superseded, at)
			o.ObserveInt64(inFlight, r.InFlight, at)
			o.ObserveInt64(clamped, r.Clamped, at)
			o.ObserveInt64(missing, r.Missing, at)
			o.ObserveInt64(duplicates, r.Duplicates, at)
			o.ObserveInt64(owned, oneIf(r.Owned), at)
			o.ObserveFloat64(watermark, r.WatermarkAge.Seconds(), at)
			o.ObserveFloat64(freshness, r.Freshness.Seconds(), at)
			if r.HubReported {
				o.ObserveInt64(lag, r.Lag(), at)
			}
			if r.Checkpoint >= 0 {
				o.ObserveInt64(checkpoint, r.Checkpoint, at)
				o.ObserveFloat64(age, r.CheckpointAge.Seconds(), at)
			}
			for reason, n := range r.Dropped {
				o.ObserveInt64(dropped, n, metric.WithAttributes(attribute.String(attrPartition, r.Partition), attribute.String(attrReason, reason)))
			}
			for reason, n := range r.DeadLettered {
				o.ObserveInt64(deadLettered, n, metric.WithAttributes(attribute.String(attrPartition, r.Partition), attribute.String(attrReason, reason)))
			}
		}
		return nil
	}, events, received, written, superseded, dropped, deadLettered, inFlight, lag, watermark, freshness, owned, clamped, missing, duplicates, checkpoint, age)
	if err != nil {
		return fmt.Errorf("register the ledger's instruments: %w", err)
	}
	return nil
}

// ObserveLanes registers the depth of the sink's lanes: depth(i) is the number
// of documents waiting in lane i, for 0 <= i < lanes.
func (t *Telemetry) ObserveLanes(lanes int, depth func(lane int) int) error {
	m := &maker{meter: t.meter}
	gauge := m.observedGauge("warmpath.lane.depth", "{document}", "Documents waiting in a lane of the sink.")
	if m.err != nil {
		return m.err
	}
	_, err := t.meter.RegisterCallback(func(_ context.Context, o metric.Observer) error {
		for i := range lanes {
			o.ObserveInt64(gauge, int64(depth(i)), metric.WithAttributes(attribute.String(attrLane, strconv.Itoa(i))))
		}
		return nil
	}, gauge)
	return err
}

// Request records one request to Cosmos DB: what it was, the HTTP status (0
// when there was no answer), how long it took and what it cost in request units.
func (in *Instruments) Request(operation string, status int, took time.Duration, units float64) {
	ctx := context.Background()
	op := attribute.String(attrOperation, operation)
	in.requests.Add(ctx, 1, metric.WithAttributes(op, attribute.String(attrStatus, statusText(status))))
	in.duration.Record(ctx, took.Seconds(), metric.WithAttributes(op))
	if units > 0 {
		in.requestUnits.Add(ctx, units, metric.WithAttributes(op))
	}
}

// Throttled records an operation that a physical range refused with 429.
func (in *Instruments) Throttled(physicalRange string) {
	in.throttledTotal.Add(1)
	in.throttled.Add(context.Background(), 1, metric.WithAttributes(attribute.String(attrRange, physicalRange)))
}

// ThrottledTotal is the number of operations throttled so far, over all ranges.
func (in *Instruments) ThrottledTotal() int64 { return in.throttledTotal.Load() }

// Paused records time spent waiting because a physical range asked for it.
func (in *Instruments) Paused(physicalRange string, d time.Duration) {
	in.pause.Add(context.Background(), d.Seconds(), metric.WithAttributes(attribute.String(attrRange, physicalRange)))
}

// Restarted records that the hub's client had to be built again.
func (in *Instruments) Restarted(reason string) {
	in.restarts.Add(context.Background(), 1, metric.WithAttributes(attribute.String(attrReason, reason)))
}

// ClockSkew records how far the hub's clock is ahead of ours, 0 if it is not.
func (in *Instruments) ClockSkew(ahead time.Duration) {
	in.clockSkew.Record(context.Background(), max(ahead, 0).Seconds())
}

// statusText is the status attribute; a request that got no answer is "none".
func statusText(status int) string {
	if status == 0 {
		return "none"
	}
	return strconv.Itoa(status)
}

func oneIf(b bool) int64 {
	if b {
		return 1
	}
	return 0
}
