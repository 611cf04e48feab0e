package local

import (
	"testing"
	"time"

	"warmpath/internal/app"
	"warmpath/internal/emulator/cosmos"
	"warmpath/processor"
)

// Promise 4 (five minutes, here one second): while Cosmos DB throttles for three
// seconds, positions grow old waiting in lanes and retries. None is written that
// is too old, and what was dropped for its age is counted.
func TestPromise4FiveMinutes(t *testing.T) {
	const maxAge = time.Second
	w := newWorld(t, nil)
	service, drain := serve(t, w, processor.History, func(c *app.Config) { c.MaxAge = maxAge })
	_, land := stream(t, w, 500)
	time.Sleep(time.Second)
	recover := w.Cosmos.Control(cosmos.AnyOperation, cosmos.Always(cosmos.Throttle(20*time.Millisecond)))
	time.Sleep(3 * time.Second)
	recover()
	time.Sleep(time.Second)
	land()
	balanceUntil(t, w, service.Telemetry().Ledger)
	total := drain().Total()
	if total.Dropped["stale"] == 0 || total.Written == 0 {
		t.Fatalf("row %+v: some should be stale and some written", total)
	}
	// An accepted write may have been on its way for a moment when its position
	// turned too old; the moment is a request's time on a busy machine.
	const onTheWay = 500 * time.Millisecond
	for _, write := range w.Cosmos.Journal(Database, Container) {
		d, err := parse(write.Body)
		if err != nil {
			t.Fatal(err)
		}
		if age := write.Time.Sub(d.Source.EnqueuedTime); age > maxAge+onTheWay {
			t.Errorf("%s was written at the age of %v", d.ID, age)
		}
	}
	t.Logf("%d written, %d stale", total.Written, total.Dropped["stale"])
}
