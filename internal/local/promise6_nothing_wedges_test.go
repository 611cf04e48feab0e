package local

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"warmpath/internal/emulator/cosmos"
	"warmpath/internal/emulator/eventhubs"
	"warmpath/processor"
)

// Promise 6 (nothing wedges): Cosmos DB throttles a third of all writes, then
// answers 503, then breaks connections, then takes the role away. What is not
// the documents' fault dead-letters none; write freshness rises and comes back;
// everything balances and arrives. With -full the faults last as long as a real
// outage.
func TestPromise6NothingWedges(t *testing.T) {
	scale := time.Second
	if *full {
		scale = 5 * time.Second
	}
	w := newWorld(t, nil)
	service, drain := serve(t, w, processor.History, nil)
	tel := service.Telemetry()
	census, land := stream(t, w, 200)

	p99 := func(during func()) time.Duration {
		before := tel.WriteFreshness.Read()
		during()
		return tel.WriteFreshness.Read().Since(before).Percentile(99)
	}
	calm := p99(func() { time.Sleep(2 * scale) })
	t.Logf("write freshness p99 before any fault: %v", calm)
	usual := max(3*calm, 500*time.Millisecond)
	written := func() func() bool {
		before := tel.Ledger.Snapshot().Total().Written
		return func() bool { return tel.Ledger.Snapshot().Total().Written > before }
	}
	for _, fault := range []struct {
		name     string
		lasts    time.Duration
		control  cosmos.Controller
		notReady string // what /readyz says while it lasts, "" if it stays ready
	}{
		{"a third throttled", 2 * scale, cosmos.Share(0.3, 1, cosmos.Throttle(100*time.Millisecond)), ""},
		{"503", scale, cosmos.Always(cosmos.Answer(http.StatusServiceUnavailable, 0)), ""},
		{"connections reset", scale, cosmos.Always(cosmos.Fault{Reset: true}), ""},
		{"role removed", 4 * scale, cosmos.Always(cosmos.Answer(http.StatusForbidden, 5300)), "403"},
	} {
		worst := p99(func() {
			remove := w.Cosmos.Control(cosmos.AnyOperation, fault.control)
			if fault.notReady != "" {
				waitFor(t, fault.name+" to be told", func() bool {
					err := service.Ready()
					return err != nil && strings.Contains(err.Error(), fault.notReady)
				})
			}
			time.Sleep(fault.lasts)
			remove()
			waitFor(t, "ready after "+fault.name, func() bool { return service.Ready() == nil })
			waitFor(t, "the first write after "+fault.name, written())
		})
		ended := time.Now()
		waitFor(t, "write freshness to come back after "+fault.name, func() bool {
			return p99(func() { time.Sleep(scale / 2) }) <= usual && tel.Ledger.Snapshot().Total().WatermarkAge <= usual
		})
		t.Logf("%s: write freshness p99 %v, back within %v after %v", fault.name, worst, usual, time.Since(ended).Round(time.Millisecond))
		if worst <= calm {
			t.Errorf("%s: write freshness p99 %v did not rise above %v: the fault had no effect", fault.name, worst, calm)
		}
	}
	land()
	balanceUntil(t, w, tel.Ledger)
	if err := w.Prove(processor.History, census, drain()); err != nil {
		t.Error(err)
	}
}

// A hub partition that delivers nothing holds up no other.
func TestPromise6AStalledPartitionStallsOnlyItself(t *testing.T) {
	w := newWorld(t, nil)
	service, _ := serve(t, w, processor.History, nil)
	stalled := w.Hub.Stall(Hub, "0")
	for _, partition := range w.partitions {
		for range 100 {
			body := `{"deviceId":"d-` + partition + `","latitude":47.6,"longitude":-122.1}`
			if _, err := w.Hub.Publish(Hub, partition, eventhubs.Event{Body: []byte(body)}); err != nil {
				t.Fatal(err)
			}
		}
	}
	settled := func(partition string) int64 {
		for _, r := range service.Telemetry().Ledger.Snapshot().Partitions {
			if r.Partition == partition {
				return r.LastSettled
			}
		}
		return -1
	}
	for _, partition := range w.partitions[1:] {
		waitFor(t, "partition "+partition, func() bool { return settled(partition) == 99 })
	}
	if got := settled("0"); got >= 0 {
		t.Errorf("the stalled partition is settled up to %d: it was not stalled", got)
	}
	stalled.Remove()
	waitFor(t, "the partition that was stalled", func() bool { return settled("0") == 99 })
}
