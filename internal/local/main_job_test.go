package local

import (
	"context"
	"flag"
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"warmpath/internal/app"
	"warmpath/internal/emulator/eventhubs"
	"warmpath/internal/fleet"
	"warmpath/processor"
	"warmpath/telemetry"
)

// full runs the tests at the size that proves most and takes longest: make full.
var full = flag.Bool("full", false, "run the tests at full size")

// The SDK leaves one goroutine behind per closed client, see docs/ARCHITECTURE.md.
func TestMain(m *testing.M) {
	goleak.VerifyTestMain(m, goleak.IgnoreAnyFunction(
		"github.com/Azure/azure-sdk-for-go/sdk/messaging/azeventhubs/v2/internal.(*Namespace).startNegotiateClaimRenewer.func3"))
}

func newWorld(t *testing.T, change func(*Options)) *World {
	t.Helper()
	o := DefaultOptions()
	o.Folder = t.TempDir()
	o.WriteLatency = time.Millisecond
	if change != nil {
		change(&o)
	}
	w, err := Start(o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := w.Close(); err != nil {
			t.Error(err)
		}
	})
	return w
}

// serve starts the service in this world and returns it with a function that
// drains it and gives its last snapshot.
func serve(t *testing.T, w *World, mode processor.Mode, change func(*app.Config)) (*app.App, func() telemetry.Snapshot) {
	t.Helper()
	config, err := w.Config(mode)
	if err != nil {
		t.Fatal(err)
	}
	if change != nil {
		change(&config)
	}
	service, err := app.New(config, "test", func(string) string { return "" }, slog.New(slog.NewTextHandler(testLog{t}, &slog.HandlerOptions{Level: slog.LevelWarn})), time.Now)
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- service.Run(ctx) }()
	var last *telemetry.Snapshot
	drain := func() telemetry.Snapshot {
		if last == nil {
			stop()
			if err := <-ended; err != nil {
				t.Errorf("the service ended with %v", err)
			}
			s := service.Telemetry().Ledger.Snapshot()
			last = &s
		}
		return *last
	}
	t.Cleanup(func() { drain() })
	return service, drain
}

// testLog shows the service's log with the test.
type testLog struct{ t *testing.T }

func (l testLog) Write(line []byte) (int, error) {
	l.t.Logf("service: %s", strings.TrimSpace(string(line)))
	return len(line), nil
}

// send lets a fleet send about the given number of events as fast as it can.
func send(t *testing.T, w *World, config fleet.Config, events int) *fleet.Census {
	t.Helper()
	// The last event is due now: device times are in the past, as in life.
	f, err := fleet.New(config, time.Now().Add(-config.Span(events)))
	if err != nil {
		t.Fatal(err)
	}
	producer, err := fleet.Dial(w.Hub.ConnectionString(), Hub)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = producer.Close(context.Background()) }()
	census := fleet.NewCensus()
	sender, err := fleet.NewSender(producer, census, fleet.DefaultSenderConfig(), time.Now, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	if err := sender.SendAll(context.Background(), f.Burst(events)); err != nil {
		t.Fatal(err)
	}
	return census
}

// mixed is a fleet that sends everything that fleets send.
func mixed() fleet.Config {
	c := fleet.DefaultConfig()
	c.Drones, c.Formats, c.IoTHub = 300, []fleet.Format{fleet.Reference, fleet.Flat}, true
	c.OtherSensorPercent, c.StalePercent, c.MalformedPercent, c.OutOfRangePercent = 5, 5, 5, 2
	return c
}

// The main job: every position that the fleet sent ends where it belongs, in
// both modes, whether an event holds one position or ten.
func TestTheMainJob(t *testing.T) {
	for _, test := range []struct {
		mode      processor.Mode
		positions int // per event
		events    int
	}{
		{processor.Latest, 1, 5000},
		{processor.History, 1, 5000},
		{processor.Latest, 10, 1000},
		{processor.History, 10, 500},
	} {
		t.Run(fmt.Sprintf("%s, %d a message", test.mode, test.positions), func(t *testing.T) {
			w := newWorld(t, nil)
			config := mixed()
			config.PositionsPerEvent = test.positions
			service, drain := serve(t, w, test.mode, nil)
			census := send(t, w, config, test.events)
			balanceUntil(t, w, service.Telemetry().Ledger)
			if err := w.Prove(test.mode, census, drain()); err != nil {
				t.Error(err)
			}
		})
	}
}

// balanceUntil waits until all is settled and demands that the ledger balances
// whenever it is looked at.
func balanceUntil(t *testing.T, w *World, ledger *telemetry.Ledger) {
	t.Helper()
	settled := make(chan error, 1)
	go func() { settled <- w.WaitSettled(context.Background(), ledger, 60*time.Second) }()
	for {
		if err := ledger.Snapshot().Balance(); err != nil {
			t.Error(err)
		}
		select {
		case err := <-settled:
			if err != nil {
				t.Fatal(err)
			}
			return
		case <-time.After(time.Millisecond):
		}
	}
}

// The article's first test: documents that all carry one key land on one range,
// which throttles however many request units the container has; with the right
// key the same load meets no throttling.
func TestTheHotPartition(t *testing.T) {
	// A thousand drones are five thousand request units and more: several
	// seconds' worth for one range, less than a second's for each of ten.
	const drones, ranges, unitsPerRange = 1000, 10, 1500
	run := func(keyPath string) (throttled, busy int) {
		w := newWorld(t, func(o *Options) { o.KeyPath, o.Ranges, o.RUPerRange = keyPath, ranges, unitsPerRange })
		for drone := range drones { // before the service starts, so that the load does not depend on its pace
			body := fmt.Sprintf(`{"deviceId":"drone-%d","deliveryId":"the-only-one","latitude":47.6,"longitude":-122.1}`, drone)
			if _, err := w.Hub.Publish(Hub, fmt.Sprint(drone%8), eventhubs.Event{Body: []byte(body)}); err != nil {
				t.Fatal(err)
			}
		}
		service, drain := serve(t, w, processor.Latest, func(c *app.Config) { c.AllowStaleDocuments = true })
		balanceUntil(t, w, service.Telemetry().Ledger)
		if total := drain().Total(); total.Written != drones || total.Received != drones { // throttled, but not lost
			t.Errorf("%s: row %+v", keyPath, total)
		}
		units := 0.0
		for _, r := range w.Cosmos.Ranges(Database, Container) {
			throttled += int(r.Throttled)
			units = max(units, r.RequestUnits)
			if r.Documents > 0 {
				busy++
			}
		}
		t.Logf("%s: %d of %d ranges busy, %d operations throttled, the busiest range charged %.0f RU", keyPath, busy, ranges, throttled, units)
		return throttled, busy
	}
	if throttled, busy := run("/deliveryId"); busy != 1 || throttled == 0 {
		t.Errorf("one key: %d ranges busy, %d operations throttled; want 1 and some", busy, throttled)
	}
	if throttled, busy := run("/deviceId"); busy != ranges || throttled != 0 {
		t.Errorf("a key per drone: %d ranges busy, %d operations throttled; want %d and none", busy, throttled, ranges)
	}
}
