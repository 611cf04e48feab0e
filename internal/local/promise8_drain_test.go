package local

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"warmpath/internal/azurite"
	"warmpath/internal/emulator/cosmos"
	"warmpath/processor"
)

// Promise 8 (drain): SIGTERM in mid-stream settles what is in flight, writes the
// checkpoints and exits with 0; the next process receives not one event again.
// At the end of the grace period what is unsettled is named, and the exit code
// tells.
func TestPromise8Drain(t *testing.T) {
	store := azurite.Start(t)
	store.Container(t, "checkpoints")
	w := newWorld(t, nil)
	census, land := stream(t, w, 500)

	first := startChild(t, w, store, processor.History)
	first.listening()
	waitFor(t, "progress", func() bool { return len(w.Cosmos.Journal(Database, Container)) > 500 })
	started := time.Now()
	if code := first.terminate(); code != 0 {
		t.Errorf("exit code %d after SIGTERM in mid-stream, want 0", code)
	}
	t.Logf("drained in %v", time.Since(started).Round(time.Millisecond))
	journal := len(w.Cosmos.Journal(Database, Container))

	second := startChild(t, w, store, processor.History)
	second.listening()
	land()
	waitFor(t, "the second process to settle all", func() bool { return second.settled(w) })
	docs, err := w.Documents()
	if err != nil {
		t.Fatal(err)
	}
	if err := census.CheckHistory(docs); err != nil {
		t.Error(err)
	}
	if writes := len(w.Cosmos.Journal(Database, Container)); writes != len(docs) {
		t.Errorf("%d writes for %d documents (%d by the first process): some were received again", writes, len(docs), journal)
	}

	// Cosmos DB is away for longer than the grace period.
	if code := second.terminate(); code != 0 {
		t.Errorf("exit code %d, want 0", code)
	}
	w.Cosmos.Control(cosmos.AnyOperation, cosmos.Always(cosmos.Answer(http.StatusServiceUnavailable, 0)))
	third := startChild(t, w, store, processor.History, "--grace", "300ms")
	address := third.listening()
	send(t, w, mixed(), 500)
	waitFor(t, "positions in flight", func() bool {
		families, err := scrape(address)
		if err != nil {
			return false
		}
		for _, n := range byPartition(families, "warmpath_positions_in_flight") {
			if n > 0 {
				return true
			}
		}
		return false
	})
	if code := third.terminate(); code != 1 {
		t.Errorf("exit code %d with positions unsettled at the deadline, want 1", code)
	}
	if log := strings.Join(third.lines(), "\n"); !strings.Contains(log, "left unsettled at the end of the grace period") || !strings.Contains(log, "positions are unsettled") {
		t.Errorf("the log does not name what is unsettled:\n%s", log)
	}
}
