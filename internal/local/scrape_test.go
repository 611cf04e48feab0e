package local

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	dto "github.com/prometheus/client_model/go"
	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"
)

// scrape reads /metrics as Prometheus would.
func scrape(address string) (map[string]*dto.MetricFamily, error) {
	response, err := http.Get("http://" + address + "/metrics")
	if err != nil {
		return nil, err
	}
	defer func() { _ = response.Body.Close() }()
	parser := expfmt.NewTextParser(model.UTF8Validation)
	return parser.TextToMetricFamilies(response.Body)
}

// byPartition sums a counter or gauge over everything but the partition.
func byPartition(families map[string]*dto.MetricFamily, name string) map[string]float64 {
	sums := map[string]float64{}
	family := families[name]
	if family == nil {
		return sums
	}
	for _, m := range family.Metric {
		for _, label := range m.Label {
			if label.GetName() == "partition" {
				sums[label.GetValue()] += m.GetCounter().GetValue() + m.GetGauge().GetValue()
			}
		}
	}
	return sums
}

// scrapedBalance is promise 1 as seen from outside.
func scrapedBalance(families map[string]*dto.MetricFamily) error {
	received := byPartition(families, "warmpath_positions_received_total")
	for partition, want := range received {
		got := 0.0
		for _, name := range []string{"written_total", "superseded_total", "dropped_total", "deadlettered_total", "in_flight"} {
			got += byPartition(families, "warmpath_positions_"+name)[partition]
		}
		if got != want {
			return fmt.Errorf("partition %s: received %v, but its outcomes and what is in flight add up to %v", partition, want, got)
		}
	}
	return nil
}

func TestTheScrapedBalanceCanFail(t *testing.T) {
	parser := expfmt.NewTextParser(model.UTF8Validation)
	families, err := parser.TextToMetricFamilies(strings.NewReader(`
# TYPE warmpath_positions_received_total counter
warmpath_positions_received_total{partition="0"} 5
# TYPE warmpath_positions_written_total counter
warmpath_positions_written_total{partition="0"} 3
# TYPE warmpath_positions_dropped_total counter
warmpath_positions_dropped_total{partition="0",reason="stale"} 1
`))
	if err != nil {
		t.Fatal(err)
	}
	if scrapedBalance(families) == nil {
		t.Error("a lost position went unnoticed")
	}
}
