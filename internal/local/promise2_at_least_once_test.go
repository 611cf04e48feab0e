package local

import (
	"context"
	"log/slog"
	"testing"
	"time"

	"warmpath/internal/azurite"
	"warmpath/internal/emulator/cosmos"
	"warmpath/internal/fleet"
	"warmpath/processor"
)

// Promise 2 (at least once): the service is killed five times in mid-stream,
// with its checkpoints in a real store. Every run takes up where the last one's
// checkpoints stand; in history nothing is missing; in latest the journal of no
// single run steps back, and the newest position of each drone stands at the end.
func TestPromise2AtLeastOnce(t *testing.T) {
	for _, mode := range []processor.Mode{processor.History, processor.Latest} {
		t.Run(string(mode), func(t *testing.T) {
			store := azurite.Start(t)
			store.Container(t, "checkpoints")
			w := newWorld(t, nil)
			census, land := stream(t, w, 500)

			var runs []int // length of the journal at the end of each run
			for kills := range 5 {
				c := startChild(t, w, store, mode)
				c.listening()
				written := len(w.Cosmos.Journal(Database, Container))
				waitFor(t, "progress of the run", func() bool { return len(w.Cosmos.Journal(Database, Container)) > written+200 })
				time.Sleep(time.Duration(kills) * 77 * time.Millisecond) // not always at the same moment
				c.kill()
				time.Sleep(50 * time.Millisecond) // what had left the process arrives
				runs = append(runs, len(w.Cosmos.Journal(Database, Container)))
			}
			c := startChild(t, w, store, mode)
			c.listening()
			land()
			waitFor(t, "the last run to settle all", func() bool { return c.settled(w) })
			families, err := scrape(c.listening())
			if err != nil {
				t.Fatal(err)
			}
			if err := scrapedBalance(families); err != nil {
				t.Error(err)
			}
			received := 0.0
			for _, n := range byPartition(families, "warmpath_positions_received_total") {
				received += n
			}
			if code := c.terminate(); code != 0 {
				t.Errorf("exit code %d after SIGTERM, want 0", code)
			}
			sent := census.Totals().Acknowledged.Positions
			if received >= float64(sent) {
				t.Errorf("the last run received %v of %d positions: it did not take up where the checkpoints stood", received, sent)
			}
			t.Logf("%d positions sent, %v of them received by the sixth run", sent, received)

			docs, err := w.Documents()
			if err != nil {
				t.Fatal(err)
			}
			if mode == processor.History {
				if err := census.CheckHistory(docs); err != nil {
					t.Error(err)
				}
				return
			}
			if err := census.CheckLatest(docs); err != nil {
				t.Error(err)
			}
			journal := w.Cosmos.Journal(Database, Container)
			for i, end := range append(runs, len(journal)) {
				begin := 0
				if i > 0 {
					begin = runs[i-1]
				}
				if err := neverBack(journal[begin:end]); err != nil {
					t.Errorf("run %d: %v", i+1, err)
				}
			}
		})
	}
}

// stream lets a fleet fly until land is called: so many drones, an event a second
// of each, some of them stale, malformed or not positions.
func stream(t *testing.T, w *World, drones int) (_ *fleet.Census, land func()) {
	t.Helper()
	config := mixed()
	config.Drones, config.Interval = drones, time.Second
	f, err := fleet.New(config, time.Now())
	if err != nil {
		t.Fatal(err)
	}
	producer, err := fleet.Dial(w.Hub.ConnectionString(), Hub)
	if err != nil {
		t.Fatal(err)
	}
	census := fleet.NewCensus()
	sender, err := fleet.NewSender(producer, census, fleet.DefaultSenderConfig(), time.Now, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	flying, stop := context.WithCancel(context.Background())
	flown := make(chan error, 1)
	go func() { flown <- sender.Run(flying, f) }()
	landed := false
	land = func() {
		if landed {
			return
		}
		landed = true
		stop()
		if err := <-flown; err != nil {
			t.Error(err)
		}
		if err := producer.Close(context.Background()); err != nil {
			t.Error(err)
		}
	}
	t.Cleanup(land)
	return census, land
}

// waitFor polls until the condition holds.
func waitFor(t *testing.T, what string, condition func() bool) {
	t.Helper()
	for deadline := time.Now().Add(60 * time.Second); !condition(); time.Sleep(20 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("%s: not within a minute", what)
		}
	}
}

// The journal's check must find a step back.
func TestAStepBackIsFound(t *testing.T) {
	body := func(ms string, sequence string) []byte {
		return []byte(`{"id":"a","deviceId":"a","geometry":{"coordinates":[1,2]},"source":{"enqueuedTime":"2026-11-30T12:00:00.` + ms + `Z","sequenceNumber":` + sequence + `,"index":0}}`)
	}
	forward := []cosmos.Write{{Key: "a", ID: "a", Body: body("100", "5")}, {Key: "a", ID: "a", Body: body("100", "6")}, {Key: "a", ID: "a", Body: body("200", "1")}}
	if err := neverBack(forward); err != nil {
		t.Error(err)
	}
	for _, pair := range [][2]int{{1, 0}, {2, 1}} {
		if neverBack([]cosmos.Write{forward[pair[0]], forward[pair[1]]}) == nil {
			t.Errorf("write %d after %d is a step back", pair[1], pair[0])
		}
	}
}
