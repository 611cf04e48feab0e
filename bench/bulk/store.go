package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"warmpath/bench/process"
	"warmpath/internal/emulator/cosmos"
)

const (
	database  = "fleet"
	container = "positions"
)

// startStore starts the child and returns its connection string.
func startStore(ctx context.Context, flags ...string) (*process.Child, string, error) {
	child, err := process.Start(ctx, append([]string{"--store"}, flags...)...)
	if err != nil {
		return nil, "", err
	}
	var connection string
	if err := child.Receive(&connection); err != nil {
		return nil, "", errors.Join(err, child.Close())
	}
	return child, connection, nil
}

// meter is what the store has granted and refused so far, over all ranges.
type meter struct {
	At        time.Time
	Units     float64
	Throttled int64
}

// store is the child: a store that says what it has granted whenever it is asked.
func (s *settings) store(context.Context) (err error) {
	options := []cosmos.Option{cosmos.WithRanges(s.Ranges), cosmos.WithoutJournal()}
	if s.RU > 0 {
		options = append(options, cosmos.WithRUPerRange(s.RU), cosmos.WithChargeNoise(0.3, 1))
	}
	if s.Sliding {
		options = append(options, cosmos.WithWindow(cosmos.Sliding))
	}
	server, err := cosmos.Start(options...)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, server.Close()) }()
	if err := server.CreateContainer(database, cosmos.Container{
		ID:           container,
		PartitionKey: cosmos.PartitionKey{Paths: []string{"/deviceId"}, Kind: "Hash", Version: 2},
	}); err != nil {
		return fmt.Errorf("create container: %w", err)
	}
	parent := process.NewParent()
	if err := parent.Say(server.ConnectionString()); err != nil {
		return err
	}
	for {
		var question string
		if parent.Hear(&question) != nil {
			return nil // the measuring process has closed the conversation
		}
		m := meter{At: time.Now()}
		for _, r := range server.Ranges(database, container) {
			m.Units += r.RequestUnits
			m.Throttled += r.Throttled
		}
		if err := parent.Say(m); err != nil {
			return err
		}
	}
}

// read asks the child for its meter.
func read(child *process.Child) (m meter, err error) {
	if err := child.Send("meter"); err != nil {
		return meter{}, err
	}
	return m, child.Receive(&m)
}
