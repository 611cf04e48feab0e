package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"golang.org/x/sync/errgroup"

	"warmpath/internal/app"
	"warmpath/internal/fleet"
	"warmpath/internal/local"
	"warmpath/telemetry"
)

// settleTimeout is how long the service may take to settle what the hub still
// holds once the fleet has landed.
const settleTimeout = time.Minute

// fly runs service and fleet until the time is over or the context ends, then
// lands the fleet, lets the service settle all, and drains it. It returns the
// ledger as the service left it.
func (s *settings) fly(ctx context.Context, world *local.World, service *app.App, census *fleet.Census, log *slog.Logger) (_ telemetry.Snapshot, err error) {
	serving, drain := context.WithCancel(context.WithoutCancel(ctx))
	defer drain()
	var running errgroup.Group
	running.Go(func() error { return service.Run(serving) })
	reporting, stopReporting := context.WithCancel(serving)
	var lines errgroup.Group
	lines.Go(func() error { report(reporting, service.Telemetry(), s.Every); return nil })

	err = s.send(ctx, world, census, log)
	if err == nil {
		err = world.WaitSettled(serving, service.Telemetry().Ledger, settleTimeout)
	}
	stopReporting()
	err = errors.Join(err, lines.Wait())
	drain()
	err = errors.Join(err, running.Wait())
	return service.Telemetry().Ledger.Snapshot(), err
}

// send lets the fleet fly for as long as it is asked to.
func (s *settings) send(ctx context.Context, world *local.World, census *fleet.Census, log *slog.Logger) (err error) {
	config := fleet.DefaultConfig()
	config.Drones, config.Interval, config.Seed, config.IoTHub = s.Drones, s.Interval, s.Seed, true
	drones, err := fleet.New(config, time.Now())
	if err != nil {
		return err
	}
	producer, err := fleet.Dial(world.Hub.ConnectionString(), local.Hub)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, producer.Close(context.WithoutCancel(ctx))) }()
	sender, err := fleet.NewSender(producer, census, fleet.DefaultSenderConfig(), time.Now, log)
	if err != nil {
		return err
	}
	flying := ctx
	if s.For > 0 {
		var land context.CancelFunc
		flying, land = context.WithTimeout(ctx, s.For)
		defer land()
	}
	if err := sender.Run(flying, drones); err != nil {
		return fmt.Errorf("the fleet: %w", err)
	}
	return nil
}
