package local

import (
	"context"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"warmpath/processor"
)

// Promise 1 (balance): per hub partition and in all, received = written +
// superseded + dropped + dead-lettered + in flight, at every read: of the
// ledger at random moments, and of /metrics under load: a hundred times in each
// mode, with -full five hundred.
func TestPromise1Balance(t *testing.T) {
	scrapes := 100
	if *full {
		scrapes = 500
	}
	for _, mode := range []processor.Mode{processor.Latest, processor.History} {
		t.Run(string(mode), func(t *testing.T) {
			w := newWorld(t, func(o *Options) { o.Partitions = 32 })
			service, drain := serve(t, w, mode, nil)
			ledger := service.Telemetry().Ledger

			loaded, stop := context.WithCancel(context.Background())
			scraped := make(chan int, 1)
			go func() {
				n := 0
				defer func() { scraped <- n }()
				for ; n < scrapes || *full && loaded.Err() == nil; n++ {
					families, err := scrape(service.Addr().String())
					if err == nil {
						err = scrapedBalance(families)
					}
					if err != nil {
						t.Errorf("scrape %d: %v", n, err)
						return
					}
				}
			}()
			config := mixed()
			config.Drones = 1000
			census := send(t, w, config, 20_000)
			inFlight := 0
			for range 100 {
				time.Sleep(time.Duration(rand.N(10_000_000)))
				s := ledger.Snapshot()
				if err := s.Balance(); err != nil {
					t.Error(err)
				}
				if s.Total().InFlight > 0 {
					inFlight++
				}
			}
			if err := w.WaitSettled(context.Background(), ledger, 90*time.Second); err != nil {
				t.Fatal(err)
			}
			stop()
			t.Logf("%d scrapes balanced; positions were in flight at %d of 100 readings", <-scraped, inFlight)
			if err := w.Prove(mode, census, drain()); err != nil {
				t.Error(err)
			}
		})
	}
}

// A proof that cannot fail proves nothing: whatever is lost, doubled or put
// back must be found.
func TestTheProofFindsWhatIsWrong(t *testing.T) {
	w := newWorld(t, nil)
	service, drain := serve(t, w, processor.Latest, nil)
	config := mixed()
	config.Drones = 20
	census := send(t, w, config, 200)
	balanceUntil(t, w, service.Telemetry().Ledger)
	good := drain()
	if err := w.Prove(processor.Latest, census, good); err != nil {
		t.Fatal(err)
	}

	lost := good
	lost.Partitions = append(lost.Partitions[:0:0], good.Partitions...)
	lost.Partitions[0].Written--
	if err := w.Prove(processor.Latest, census, lost); err == nil || !strings.Contains(err.Error(), "does not balance") {
		t.Errorf("a lost count: %v", err)
	}
	unsent := send(t, w, config, 300) // the service is gone: nobody writes these
	if err := w.Prove(processor.Latest, unsent, good); err == nil || !strings.Contains(err.Error(), "lost") && !strings.Contains(err.Error(), "outdated") {
		t.Errorf("positions that were never written: %v", err)
	}
}
