package local

import (
	"strings"
	"testing"

	"warmpath/internal/azurite"
	"warmpath/internal/emulator/cosmos"
	"warmpath/processor"
)

// A container whose keys are hashed by version 1 takes no bulk writes from us:
// auto writes one by one, under the same guard, and says so once; bulk refuses.
func TestAutoFallsBackToPointWriting(t *testing.T) {
	store := azurite.Start(t)
	store.Container(t, "checkpoints")
	w := newWorld(t, nil)
	w.Cosmos.DeleteContainer(Database, Container)
	if err := w.Cosmos.CreateContainer(Database, cosmos.Container{
		ID: Container, PartitionKey: cosmos.PartitionKey{Paths: []string{"/deviceId"}, Kind: "Hash", Version: 1},
	}); err != nil {
		t.Fatal(err)
	}
	refused := startChild(t, w, store, processor.Latest, "--writer", "bulk")
	<-refused.end
	_ = refused.command.Wait()
	if code, log := refused.command.ProcessState.ExitCode(), strings.Join(refused.lines(), "\n"); code != 1 || !strings.Contains(log, "version 1") {
		t.Errorf("bulk on such a container: exit %d\n%s", code, log)
	}

	c := startChild(t, w, store, processor.Latest)
	c.listening()
	census := send(t, w, mixed(), 500)
	waitFor(t, "all settled", func() bool { return c.settled(w) })
	if code := c.terminate(); code != 0 {
		t.Errorf("exit code %d", code)
	}
	if n := strings.Count(strings.Join(c.lines(), "\n"), "written one by one"); n != 1 {
		t.Errorf("the fallback was told %d times, want once", n)
	}
	docs, err := w.Documents()
	if err != nil {
		t.Fatal(err)
	}
	if err := census.CheckLatest(docs); err != nil {
		t.Error(err)
	}
	if err := w.NeverBack(); err != nil {
		t.Error(err)
	}
	for _, write := range w.Cosmos.Journal(Database, Container) {
		if write.Op == "Upsert" {
			t.Fatalf("%s was upserted: the guard was not asked", write.ID)
		}
	}
}
