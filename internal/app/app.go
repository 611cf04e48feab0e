package app

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore"
	"golang.org/x/sync/errgroup"

	"warmpath/geo"
	"warmpath/internal/web"
	"warmpath/processor"
	"warmpath/sink"
	"warmpath/telemetry"
)

// App is one service in one process. Make it with New, run it once.
type App struct {
	config Config
	log    *slog.Logger
	now    func() time.Time
	tel    *telemetry.Telemetry
	listen net.Listener
	ready  readiness

	credential azcore.TokenCredential // nil when every connection brings a key
	stores     *stores
}

// New checks the settings and makes whatever needs no network, so that a wrong
// setting or a port in use is told before anything else happens. getenv reads
// the standard OTEL_* variables that choose exporters.
func New(config Config, version string, getenv func(string) string, log *slog.Logger, now func() time.Time) (*App, error) {
	if err := config.Validate(); err != nil {
		return nil, err
	}
	a := &App{config: config, log: log, now: now}
	var err error
	if a.credential, err = config.credential(); err != nil {
		return nil, err
	}
	if err = errors.Join(config.hub(a.credential).Validate(), config.container(a.credential).Validate()); err != nil {
		return nil, err
	}
	if a.tel, err = newTelemetry(version, getenv, now); err != nil {
		return nil, err
	}
	if a.stores, err = config.openStores(a.credential, now); err != nil {
		return nil, err
	}
	if a.listen, err = net.Listen("tcp", config.Listen); err != nil {
		a.stores.close()
		return nil, fmt.Errorf("--listen is %q: %w", config.Listen, err)
	}
	return a, nil
}

// newTelemetry makes the instruments with the exporters that the environment asks for.
func newTelemetry(version string, getenv func(string) string, now func() time.Time) (*telemetry.Telemetry, error) {
	ctx := context.Background()
	readers, err := telemetry.Readers(ctx, getenv)
	if err != nil {
		return nil, err
	}
	spans, err := telemetry.Spans(ctx, getenv)
	if err != nil {
		return nil, err
	}
	return telemetry.New(telemetry.Options{Version: version, Now: now, Readers: readers, Spans: spans})
}

// Addr is the address of /healthz, /readyz and /metrics.
func (a *App) Addr() net.Addr { return a.listen.Addr() }

// Telemetry gives access to the ledger and the instruments.
func (a *App) Telemetry() *telemetry.Telemetry { return a.tel }

// Ready tells why the service cannot do its work, or nil.
func (a *App) Ready() error { return a.ready.check() }

// Run serves until ctx ends, then drains as the package's documentation says.
// The error is nil when everything received is settled and checkpointed.
func (a *App) Run(ctx context.Context) error {
	defer a.stores.close()
	serving, stopServing := context.WithCancel(context.WithoutCancel(ctx))
	var server errgroup.Group
	server.Go(func() error { return web.Serve(serving, a.listen, web.Health(a.ready.check, a.tel.Handler())) })

	err := a.run(ctx)

	// The metrics stay readable until the drain is over.
	stopServing()
	err = errors.Join(err, server.Wait())
	flush, cancel := context.WithTimeout(context.WithoutCancel(ctx), 5*time.Second)
	defer cancel()
	return errors.Join(err, a.tel.Shutdown(flush))
}

func (a *App) run(ctx context.Context) error {
	c := &a.config
	container, err := sink.Open(ctx, c.container(a.credential), a.tel, a.log)
	if err != nil {
		if ctx.Err() != nil {
			return nil // told to stop before there was anything to drain
		}
		return err
	}
	if err := c.checkContainer(container); err != nil {
		return err
	}
	decoding := c.decoding(container.Definition().KeyPaths[0])
	decoder, err := geo.NewDecoder(decoding)
	if err != nil {
		return err
	}
	// hard ends the settling: a grace period after ctx.
	hard, letGo := context.WithCancel(context.WithoutCancel(ctx))
	defer letGo()
	defer context.AfterFunc(ctx, func() {
		a.log.Info("draining", "grace", c.Grace)
		time.AfterFunc(c.Grace, letGo)
	})()

	writer, err := a.openWriter(ctx, hard, container)
	if err != nil {
		if ctx.Err() != nil {
			return nil // told to stop before there was anything to drain
		}
		return err
	}
	defer writer.Close()
	reading := c.processor()
	reading.KeyIsID = decoding.KeyPath == "/id"
	reader, err := processor.New(reading, c.hub(a.credential), a.stores.checkpoints, decoder, writer, a.stores.dead, a.tel, a.log, a.now)
	if err != nil {
		return err
	}

	a.ready.use(stopping(ctx), writer.Ready, reader.Ready)
	a.log.Info("started", "mode", c.Mode, "container", c.CosmosDatabase+"/"+c.CosmosContainer,
		"key", decoding.KeyPath, "consumer_group", c.ConsumerGroup, "listen", a.Addr().String())
	err = reader.Run(ctx, hard)
	total := a.tel.Ledger.Snapshot().Total()
	a.log.Info("stopped", "received", total.Received, "written", total.Written, "superseded", total.Superseded,
		"dropped", total.DroppedTotal(), "dead_lettered", total.DeadLetteredTotal(), "in_flight", total.InFlight)
	return err
}

// stopping is not ready once the context has ended.
func stopping(ctx context.Context) func() error {
	return func() error {
		if ctx.Err() != nil {
			return errors.New("the service is stopping")
		}
		return nil
	}
}
