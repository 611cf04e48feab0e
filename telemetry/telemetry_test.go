package telemetry

import (
	"context"
	"flag"
	"net/http"
	"net/http/httptest"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus/testutil"
)

var update = flag.Bool("update", false, "rewrite the golden files")

// exercise touches every instrument once.
func exercise(t *testing.T) *Telemetry {
	t.Helper()
	tel, err := New(Options{Version: "test", Now: fixedClock(noon)})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := tel.Shutdown(context.Background()); err != nil {
			t.Error(err)
		}
	})
	a := tel.Ledger.Partition("0")
	b := a.Open(3, []int64{0, 0, 0})
	b.Written(0)
	b.Dropped(1, "stale")
	b.DeadLettered(2, "malformed")
	a.SetOwned(true)
	a.SetLastEnqueued(5)
	a.Settled(3)
	a.Checkpointed(3, noon)
	tel.Freshness.Record(40 * time.Millisecond)
	tel.WriteFreshness.Record(80 * time.Millisecond)
	tel.Request("upsert", 201, 6*time.Millisecond, 5.7)
	tel.Request("upsert", 0, time.Second, 0)
	tel.Throttled("2")
	tel.Paused("2", 30*time.Millisecond)
	tel.ClockSkew(-time.Second)
	tel.Restarted("store")
	tel.BulkRequest(100)
	tel.Operations("Create", 201, 100)
	tel.RangesRead(true)
	if err := tel.ObserveRanges(func(report func(RangeLoad)) {
		report(RangeLoad{Range: "2", Waiting: 3, UnitsPerSecond: 500, Heat: 0.5})
	}); err != nil {
		t.Fatal(err)
	}
	if err := tel.ObserveLanes(2, func(i int) int { return i }); err != nil {
		t.Fatal(err)
	}
	return tel
}

// The names are a contract with dashboards, alerts and the page: the golden
// file lists name, type and help of each.
func TestMetricNamesAreTheContract(t *testing.T) {
	rec := httptest.NewRecorder()
	exercise(t).Handler().ServeHTTP(rec, httptest.NewRequest(http.MethodGet, "/metrics", nil))
	var got []string
	for line := range strings.Lines(rec.Body.String()) {
		if strings.HasPrefix(line, "# ") && strings.Contains(line, " warmpath_") {
			got = append(got, strings.TrimSpace(line))
		}
	}
	slices.Sort(got)
	text := strings.Join(got, "\n") + "\n"
	const golden = "testdata/metrics.golden"
	if *update {
		if err := os.WriteFile(golden, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(golden)
	if err != nil {
		t.Fatal(err)
	}
	if text != string(want) {
		t.Errorf("metric names changed; if that is meant, run go test ./telemetry -update and tell the dashboards\ngot:\n%s\nwant:\n%s", text, want)
	}
}

func TestMetricsFollowPrometheusConventions(t *testing.T) {
	problems, err := testutil.GatherAndLint(exercise(t).registry)
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range problems {
		if strings.HasPrefix(p.Metric, "warmpath_") {
			t.Errorf("%s: %s", p.Metric, p.Text)
		}
	}
}

func TestFreshnessBucketsHoldThePromises(t *testing.T) {
	rec := httptest.NewRecorder()
	exercise(t).Handler().ServeHTTP(rec, httptest.NewRequest(http.MethodGet, "/metrics", nil))
	for _, le := range []string{"0.01", "60", "300", "600"} {
		if !strings.Contains(rec.Body.String(), `warmpath_write_freshness_seconds_bucket{le="`+le+`"}`) {
			t.Errorf("no bucket le=%q", le)
		}
	}
}

func TestDistributionsLookThroughWindows(t *testing.T) {
	tel := exercise(t)
	first := tel.WriteFreshness.Read()
	if got := first.Since(Distribution{}).Count(); got != 1 {
		t.Errorf("count from the beginning %d, want 1", got)
	}
	for range 100 {
		tel.WriteFreshness.Record(time.Second)
	}
	tel.WriteFreshness.Record(-time.Second) // the hub's clock is ahead: counts as 0
	window := tel.WriteFreshness.Read().Since(first)
	if got := window.Count(); got != 101 {
		t.Errorf("count of the window %d, want 101", got)
	}
	for p, want := range map[float64]time.Duration{0: 0, 50: time.Second, 99: time.Second} {
		if got := window.Percentile(p); got < want || got > want+want/50 {
			t.Errorf("p%v = %v, want %v within 2%%", p, got, want)
		}
	}
}
