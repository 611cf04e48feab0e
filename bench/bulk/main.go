// Command bulk measures the bulk writer: what a document costs the client, next
// to azcosmos writing the same documents one at a time in the same run, and how
// much of a store's request units it uses and has refused when there is more to
// write than the store can take. The store is the emulator, in a process of its
// own.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"runtime/pprof"
	"time"

	"github.com/alecthomas/kong"

	"warmpath/bench/process"
	"warmpath/bench/report"
	"warmpath/sink/bulk"
)

type settings struct {
	For     time.Duration `help:"Length of one measurement." default:"3s"`
	Budget  time.Duration `help:"Length of one measurement against limited request units." default:"30s"`
	Runs    int           `help:"Measurements of each kind, interleaved." default:"5"`
	Only    string        `help:"cpu or budget: measure only this." enum:"cpu,budget,all" default:"all"`
	Profile string        `help:"Write a CPU profile of the bulk writer's measurements to this file."`

	Store   bool    `hidden:"" help:"Be the child that is the store."`
	Ranges  int     `hidden:"" default:"5"`
	RU      float64 `hidden:""`
	Sliding bool    `hidden:""`
}

func main() {
	var s settings
	kong.Parse(&s, kong.Name("bulk"), kong.Description("Measures the bulk writer against azcosmos and against limited request units."))
	run := s.measure
	if s.Store {
		run = s.store
	}
	if err := run(context.Background()); err != nil {
		fmt.Fprintln(os.Stderr, "bulk:", err)
		os.Exit(1)
	}
}

func (s *settings) measure(ctx context.Context) error {
	r := report.New(fmt.Sprintf("go run ./bench/bulk --for %v --budget %v --runs %d --only %s", s.For, s.Budget, s.Runs, s.Only))
	if s.Only != "budget" {
		if err := s.measureCPU(ctx, r); err != nil {
			return err
		}
	}
	if s.Only != "cpu" {
		if err := s.measureBudget(ctx, r); err != nil {
			return err
		}
	}
	return r.Save()
}

// measureCPU compares the two writers on a store without limits.
func (s *settings) measureCPU(ctx context.Context, r *report.Report) error {
	profile, err := s.profile()
	if err != nil {
		return err
	}
	defer func() { _ = profile.Close() }()
	var point, many []cost
	for i := range s.Runs {
		c, err := s.once(ctx, writePoints, nil)
		if err != nil {
			return fmt.Errorf("azcosmos: %w", err)
		}
		point = append(point, c)
		into := io.Writer(nil)
		if i == s.Runs-1 && s.Profile != "" {
			into = profile
		}
		if c, err = s.once(ctx, writeBulk, into); err != nil {
			return fmt.Errorf("bulk: %w", err)
		}
		many = append(many, c)
	}
	cpu := func(c cost) float64 { return float64(c.cpu) / float64(time.Microsecond) / float64(c.documents) }
	speed := func(c cost) float64 { return float64(c.documents) / c.took.Seconds() }
	a := r.Add("azcosmos UpsertItem x64: client CPU per document", "us", each(point, cpu))
	b := r.Add("bulk: client CPU per document", "us", each(many, cpu))
	r.Add("azcosmos UpsertItem x64: documents", "1/s", each(point, speed))
	r.Add("bulk: documents", "1/s", each(many, speed))
	r.Add("bulk: documents per request", "1", each(many, func(c cost) float64 { return float64(c.documents) / float64(c.requests) }))
	fmt.Printf("%-52s %12.1f\n\n", "client CPU per document, azcosmos / bulk (medians)", a.Median/b.Median)
	return nil
}

func (s *settings) profile() (*os.File, error) {
	if s.Profile == "" {
		return nil, nil
	}
	return os.Create(s.Profile)
}

// cost is what a measurement came to.
type cost struct {
	work
	cpu, took time.Duration
}

func each[T any](of []T, value func(T) float64) []float64 {
	var out []float64
	for _, v := range of {
		out = append(out, value(v))
	}
	return out
}

// once measures one way of writing against a fresh store.
func (s *settings) once(ctx context.Context, write func(context.Context, string) (work, error), profile io.Writer) (_ cost, err error) {
	child, connection, err := startStore(ctx)
	if err != nil {
		return cost{}, err
	}
	defer func() { err = errors.Join(err, child.Close()) }()
	warm, cancel := context.WithTimeout(ctx, 500*time.Millisecond)
	_, err = write(warm, connection)
	cancel()
	if err != nil {
		return cost{}, err
	}
	if profile != nil {
		if err := pprof.StartCPUProfile(profile); err != nil {
			return cost{}, err
		}
		defer pprof.StopCPUProfile()
	}
	timed, cancel := context.WithTimeout(ctx, s.For)
	defer cancel()
	began, before := time.Now(), process.CPUTime()
	done, err := write(timed, connection)
	return cost{done, process.CPUTime() - before, time.Since(began)}, err
}

// open opens the container by the bulk writer.
func open(ctx context.Context, connection string, config bulk.Config) (*bulk.Writer, error) {
	endpoint, key, err := bulk.ParseConnectionString(connection)
	if err != nil {
		return nil, err
	}
	target := bulk.Target{Endpoint: endpoint, Database: database, Container: container, Credential: key}
	return bulk.Open(ctx, target, config, slog.New(slog.NewTextHandler(os.Stderr, nil)), time.Now)
}
