package local

import (
	"testing"
	"time"

	"warmpath/internal/azurite"
	"warmpath/internal/emulator/eventhubs"
	"warmpath/processor"
)

// Promise 3 across processes: two replicas share the hub while partitions are
// stolen from them and they are killed and started again. A replica that lost a
// partition still holds what it had prefetched, and one that starts reads again
// what was not checkpointed. The journal of all accepted writes, over all
// processes, never steps back.
func TestPromise3AcrossReplicasAndRestarts(t *testing.T) {
	store := azurite.Start(t)
	store.Container(t, "checkpoints")
	w := newWorld(t, nil)
	census, land := stream(t, w, 400)

	// A checkpoint interval that is never reached: every restart reads all again.
	flags := []string{"--checkpoint-interval", "1h"}
	replicas := []*child{startChild(t, w, store, processor.Latest, flags...), startChild(t, w, store, processor.Latest, flags...)}
	for _, r := range replicas {
		r.listening()
	}
	grown := func(by int) func() bool {
		before := len(w.Cosmos.Journal(Database, Container))
		return func() bool { return len(w.Cosmos.Journal(Database, Container)) > before+by }
	}
	for kill := range 5 {
		waitFor(t, "progress", grown(300))
		// The links of a few partitions are taken by a phantom, as by an operator's
		// tool, while their readers are in the midst of a batch.
		for _, partition := range w.partitions[kill : kill+3] {
			release, err := w.Hub.Squat(Hub, ConsumerGroup, partition, 1)
			if err != nil {
				t.Fatal(err)
			}
			time.AfterFunc(300*time.Millisecond, release)
		}
		time.Sleep(200 * time.Millisecond)
		victim := kill % len(replicas)
		replicas[victim].kill()
		replicas[victim] = startChild(t, w, store, processor.Latest, flags...)
		replicas[victim].listening()
	}
	land()
	// One replica is enough to end with; what it has to read again is all old.
	if code := replicas[0].terminate(); code != 0 {
		t.Errorf("exit code %d", code)
	}
	waitFor(t, "the last replica to settle all", func() bool { return replicas[1].settled(w) })
	if code := replicas[1].terminate(); code != 0 {
		t.Errorf("exit code %d", code)
	}
	journal := w.Cosmos.Journal(Database, Container)
	if err := neverBack(journal); err != nil {
		t.Error(err)
	}
	docs, err := w.Documents()
	if err != nil {
		t.Fatal(err)
	}
	if err := census.CheckLatest(docs); err != nil {
		t.Error(err)
	}
	t.Logf("%d accepted writes for %d positions of %d drones", len(journal), census.Totals().Acknowledged.Positions, len(docs))
}

// The guard must be what holds the promise: without it the same redelivery takes
// documents back in time.
func TestWithoutTheGuardRedeliveryGoesBack(t *testing.T) {
	store := azurite.Start(t)
	store.Container(t, "checkpoints")
	for guard, want := range map[string]bool{"etag": false, "none": true} {
		w := newWorld(t, nil)
		for range 50 {
			body := []byte(`{"deviceId":"drone-1","latitude":47.6,"longitude":-122.1}`)
			if _, err := w.Hub.Publish(Hub, "0", eventhubs.Event{Body: body}); err != nil {
				t.Fatal(err)
			}
		}
		for range 2 { // the second process has no checkpoint and one event a batch: it writes all again
			c := startChild(t, w, store, processor.Latest, "--guard", guard, "--batch", "1", "--checkpoint-interval", "1h")
			waitFor(t, "all settled", func() bool { return c.settled(w) })
			c.kill()
		}
		if back := w.NeverBack() != nil; back != want {
			t.Errorf("guard %s: went back %v, want %v", guard, back, want)
		}
	}
}
