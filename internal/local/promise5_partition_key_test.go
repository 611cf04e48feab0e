package local

import (
	"context"
	"log/slog"
	"os"
	"strings"
	"testing"
	"time"

	"warmpath/internal/app"
	"warmpath/internal/emulator/cosmos"
	"warmpath/internal/emulator/eventhubs"
	"warmpath/processor"
)

// Promise 5 (the partition key is there): documents that could not carry the
// container's key path are never written anywhere: the service refuses to start
// and says why.
func TestPromise5PartitionKey(t *testing.T) {
	w := newWorld(t, func(o *Options) { o.KeyPath = "/tenantId" })
	config, err := w.Config(processor.Latest)
	if err != nil {
		t.Fatal(err)
	}
	service, err := app.New(config, "test", os.Getenv, slog.New(slog.DiscardHandler), time.Now)
	if err != nil {
		t.Fatal(err)
	}
	err = service.Run(context.Background())
	if err == nil {
		t.Fatal("the service ran")
	}
	for _, want := range []string{"/tenantId", "/deviceId", "/deliveryId", "/id", Database + "/" + Container} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("the refusal %q does not name %s", err, want)
		}
	}
}

// The container is replaced under a running service by one with another key
// path: the first refusal stops the writing, and the service says so.
func TestPromise5AChangedKeyPathStopsWriting(t *testing.T) {
	w := newWorld(t, nil)
	config, err := w.Config(processor.Latest)
	if err != nil {
		t.Fatal(err)
	}
	config.Grace = 500 * time.Millisecond
	service, err := app.New(config, "test", os.Getenv, slog.New(slog.DiscardHandler), time.Now)
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- service.Run(ctx) }()
	publish := func(device string) {
		t.Helper()
		body := `{"deviceId":"` + device + `","deliveryId":"d-1","latitude":47.6,"longitude":-122.1}`
		if _, err := w.Hub.Publish(Hub, "0", eventhubs.Event{Body: []byte(body)}); err != nil {
			t.Fatal(err)
		}
	}
	publish("before")
	balanceUntil(t, w, service.Telemetry().Ledger)

	w.Cosmos.DeleteContainer(Database, Container)
	if err := w.Cosmos.CreateContainer(Database, cosmos.Container{
		ID: Container, PartitionKey: cosmos.PartitionKey{Paths: []string{"/deliveryId"}, Kind: "Hash", Version: 2},
	}); err != nil {
		t.Fatal(err)
	}
	publish("after")
	waitFor(t, "the stop to be told", func() bool {
		err := service.Ready()
		return err != nil && strings.Contains(err.Error(), "key path has changed")
	})
	stop()
	if err := <-ended; err == nil {
		t.Error("the service ended well although a position is unsettled")
	}
	if n := len(w.Cosmos.Journal(Database, Container)); n != 0 {
		t.Errorf("%d documents were written into a container of another key", n)
	}
	if total := service.Telemetry().Ledger.Snapshot().Total(); total.DeadLetteredTotal() != 0 || total.InFlight != 1 {
		t.Errorf("row %+v: the position must be in flight, it is not at fault", total)
	}
}
