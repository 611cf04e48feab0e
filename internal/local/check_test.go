package local

import (
	"bytes"
	"context"
	"net/http"
	"path/filepath"
	"strings"
	"testing"

	"warmpath/internal/app"
	"warmpath/internal/azurite"
	"warmpath/internal/emulator/cosmos"
	"warmpath/internal/emulator/eventhubs"
	"warmpath/processor"
)

// `warmpath check` beside a running service: it finds what works and what does
// not, one line each, and the service does not notice.
func TestCheckDisturbsNothing(t *testing.T) {
	store := azurite.Start(t)
	store.Container(t, "checkpoints")
	store.Container(t, "deadletters")
	w := newWorld(t, nil)
	service, drain := serve(t, w, processor.Latest, nil)
	census := send(t, w, mixed(), 300)
	balanceUntil(t, w, service.Telemetry().Ledger)

	config, err := w.Config(processor.Latest)
	if err != nil {
		t.Fatal(err)
	}
	config.CheckpointStore, config.DeadLetterStore = "blob", "blob"
	config.StorageConnectionString = app.Secret(store.ConnectionString())
	config.CheckpointContainer, config.DeadLetterContainer = "checkpoints", "deadletters"
	check := func(change func(*app.Config)) (string, error) {
		t.Helper()
		c := config
		change(&c)
		var out bytes.Buffer
		err := app.Check(context.Background(), c, &out)
		t.Logf("\n%s", out.String())
		return out.String(), err
	}

	out, err := check(func(*app.Config) {})
	if err != nil || strings.Count(out, "ok ") != 4 || !strings.Contains(out, "8 partitions") || !strings.Contains(out, "/deviceId") {
		t.Errorf("a sound configuration: %v", err)
	}
	for _, test := range []struct {
		name   string
		change func(*app.Config)
		line   string
	}{
		{"no such group", func(c *app.Config) { c.ConsumerGroup = "nobody" }, "FAIL  hub"},
		{"no such hub", func(c *app.Config) { c.HubName = "nothing" }, "FAIL  hub"},
		{"no such container", func(c *app.Config) { c.CosmosContainer = "nothing" }, "FAIL  Cosmos DB"},
		{"wrong Cosmos key", func(c *app.Config) {
			c.CosmosConnectionString = app.Secret("AccountEndpoint=" + w.Cosmos.Endpoint() + ";AccountKey=c2VzYW1l;")
		}, "401 Unauthorized"},
		{"no such blob container", func(c *app.Config) { c.CheckpointContainer = "nothing" }, "FAIL  checkpoints"},
		{"file that cannot be", func(c *app.Config) {
			c.DeadLetterStore, c.DeadLetterFile = "file", filepath.Join(t.TempDir(), "no", "folder")
		}, "FAIL  dead letters"},
	} {
		out, err := check(test.change)
		if err == nil || !strings.Contains(out, test.line) || strings.Count(out, "FAIL") != 1 {
			t.Errorf("%s: %v, want one failure: %s", test.name, err, test.line)
		}
		if lines := strings.Count(out, "\n"); lines != 4 {
			t.Errorf("%s: %d lines, want one for each check", test.name, lines)
		}
		if strings.Contains(out, "c2VzYW1l") {
			t.Errorf("%s: a key was printed", test.name)
		}
	}
	// A role that reads and may not write.
	w.Cosmos.Control(cosmos.DeleteOperation, cosmos.Once(cosmos.Answer(http.StatusForbidden, 5300)))
	if out, err := check(func(*app.Config) {}); err == nil || !strings.Contains(out, "FAIL  Cosmos DB") || !strings.Contains(out, "403") {
		t.Errorf("no permission to write: %v", err)
	}

	// The service has lost no partition, and all is where it was.
	for _, r := range service.Telemetry().Ledger.Snapshot().Partitions {
		if !r.Owned {
			t.Errorf("partition %s was lost to a check", r.Partition)
		}
	}
	if _, err := w.Hub.Publish(Hub, "0", eventhubs.Event{Body: []byte("malformed")}); err != nil {
		t.Fatal(err)
	}
	balanceUntil(t, w, service.Telemetry().Ledger)
	docs, err := w.Documents()
	if err != nil {
		t.Fatal(err)
	}
	if err := census.CheckLatest(docs); err != nil {
		t.Error(err)
	}
	drain()
}
