package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"strconv"
	"time"

	"warmpath/bench/process"
	"warmpath/internal/fleet"
	"warmpath/internal/local"
	"warmpath/processor"
	"warmpath/telemetry"
)

// landing is what the child says when the fleet has landed.
type landing struct {
	Last  map[string]int64 // sequence number of the last event, by partition
	Late  int
	Worst time.Duration
}

// settledBy tells whether the service has settled all that the hub holds.
func (l landing) settledBy(s telemetry.Snapshot) bool {
	settled := map[string]int64{}
	for _, r := range s.Partitions {
		settled[r.Partition] = r.LastSettled
	}
	for partition, last := range l.Last {
		if last >= 0 && settled[partition] < last {
			return false
		}
	}
	return s.Total().InFlight == 0
}

// world is the child's side: it starts the emulators, says where they are, lets
// the fleet fly when it is told, and proves in the end what arrived.
func (s *settings) world(ctx context.Context) (err error) {
	folder, err := os.MkdirTemp("", "warmpath-bench-")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(folder)) }()
	options := local.DefaultOptions()
	options.Partitions, options.WriteLatency, options.Folder = s.Partitions, s.WriteLatency, folder
	w, err := local.Start(options)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, w.Close()) }()

	parent := process.NewParent()
	if err := parent.Say(address{w.Hub.ConnectionString(), w.Cosmos.ConnectionString(), folder}); err != nil {
		return err
	}
	var order string
	if err := parent.Hear(&order); err != nil {
		return err
	}
	census := fleet.NewCensus()
	flying, land := context.WithCancel(ctx)
	defer land()
	flown := make(chan error, 1)
	var stats fleet.Stats
	go func() {
		var err error
		stats, err = s.fly(flying, w, census)
		flown <- err
	}()
	if err := parent.Hear(&order); err != nil {
		return err
	}
	land()
	if err := <-flown; err != nil {
		return err
	}
	l := landing{Last: map[string]int64{}, Late: stats.Late, Worst: stats.WorstDelay}
	for i := range s.Partitions {
		info, err := w.Hub.PartitionInfo(local.Hub, strconv.Itoa(i))
		if err != nil {
			return err
		}
		l.Last[strconv.Itoa(i)] = info.LastSequence
	}
	if err := parent.Say(l); err != nil {
		return err
	}
	var last telemetry.Snapshot
	if err := parent.Hear(&last); err != nil {
		return err
	}
	verdict := ""
	if err := w.Prove(processor.Mode(s.Mode), census, last); err != nil {
		verdict = err.Error()
	}
	return parent.Say(verdict)
}

// fly sends good positions only, at the rate, until the context ends.
func (s *settings) fly(ctx context.Context, w *local.World, census *fleet.Census) (_ fleet.Stats, err error) {
	config := fleet.DefaultConfig()
	config.Drones = int(float64(s.Rate) * s.Interval.Seconds())
	config.Interval, config.IoTHub = s.Interval, true
	config.OtherSensorPercent, config.StalePercent, config.MalformedPercent = 0, 0, 0
	f, err := fleet.New(config, time.Now())
	if err != nil {
		return fleet.Stats{}, err
	}
	producer, err := fleet.Dial(w.Hub.ConnectionString(), local.Hub)
	if err != nil {
		return fleet.Stats{}, err
	}
	defer func() { err = errors.Join(err, producer.Close(context.WithoutCancel(ctx))) }()
	sender, err := fleet.NewSender(producer, census, fleet.DefaultSenderConfig(), time.Now, slog.New(slog.DiscardHandler))
	if err != nil {
		return fleet.Stats{}, err
	}
	if err := sender.Run(ctx, f); err != nil {
		return fleet.Stats{}, fmt.Errorf("the fleet: %w", err)
	}
	return sender.Stats(), nil
}
