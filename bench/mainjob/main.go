// Command mainjob measures the whole service at a given rate: events of one
// position each, sent by a simulated fleet on an absolute schedule through the
// emulators, to be written to Cosmos DB with a given latency.
//
// The service runs in this process, alone; emulators and fleet run in a child,
// so that the CPU time and memory of this process are the service's own. A run
// ends with the proof that everything arrived; without it there is no result.
package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"os/signal"
	"runtime"
	"slices"
	"time"

	"github.com/alecthomas/kong"

	"warmpath/bench/process"
	"warmpath/internal/app"
	"warmpath/internal/local"
	"warmpath/processor"
	"warmpath/telemetry"
)

// settings are the flags of a measurement.
type settings struct {
	Rate         int           `help:"Events a second." default:"2500"`
	Interval     time.Duration `help:"Time between two events of one drone; with the rate it makes the size of the fleet." default:"5s"`
	Partitions   int           `help:"Partitions of the hub." default:"32"`
	WriteLatency time.Duration `help:"Time that Cosmos DB takes for a request." default:"6ms"`
	WarmUp       time.Duration `help:"Time before the measured window." default:"5s"`
	For          time.Duration `help:"Length of the measured window." default:"15s"`
	Runs         int           `help:"Measured runs; the table shows medians and the spread." default:"3"`
	Mode         string        `help:"latest or history." enum:"latest,history" default:"latest"`
	Quick        bool          `help:"One short run, to see that the measurement itself works."`

	World bool `hidden:"" help:"Be the child that holds emulators and fleet."`
}

func main() {
	var s settings
	kong.Parse(&s, kong.Name("mainjob"), kong.Description("Measures the service at a given rate against the emulators."))
	if s.Quick {
		s.Runs, s.WarmUp, s.For = 1, time.Second, 3*time.Second
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	run := s.measure
	if s.World {
		run = s.world
	}
	if err := run(ctx); err != nil {
		fmt.Fprintln(os.Stderr, "mainjob:", err)
		os.Exit(1)
	}
}

// result is one measured window.
type result struct {
	written   float64       // positions a second
	p50, p99  time.Duration // write freshness
	cpu       time.Duration // user and system, per event
	rss       float64       // megabytes, the highest of the process so far
	late      int           // events that the fleet sent late
	lateWorst time.Duration
}

// measure runs the service as often as asked for and prints the table.
func (s *settings) measure(ctx context.Context) error {
	fmt.Printf("go run ./bench/mainjob --rate %d --interval %v --partitions %d --write-latency %v --mode %s (%d runs of %v)\n",
		s.Rate, s.Interval, s.Partitions, s.WriteLatency, s.Mode, s.Runs, s.For)
	fmt.Printf("%s, %d cores; Event Hubs and Cosmos DB are this repository's emulators, they and the fleet in a process of their own\n\n", runtime.Version(), runtime.NumCPU())
	var all []result
	for i := range s.Runs {
		r, err := s.once(ctx)
		if err != nil {
			return fmt.Errorf("run %d has no result: %w", i+1, err)
		}
		all = append(all, r)
	}
	fmt.Printf("%-34s %12s %12s %12s\n", "", "median", "min", "max")
	row := func(name, format string, value func(result) float64) {
		v := make([]float64, len(all))
		for i, r := range all {
			v[i] = value(r)
		}
		slices.Sort(v)
		fmt.Printf("%-34s %12s %12s %12s\n", name, fmt.Sprintf(format, v[len(v)/2]), fmt.Sprintf(format, v[0]), fmt.Sprintf(format, v[len(v)-1]))
	}
	ms := func(d time.Duration) float64 { return float64(d) / float64(time.Millisecond) }
	row("positions written, 1/s", "%.0f", func(r result) float64 { return r.written })
	row("write freshness p50, ms", "%.1f", func(r result) float64 { return ms(r.p50) })
	row("write freshness p99, ms", "%.1f", func(r result) float64 { return ms(r.p99) })
	row("service CPU per event, us", "%.1f", func(r result) float64 { return float64(r.cpu) / float64(time.Microsecond) })
	row("service RSS at most, MB", "%.0f", func(r result) float64 { return r.rss })
	row("events sent late (over 50 ms)", "%.0f", func(r result) float64 { return float64(r.late) })
	row("latest sending, ms", "%.1f", func(r result) float64 { return ms(r.lateWorst) })
	return nil
}

// once starts the child, lets the service work through warm-up and window, and
// has the child prove that all arrived.
func (s *settings) once(ctx context.Context) (_ result, err error) {
	child, err := process.Start(ctx, append(os.Args[1:], "--world")...)
	if err != nil {
		return result{}, err
	}
	defer func() { err = errors.Join(err, child.Close()) }()
	var place address
	if err := child.Receive(&place); err != nil {
		return result{}, err
	}
	config, err := place.config(processor.Mode(s.Mode))
	if err != nil {
		return result{}, err
	}
	service, err := app.New(config, "bench", os.Getenv, slog.New(slog.NewTextHandler(os.Stderr, &slog.HandlerOptions{Level: slog.LevelWarn})), time.Now)
	if err != nil {
		return result{}, err
	}
	serving, drain := context.WithCancel(ctx)
	defer drain()
	ended := make(chan error, 1)
	go func() { ended <- service.Run(serving) }()
	for service.Ready() != nil {
		time.Sleep(10 * time.Millisecond)
	}

	if err := child.Send("fly"); err != nil {
		return result{}, err
	}
	time.Sleep(s.WarmUp)
	before := look(service.Telemetry())
	time.Sleep(s.For)
	r := look(service.Telemetry()).since(before)
	if err := child.Send("land"); err != nil {
		return result{}, err
	}
	var landed landing
	if err := child.Receive(&landed); err != nil {
		return result{}, err
	}
	r.late, r.lateWorst = landed.Late, landed.Worst

	// Settled is what the child says is in the hub; then the proof.
	for !landed.settledBy(service.Telemetry().Ledger.Snapshot()) {
		time.Sleep(10 * time.Millisecond)
	}
	drain()
	if err := <-ended; err != nil {
		return result{}, err
	}
	if err := child.Send(service.Telemetry().Ledger.Snapshot()); err != nil {
		return result{}, err
	}
	var verdict string
	if err := child.Receive(&verdict); err != nil {
		return result{}, err
	}
	if verdict != "" {
		return result{}, errors.New(verdict)
	}
	return r, nil
}

// reading is what the service has used and done at a moment.
type reading struct {
	at        time.Time
	cpu       time.Duration
	events    int64
	written   int64
	freshness telemetry.Distribution
}

func look(t *telemetry.Telemetry) reading {
	total := t.Ledger.Snapshot().Total()
	return reading{time.Now(), process.CPUTime(), total.Events, total.Written, t.WriteFreshness.Read()}
}

func (r reading) since(before reading) result {
	window := r.freshness.Since(before.freshness)
	return result{
		written: float64(r.written-before.written) / r.at.Sub(before.at).Seconds(),
		p50:     window.Percentile(50),
		p99:     window.Percentile(99),
		cpu:     (r.cpu - before.cpu) / time.Duration(max(1, r.events-before.events)),
		rss:     process.PeakRSS(),
	}
}

// address says where the child's emulators listen.
type address struct{ Hub, Cosmos, Folder string }

func (a address) config(mode processor.Mode) (app.Config, error) {
	return local.Config(a.Hub, a.Cosmos, a.Folder, mode)
}
