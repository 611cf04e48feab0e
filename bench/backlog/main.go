// Command backlog measures how the whole service catches up: a million events of
// one position each wait in the hub, and the service reads, converts and writes
// them all. Beside it stands a bare loop of ReceiveEvents over the same backlog:
// what the SDK alone costs. Every measured half is a process of its own.
package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"time"

	"github.com/alecthomas/kong"

	"warmpath/bench/process"
	"warmpath/bench/report"
	"warmpath/internal/app"
	"warmpath/internal/local"
	"warmpath/processor"
)

type settings struct {
	Events     int `help:"Events that wait in the hub." default:"1000000"`
	Partitions int `help:"Partitions of the hub." default:"32"`
	Runs       int `help:"Runs of every row, interleaved." default:"5"`

	Role   string `hidden:"" default:"measure"`
	Drones int    `hidden:""`
	Hub    string `hidden:""`
	Cosmos string `hidden:""`
	Guard  string `hidden:""`
	Folder string `hidden:""`
}

// subjects are what is measured. The first is the measure of the others.
var subjects = []struct {
	name, role, guard string
	drones            func(events int) int
}{
	{"bare ReceiveEvents", "read", "", all},
	{"service, guard none", "serve", "none", all},
	{"service, guard etag", "serve", "etag", all},
	{"service, guard etag, 1,000 drones", "serve", "etag", func(int) int { return 1000 }},
}

func all(events int) int { return events }

func main() {
	var s settings
	kong.Parse(&s, kong.Name("backlog"), kong.Description("Measures the service on a backlog beside a bare receive loop."))
	run := map[string]func(context.Context) error{"measure": s.measure, "world": s.world, "read": s.read, "serve": s.serve}[s.Role]
	if err := run(context.Background()); err != nil {
		fmt.Fprintln(os.Stderr, "backlog:", err)
		os.Exit(1)
	}
}

// result is what a measured process says of itself.
type result struct {
	Events, Written int64
	Seconds         float64
	CPU             float64 // microseconds per event
	RSS             float64 // megabytes at most
	Fault           string
}

func (s *settings) measure(ctx context.Context) error {
	results := make([][]result, len(subjects))
	for run := range s.Runs {
		for i, subject := range subjects {
			r, err := s.once(ctx, subject.role, subject.guard, subject.drones(s.Events))
			if err != nil {
				return fmt.Errorf("%s, run %d: %w", subject.name, run+1, err)
			}
			results[i] = append(results[i], r)
			fmt.Fprintf(os.Stderr, "run %d: %-36s %6.1f s\n", run+1, subject.name, r.Seconds)
		}
	}
	rep := report.New(fmt.Sprintf("go run ./bench/backlog --events %d --partitions %d --runs %d", s.Events, s.Partitions, s.Runs))
	column := func(i int, value func(result) float64) []float64 {
		var v []float64
		for _, r := range results[i] {
			v = append(v, value(r))
		}
		return v
	}
	for i, subject := range subjects {
		rep.Add(subject.name+": CPU per event", "us", column(i, func(r result) float64 { return r.CPU }))
		rep.Add(subject.name+": events received", "1/s", column(i, func(r result) float64 { return float64(r.Events) / r.Seconds }))
		if subject.role == "serve" {
			rep.Add(subject.name+": positions written", "1/s", column(i, func(r result) float64 { return float64(r.Written) / r.Seconds }))
			ratio := column(i, func(r result) float64 { return r.CPU })
			for run := range ratio { // of the same run
				ratio[run] /= results[0][run].CPU
			}
			rep.Add(subject.name+": CPU against bare", "x", ratio)
		}
		rep.Add(subject.name+": RSS at most", "MB", column(i, func(r result) float64 { return r.RSS }))
	}
	return rep.Save()
}

// once makes a world with a full hub and lets one subject read it empty.
func (s *settings) once(ctx context.Context, role, guard string, drones int) (_ result, err error) {
	folder, err := os.MkdirTemp("", "warmpath-bench-")
	if err != nil {
		return result{}, err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(folder)) }()
	size := []string{"--events", fmt.Sprint(s.Events), "--partitions", fmt.Sprint(s.Partitions)}
	world, err := process.Start(ctx, append(size, "--role", "world", "--drones", fmt.Sprint(drones))...)
	if err != nil {
		return result{}, err
	}
	defer func() { err = errors.Join(err, world.Close()) }()
	var place struct{ Hub, Cosmos string }
	if err := world.Receive(&place); err != nil {
		return result{}, err
	}
	subject, err := process.Start(ctx, append(size, "--role", role, "--guard", guard, "--hub", place.Hub, "--cosmos", place.Cosmos, "--folder", folder)...)
	if err != nil {
		return result{}, err
	}
	var r result
	err = subject.Receive(&r)
	if err = errors.Join(err, subject.Close()); err != nil {
		return result{}, err
	}
	if r.Fault != "" {
		return result{}, errors.New(r.Fault)
	}
	if role == "read" {
		return r, nil
	}
	// The store's own count is the proof: one document per drone.
	var documents int
	if err := errors.Join(world.Send("documents"), world.Receive(&documents)); err != nil {
		return result{}, err
	}
	if documents != drones {
		return result{}, fmt.Errorf("%d documents for %d drones", documents, drones)
	}
	return r, nil
}

// serve is the service as a measured process.
func (s *settings) serve(ctx context.Context) error {
	config, err := local.Config(s.Hub, s.Cosmos, s.Folder, processor.Latest)
	if err != nil {
		return err
	}
	config.Guard, config.Writer = s.Guard, "bulk"
	service, err := app.New(config, "bench", os.Getenv, slog.New(slog.NewTextHandler(os.Stderr, &slog.HandlerOptions{Level: slog.LevelWarn})), time.Now)
	if err != nil {
		return err
	}
	serving, drain := context.WithCancel(ctx)
	defer drain()
	ended := make(chan error, 1)
	began, cpu := time.Now(), process.CPUTime()
	go func() { ended <- service.Run(serving) }()
	for {
		if t := service.Telemetry().Ledger.Snapshot().Total(); t.Events >= int64(s.Events) && t.InFlight == 0 {
			break
		}
		time.Sleep(20 * time.Millisecond)
	}
	took, spent := time.Since(began), process.CPUTime()-cpu
	drain()
	err = <-ended
	last := service.Telemetry().Ledger.Snapshot()
	total := last.Total()
	r := result{Events: total.Events, Written: total.Written, Seconds: took.Seconds(), CPU: perEvent(spent, total.Events), RSS: process.PeakRSS()}
	if err = errors.Join(err, last.Balance()); err != nil {
		r.Fault = err.Error()
	} else if total.Written+total.Superseded != int64(s.Events) {
		r.Fault = fmt.Sprintf("%d positions written and superseded of %d", total.Written+total.Superseded, s.Events)
	}
	return process.NewParent().Say(r)
}

func perEvent(spent time.Duration, events int64) float64 {
	return float64(spent) / float64(time.Microsecond) / float64(events)
}
