package app

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"slices"
	"sync"
	"time"

	"warmpath/processor"
	"warmpath/sink"
	"warmpath/telemetry"
)

// RunSettings are the settings of run for a command that does not need all of
// them. It is a type of its own because kong calls the Validate of everything that
// is embedded, and that of Config demands what run needs.
type RunSettings Config

// DeadLetterResend is how dead letters are sent again: with the settings of run.
type DeadLetterResend struct {
	RunSettings
	Selection
	All       bool `help:"All letters." env:"-" group:"Selection"`
	IgnoreAge bool `help:"Write positions that are older than --max-age, too." env:"-" group:"Selection"`
	ToHub     bool `help:"Send the messages to the Event Hub instead of their positions to Cosmos DB. A new enqueued time makes them the newest of their drones." env:"-" group:"Selection"`
}

// Validate names the first setting that is wrong. Of hub and Cosmos DB only the
// one that is sent to is needed.
func (d *DeadLetterResend) Validate() error {
	c := d.config()
	if d.ToHub {
		store := c.letterStore()
		return errors.Join(c.validateHub(), store.Validate())
	}
	return c.validateWriting()
}

// config is the settings without what run needs and nobody here.
func (d *DeadLetterResend) config() Config {
	c := Config(d.RunSettings)
	c.CheckpointStore = "memory"
	return c
}

// chosen collects the letters that numbers and filters choose: all of those that
// match, or of the numbers given those that match.
func (d *DeadLetterResend) chosen(ctx context.Context, numbers []int, now time.Time, complain io.Writer) (chosen []letter, damaged, err error) {
	if len(numbers) == 0 && len(d.Reason) == 0 && d.Since == (Since{}) && !d.All {
		return nil, nil, errors.New("no letter is chosen: give numbers, --reason, --since or --all")
	}
	c := d.config()
	store := c.letterStore()
	letters, err := store.letters(ctx)
	if err != nil {
		return nil, nil, err
	}
	missing := slices.Clone(numbers)
	for l, err := range letters {
		if err != nil {
			damaged = errDamaged
			fmt.Fprintln(complain, "warmpath:", err)
			continue
		}
		if len(numbers) > 0 && !slices.Contains(numbers, l.number) || !d.matches(l, now) {
			continue
		}
		missing = slices.DeleteFunc(missing, func(n int) bool { return n == l.number })
		chosen = append(chosen, l)
	}
	if len(missing) > 0 {
		return nil, damaged, fmt.Errorf("there are no dead letters %v, or they do not match", missing)
	}
	return chosen, damaged, nil
}

// Resend sends the chosen letters again and writes a line on each position to
// out. A position keeps its enqueued time, its sequence number and its device,
// so that one that is older than what is stored replaces nothing (promise 3);
// one that is older than --max-age is not written unless that is asked for
// (promise 4). No letter is removed: sending one twice changes nothing.
//
// The error is nil when every position is written or superseded.
func (d *DeadLetterResend) Resend(ctx context.Context, numbers []int, log *slog.Logger, now func() time.Time, out, complain io.Writer) error {
	letters, damaged, err := d.chosen(ctx, numbers, now(), complain)
	if err != nil {
		return err
	}
	var failed int
	if d.ToHub {
		failed, err = d.toHub(ctx, letters, out, complain)
	} else {
		failed, err = d.toSink(ctx, letters, log, now, out)
	}
	if err == nil && failed > 0 {
		err = fmt.Errorf("%d of what was to be sent again did not get there", failed)
	}
	return errors.Join(err, damaged)
}

// lettersAtOnce bounds the letters whose documents are in memory.
const lettersAtOnce = 1000

// toSink writes the positions of letters through the writer that run would use.
func (d *DeadLetterResend) toSink(ctx context.Context, letters []letter, log *slog.Logger, now func() time.Time, out io.Writer) (failed int, err error) {
	a := &App{config: d.config(), log: log, now: now}
	a.config.Guard = "etag" // letters are old: what is stored decides
	if d.IgnoreAge {
		a.config.MaxAge = 0
	}
	if a.credential, err = a.config.credential(); err != nil {
		return 0, err
	}
	if a.tel, err = telemetry.New(telemetry.Options{Now: now}); err != nil {
		return 0, err
	}
	defer func() { _ = a.tel.Shutdown(context.WithoutCancel(ctx)) }() // there is nobody to export to
	container, err := sink.Open(ctx, a.config.container(a.credential), a.tel, log)
	if err != nil {
		return 0, err
	}
	if err := a.config.checkContainer(container); err != nil {
		return 0, err
	}
	keyPath := container.Definition().KeyPaths[0]
	config := a.config.processor()
	config.KeyIsID = keyPath == "/id"
	reader, err := newLetterReader(a.config.decoding(keyPath), config)
	if err != nil {
		return 0, err
	}
	w, err := a.openWriter(ctx, ctx, container)
	if err != nil {
		return 0, err
	}
	defer w.Close()
	for some := range slices.Chunk(letters, lettersAtOnce) {
		n, err := resend(ctx, reader, w, some, now(), out)
		failed += n
		if err != nil {
			return failed, err
		}
	}
	return failed, nil
}

// sent is one position on its way, or what has become of it.
type sent struct {
	letter   int
	preview  processor.Preview
	document sink.Document
	result   sink.Result
	refused  error // the letter yields no position
}

// resend submits the positions of some letters, waits for all of them and writes
// a line on each, in the order of the letters.
func resend(ctx context.Context, reader *letterReader, w writer, letters []letter, now time.Time, out io.Writer) (failed int, err error) {
	var all []*sent
	for _, l := range letters {
		previews, err := reader.read(l, now)
		if err != nil {
			all = append(all, &sent{letter: l.number, refused: err})
		}
		for _, p := range previews {
			all = append(all, &sent{letter: l.number, preview: p})
		}
	}
	var barrier sync.WaitGroup
	for _, s := range all {
		if s.preview.Document == nil {
			continue
		}
		s.document = *s.preview.Document
		s.document.Done = func(_ *sink.Document, r sink.Result) {
			s.result = r
			barrier.Done()
		}
		barrier.Add(1)
		if err = w.Submit(ctx, &s.document); err != nil {
			barrier.Done()
			break
		}
	}
	barrier.Wait()
	for _, s := range all {
		fate, ok := s.fate()
		if !ok {
			failed++
		}
		fmt.Fprintf(out, "%6d  %s\n", s.letter, fate)
	}
	return failed, err
}

// fate is what has become of a position, in words, and whether that is well.
func (s *sent) fate() (words string, ok bool) {
	switch p := s.preview; {
	case s.refused != nil:
		return "refused        " + s.refused.Error(), false
	case p.Fate == processor.Superseded:
		return fmt.Sprintf("superseded     %s, by a newer position of the same message", printable(p.DeviceID)), true
	case p.Document == nil:
		return fmt.Sprintf("%-14s %s: %s", p.Fate, p.Reason, printable(fmt.Sprint(p.Err))), false
	}
	switch r := s.result; r.Outcome {
	case sink.Written:
		return "written        " + printable(s.preview.DeviceID), true
	case sink.Superseded:
		return fmt.Sprintf("superseded     %s, by what is stored", printable(s.preview.DeviceID)), true
	case sink.Stale:
		return fmt.Sprintf("stale          %s: older than --max-age; --ignore-age writes it nevertheless", printable(s.preview.DeviceID)), false
	default:
		return fmt.Sprintf("%-14s %s: %v", r.Outcome, printable(s.preview.DeviceID), r.Err), false
	}
}
