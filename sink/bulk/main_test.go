package bulk_test

import (
	"context"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"warmpath/internal/emulator/cosmos"
	"warmpath/sink/bulk"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const (
	database  = "fleet"
	container = "positions"
)

// newServer starts an emulator with a container that is partitioned by
// /deviceId.
func newServer(t testing.TB, opts ...cosmos.Option) *cosmos.Server {
	t.Helper()
	s := newEmptyServer(t, opts...)
	if err := s.CreateContainer(database, cosmos.Container{
		ID:           container,
		PartitionKey: cosmos.PartitionKey{Paths: []string{"/deviceId"}, Kind: "Hash", Version: 2},
	}); err != nil {
		t.Fatal(err)
	}
	return s
}

func newEmptyServer(t testing.TB, opts ...cosmos.Option) *cosmos.Server {
	t.Helper()
	s, err := cosmos.Start(opts...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Errorf("close server: %v", err)
		}
	})
	return s
}

func targetOf(t testing.TB, s *cosmos.Server) bulk.Target {
	t.Helper()
	endpoint, key, err := bulk.ParseConnectionString(s.ConnectionString())
	if err != nil {
		t.Fatal(err)
	}
	return bulk.Target{Endpoint: endpoint, Database: database, Container: container, Credential: key}
}

// testConfig retries faster than the default, to keep tests short.
func testConfig() bulk.Config {
	c := bulk.DefaultConfig()
	c.RetryFirst, c.RetryMost = 2*time.Millisecond, 50*time.Millisecond
	return c
}

// newWriter opens and starts a writer that is closed when the test ends.
func newWriter(t testing.TB, s *cosmos.Server, config bulk.Config) *bulk.Writer {
	t.Helper()
	return startWriter(t, context.Background(), targetOf(t, s), config)
}

func startWriter(t testing.TB, hard context.Context, target bulk.Target, config bulk.Config) *bulk.Writer { //nolint:revive // the test comes first, as everywhere
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
	defer cancel()
	w, err := bulk.Open(ctx, target, config, slog.New(slog.DiscardHandler), time.Now)
	if err != nil {
		t.Fatal(err)
	}
	w.Start(hard)
	t.Cleanup(w.Close)
	return w
}

func device(i int) string { return fmt.Sprintf("drone-%06d", i) }

// document is about 430 bytes, as drones send them.
func document(device string, n int) []byte {
	return fmt.Appendf(nil, `{"id":%q,"deviceId":%q,"deliveryId":"d-4711","type":"Feature","geometry":{"type":"Point","coordinates":[-121.989734,47.757084,93.98]},"properties":{"timestamp":"2026-11-30T12:00:00.123Z","speed":12.2,"heading":83,"battery":0.71,"flightStatus":"InFlight","acceleration":0.25},"source":{"enqueuedTime":"2026-11-30T12:00:00.456Z","partition":"3","sequenceNumber":123456789,"index":0},"n":%d}`, device, device, n)
}

// collector keeps results in the order in which they come.
type collector struct {
	mu      sync.Mutex
	results map[int][]bulk.Result // by Index
}

func newCollector() *collector { return &collector{results: make(map[int][]bulk.Result)} }

func (c *collector) done(op *bulk.Operation, r bulk.Result) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.results[op.Index] = append(c.results[op.Index], r)
}

// one returns the only result of an operation.
func (c *collector) one(t testing.TB, index int) bulk.Result {
	t.Helper()
	c.mu.Lock()
	defer c.mu.Unlock()
	if n := len(c.results[index]); n != 1 {
		t.Fatalf("operation %d was finished %d times, want once", index, n)
	}
	return c.results[index][0]
}

func submit(t testing.TB, w *bulk.Writer, ops ...*bulk.Operation) {
	t.Helper()
	for _, op := range ops {
		if err := w.Submit(context.Background(), op); err != nil {
			t.Fatalf("submit %s %s: %v", op.Kind, op.ID, err)
		}
	}
}

func flush(t testing.TB, w *bulk.Writer) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
	defer cancel()
	if err := w.Flush(ctx); err != nil {
		t.Fatalf("flush: %v", err)
	}
}

// do submits an operation and waits for its result.
func do(t testing.TB, w *bulk.Writer, op bulk.Operation) bulk.Result {
	t.Helper()
	heard := make(chan bulk.Result, 2)
	op.Done = func(_ *bulk.Operation, r bulk.Result) { heard <- r }
	submit(t, w, &op)
	select {
	case r := <-heard:
		return r
	case <-time.After(10 * time.Second):
		t.Fatalf("%s %s was not finished", op.Kind, op.ID)
		return bulk.Result{}
	}
}

func seeded(seed uint64) *rand.Rand { return rand.New(rand.NewPCG(seed, 0x9e3779b97f4a7c15)) }
