package local

import (
	"math/rand/v2"
	"net/http"
	"testing"
	"time"

	"warmpath/internal/emulator/cosmos"
	"warmpath/processor"
)

// Promise 3 (newest wins): Cosmos DB throttles, fails and loses answers, and the
// hub delivers events again, while newer ones are on their way: the journal of
// accepted writes never steps back for any document.
func TestPromise3NewestWins(t *testing.T) {
	w := newWorld(t, nil)
	for seed, f := range []struct {
		op    cosmos.Op
		share float64
		fault cosmos.Fault
	}{
		{cosmos.AnyOperation, 0.15, cosmos.Throttle(5 * time.Millisecond)},
		{cosmos.AnyOperation, 0.05, cosmos.Answer(http.StatusServiceUnavailable, 0)},
		{cosmos.AnyOperation, 0.05, cosmos.Answer(449, 0)},
		{cosmos.BulkRequest, 0.05, cosmos.Fault{Applied: true, Reset: true}}, // written, but the answer is lost
	} {
		w.Cosmos.Control(f.op, cosmos.Share(f.share, uint64(seed), f.fault))
	}
	service, drain := serve(t, w, processor.Latest, nil)
	census, land := stream(t, w, 500)
	for range 20 {
		time.Sleep(200 * time.Millisecond)
		partition := w.partitions[rand.IntN(len(w.partitions))]
		if err := w.Hub.Rewind(Hub, partition, 50); err != nil {
			t.Fatal(err)
		}
	}
	land()
	balanceUntil(t, w, service.Telemetry().Ledger)
	last := drain()
	if err := last.Balance(); err != nil {
		t.Error(err)
	}
	total := last.Total()
	if again := total.Events - int64(census.Totals().Acknowledged.Events); again <= 0 || total.Superseded == 0 {
		t.Errorf("%d events delivered again, %d positions superseded: the test did not try what it should", again, total.Superseded)
	}
	if err := w.NeverBack(); err != nil {
		t.Error(err)
	}
	docs, err := w.Documents()
	if err != nil {
		t.Fatal(err)
	}
	if err := census.CheckLatest(docs); err != nil {
		t.Error(err)
	}
}
