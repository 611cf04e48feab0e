package telemetry

import (
	"context"
	"sync"
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"
	"go.opentelemetry.io/otel/metric"
)

// Latencies run from a microsecond to a day; two significant digits keep every
// percentile within one percent.
const (
	latencyMax    = 24 * time.Hour
	latencyDigits = 2
)

// Latency records durations twice: into the exported histogram, whose buckets
// are coarse, and into an HDR histogram from which percentiles are read.
// It is safe for concurrent use.
type Latency struct {
	exported metric.Float64Histogram

	mu  sync.Mutex // covers hdr
	hdr *hdrhistogram.Histogram
}

func newLatency(exported metric.Float64Histogram) *Latency {
	return &Latency{
		exported: exported,
		hdr:      hdrhistogram.New(1, latencyMax.Microseconds(), latencyDigits),
	}
}

// Record adds one duration. A negative one counts as 0: clocks disagree, and
// the skew has a gauge of its own.
func (l *Latency) Record(d time.Duration) {
	d = min(max(d, 0), latencyMax)
	l.exported.Record(context.Background(), d.Seconds())
	l.mu.Lock()
	defer l.mu.Unlock()
	_ = l.hdr.RecordValue(d.Microseconds()) // cannot fail: the value is within range
}

// Distribution is a reading of a Latency from which percentiles are taken.
type Distribution struct{ hdr *hdrhistogram.Snapshot }

// Read returns everything recorded so far.
func (l *Latency) Read() Distribution {
	l.mu.Lock()
	defer l.mu.Unlock()
	return Distribution{l.hdr.Export()}
}

// Since returns what was recorded between an earlier reading and this one, so
// that any number of readers can look through windows of their own.
// The zero Distribution stands for the beginning.
func (d Distribution) Since(earlier Distribution) Distribution {
	if earlier.hdr == nil {
		return d
	}
	window := *d.hdr
	window.Counts = make([]int64, len(d.hdr.Counts))
	for i, n := range d.hdr.Counts {
		window.Counts[i] = n - earlier.hdr.Counts[i]
	}
	return Distribution{&window}
}

// Count is the number of durations in the reading.
func (d Distribution) Count() int64 {
	if d.hdr == nil {
		return 0
	}
	return hdrhistogram.Import(d.hdr).TotalCount()
}

// Percentile returns the value below which p percent of the durations lie
// (0 to 100), or 0 when there are none.
func (d Distribution) Percentile(p float64) time.Duration {
	if d.hdr == nil {
		return 0
	}
	return time.Duration(hdrhistogram.Import(d.hdr).ValueAtQuantile(p)) * time.Microsecond
}
