package local

import (
	"fmt"
	"net/http"
	"testing"
	"time"

	"warmpath/internal/azurite"
	"warmpath/internal/emulator/cosmos"
	"warmpath/internal/emulator/eventhubs"
	"warmpath/processor"
)

// Promise 7 (bounded): Cosmos DB is down while the hub takes in far more than
// the service can hold. What is in flight stays within batch x partitions, and
// the memory of the process stays where it was; afterwards all is written.
func TestPromise7Bounded(t *testing.T) {
	const batch, perPartition = 100, 3000
	store := azurite.Start(t)
	store.Container(t, "checkpoints")
	w := newWorld(t, nil)
	down := w.Cosmos.Control(cosmos.AnyOperation, cosmos.Always(cosmos.Answer(http.StatusServiceUnavailable, 0)))
	c := startChild(t, w, store, processor.Latest, "--batch", "100", "--prefetch", "300")
	c.listening()

	published := 0
	publish := func(events int) {
		t.Helper()
		for range events {
			for _, partition := range w.partitions { // each event another drone: nothing is superseded
				body := fmt.Appendf(nil, `{"deviceId":"drone-%d","latitude":47.6,"longitude":-122.1}`, published)
				if _, err := w.Hub.Publish(Hub, partition, eventhubs.Event{Body: body}); err != nil {
					t.Fatal(err)
				}
				published++
			}
		}
	}
	memory := func() (resident, inFlight float64) {
		t.Helper()
		families, err := scrape(c.listening())
		if err != nil {
			t.Fatal(err)
		}
		for _, n := range byPartition(families, "warmpath_positions_in_flight") {
			inFlight += n
		}
		return families["process_resident_memory_bytes"].Metric[0].GetGauge().GetValue() / (1 << 20), inFlight
	}
	publish(1000) // fills batches and prefetch
	waitFor(t, "full batches", func() bool { _, inFlight := memory(); return inFlight > batch })
	time.Sleep(3 * time.Second)
	before, _ := memory()
	publish(perPartition)
	time.Sleep(3 * time.Second)
	after, inFlight := memory()
	t.Logf("resident %.0f MB, and %.0f MB with %d events more in the hub; %v positions in flight", before, after, perPartition*len(w.partitions), inFlight)
	if limit := float64(batch * len(w.partitions)); inFlight > limit {
		t.Errorf("%v positions in flight, batches allow %v", inFlight, limit)
	}
	// Held by the service, those events would be 55 MB and more: 2.3 kB each, and
	// several times that with the race detector.
	if after > before+45 {
		t.Errorf("memory grew from %.0f to %.0f MB while Cosmos DB was down", before, after)
	}
	down()
	waitFor(t, "everything settled after the outage", func() bool { return c.settled(w) })
	if code := c.terminate(); code != 0 {
		t.Errorf("exit code %d", code)
	}
}
