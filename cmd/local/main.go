// Command local runs the whole of Warmpath on one machine without Azure: both
// emulators, a simulated fleet and the very same service, in one process. It
// prints a line every five seconds and ends with the proof that nothing was
// lost.
package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"os/signal"
	"strings"
	"syscall"
	"time"

	"github.com/alecthomas/kong"

	"warmpath/internal/app"
	"warmpath/internal/fleet"
	"warmpath/internal/local"
	"warmpath/processor"
)

// settings are the flags; kong makes the help from them.
type settings struct {
	For      time.Duration `help:"End after this long; 0 runs until interrupted." default:"0s"`
	Drones   int           `help:"Drones in the fleet." default:"200"`
	Interval time.Duration `help:"Time between two positions of one drone." default:"5s"`
	Seed     uint64        `help:"Seed of everything that looks random in the fleet." default:"1"`
	Mode     string        `help:"latest keeps one document per drone, history keeps every position." enum:"latest,history" default:"latest"`
	Every    time.Duration `help:"Time between two lines." default:"5s"`
	Listen   string        `help:"Address of the service's /healthz, /readyz and /metrics." default:"127.0.0.1:9090"`

	Partitions   int           `help:"Partitions of the hub." default:"8" group:"Emulators"`
	Ranges       int           `help:"Physical ranges of the container." default:"5" group:"Emulators"`
	RUPerRange   float64       `name:"ru-per-range" help:"Request units a second of each range; 0 is no limit." default:"0" group:"Emulators"`
	WriteLatency time.Duration `help:"Time that Cosmos DB takes for a request." default:"6ms" group:"Emulators"`
	KeyPath      string        `help:"Partition key path of the container." default:"/deviceId" group:"Emulators"`

	app.Logging
}

func main() { os.Exit(run(os.Args[1:])) }

// run parses the flags and does the job. Exit codes: 0 when the proof holds, 1
// when it does not or something failed, 2 for a wrong flag.
func run(args []string) int {
	var s settings
	exited := -1
	parser, err := kong.New(&s, kong.Name("local"),
		kong.Description("Warmpath on one machine without Azure: emulators, simulated fleet and service in one process."),
		kong.Vars{"log_level": "warn"}, kong.Exit(func(code int) { exited = code }))
	if err != nil {
		fmt.Fprintln(os.Stderr, "local:", err)
		return 2
	}
	if _, err = parser.Parse(args); exited >= 0 {
		return exited
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "local:", err)
		return 2
	}
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM, os.Interrupt)
	defer stop()
	context.AfterFunc(ctx, stop) // a second signal has its default effect: it ends the process
	if err := s.play(ctx, s.Logger(os.Stderr)); err != nil {
		fmt.Fprintf(os.Stderr, "local: FAILED\n%s\n", indent(err))
		return 1
	}
	return 0
}

// indent puts each of joined errors on a line of its own.
func indent(err error) string { return "  " + strings.ReplaceAll(err.Error(), "\n", "\n  ") }

// play sets the world up, lets the fleet fly, drains the service and proves
// that all arrived.
func (s *settings) play(ctx context.Context, log *slog.Logger) (err error) {
	folder, err := os.MkdirTemp("", "warmpath-local-")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(folder)) }()
	world, err := local.Start(local.Options{
		Partitions: s.Partitions, KeyPath: s.KeyPath, Ranges: s.Ranges, RUPerRange: s.RUPerRange, WriteLatency: s.WriteLatency, Folder: folder,
		NoJournal: s.For == 0, // nobody knows how long it will run
	})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, world.Close()) }()
	config, err := world.Config(processor.Mode(s.Mode))
	if err != nil {
		return err
	}
	config.Listen = s.Listen
	service, err := app.New(config, "local", os.Getenv, log, time.Now)
	if err != nil {
		return err
	}
	fmt.Printf("hub %s with %d partitions, Cosmos DB %s with %d ranges, metrics http://%s/metrics\n",
		world.Hub.Addr(), s.Partitions, world.Cosmos.Endpoint(), s.Ranges, service.Addr())
	fmt.Printf("%d drones around Redmond, each every %v; interrupt with Ctrl-C\n\n", s.Drones, s.Interval)

	census := fleet.NewCensus()
	played, err := s.fly(ctx, world, service, census, log)
	if err != nil {
		return err
	}
	if err := world.Prove(processor.Mode(s.Mode), census, played); err != nil {
		return err
	}
	total := played.Total()
	fmt.Printf("\nbalance: received %d = written %d + superseded %d + dropped %d + dead-lettered %d + in flight %d\n",
		total.Received, total.Written, total.Superseded, total.DroppedTotal(), total.DeadLetteredTotal(), total.InFlight)
	docs, err := world.Documents()
	if err != nil {
		return err
	}
	fmt.Printf("census:  %d positions sent by %d drones, %d documents in the container, all as they should be\n",
		census.Totals().Acknowledged.Positions, len(census.Devices()), len(docs))
	return nil
}
