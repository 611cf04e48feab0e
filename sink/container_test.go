package sink

import (
	"context"
	"errors"
	"log/slog"
	"net/http"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"warmpath/internal/emulator/cosmos"
	"warmpath/telemetry"
)

// newStore starts a Cosmos DB emulator with a container.
func newStore(t *testing.T, keyPath string, ttl int) *cosmos.Server {
	t.Helper()
	s, err := cosmos.Start()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	if err := s.CreateDatabase("fleet"); err != nil {
		t.Fatal(err)
	}
	err = s.CreateContainer("fleet", cosmos.Container{ID: "positions", DefaultTTL: ttl, PartitionKey: cosmos.PartitionKey{Paths: []string{keyPath}, Kind: "Hash", Version: 2}})
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func newTelemetry(t *testing.T) *telemetry.Telemetry {
	t.Helper()
	tel, err := telemetry.New(telemetry.Options{Version: "test", Now: time.Now})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = tel.Shutdown(context.Background()) })
	return tel
}

func containerConfig(key func() string) ContainerConfig {
	return ContainerConfig{
		ConnectionString: func() (string, error) { return key(), nil },
		Database:         "fleet", Container: "positions", RequestTimeout: 5 * time.Second,
	}
}

func TestOpenWaitsForTheStore(t *testing.T) {
	s := newStore(t, "/deviceId", 3600)
	// The account's first read fails twice: with the SDK's own client that would
	// be five minutes of refusal (see docs/ARCHITECTURE.md).
	s.Control(cosmos.AccountRequest, cosmos.Once(cosmos.Answer(http.StatusServiceUnavailable, 0)))
	s.Control(cosmos.AccountRequest, cosmos.Once(cosmos.Fault{Reset: true}))
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
	defer cancel()
	c, err := Open(ctx, containerConfig(s.ConnectionString), newTelemetry(t), slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	d := c.Definition()
	if !slices.Equal(d.KeyPaths, []string{"/deviceId"}) || d.KeyVersion != 2 || d.DefaultTTL == nil || *d.DefaultTTL != time.Hour {
		t.Errorf("definition %+v", d)
	}
	if err := c.CheckKey([]string{"/id", "/deviceId"}); err != nil {
		t.Error(err)
	}
	if err := c.CheckKey([]string{"/id"}); err == nil || !strings.Contains(err.Error(), "/deviceId") || !strings.Contains(err.Error(), "available are /id") {
		t.Errorf("a path that documents cannot carry: %v", err)
	}
}

func TestOpenGivesUpOnlyWithItsContext(t *testing.T) {
	s := newStore(t, "/deviceId", 0)
	s.Control(cosmos.AccountRequest, cosmos.Always(cosmos.Answer(http.StatusServiceUnavailable, 0)))
	ctx, cancel := context.WithTimeout(context.Background(), 300*time.Millisecond)
	defer cancel()
	if _, err := Open(ctx, containerConfig(s.ConnectionString), newTelemetry(t), slog.New(slog.DiscardHandler)); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("got %v, want the context's end", err)
	}
}

func TestABadConnectionStringIsNotWaitedFor(t *testing.T) {
	c := containerConfig(func() string { return "AccountKey=sesame" })
	_, err := Open(context.Background(), c, newTelemetry(t), slog.New(slog.DiscardHandler))
	if err == nil || strings.Contains(err.Error(), "sesame") {
		t.Errorf("got %v", err)
	}
}

// A refused key makes the container ask for the key again: here the new one
// leads to another account, so that it shows which was used.
func TestARotatedKeyIsFound(t *testing.T) {
	old, next := newStore(t, "/deviceId", 0), newStore(t, "/deviceId", 0)
	var rotated atomic.Bool
	key := func() string {
		if rotated.Load() {
			return next.ConnectionString()
		}
		return old.ConnectionString()
	}
	ctx := context.Background()
	c, err := Open(ctx, containerConfig(key), newTelemetry(t), slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	p := newTestPool(ctx, t, c, nil)
	defer p.Close()
	d := func(id string) Document {
		d := document(id, 1)
		d.Body = []byte(`{"id":"` + id + `","deviceId":"` + id + `"}`)
		return d
	}
	if got := write(t, p, d("before"))[0]; got.Outcome != Written {
		t.Fatalf("%v: %v", got.Outcome, got.Err)
	}
	old.Control(cosmos.AnyOperation, cosmos.Always(cosmos.Answer(http.StatusUnauthorized, 0)))
	rotated.Store(true)
	if got := write(t, p, d("after"))[0]; got.Outcome != Written {
		t.Fatalf("%v: %v", got.Outcome, got.Err)
	}
	if a, b := len(old.Journal("fleet", "positions")), len(next.Journal("fleet", "positions")); a != 1 || b != 1 {
		t.Errorf("%d writes with the old key, %d with the new; want 1 and 1", a, b)
	}
}
