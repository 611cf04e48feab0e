package fleet

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/messaging/azeventhubs/v2"
	"golang.org/x/sync/errgroup"
	"golang.org/x/time/rate"
)

// Producer is what a Sender needs of an *azeventhubs.ProducerClient. All lanes
// share it. Its own retries should be off, see Dial.
type Producer interface {
	NewEventDataBatch(context.Context, *azeventhubs.EventDataBatchOptions) (*azeventhubs.EventDataBatch, error)
	SendEventDataBatch(context.Context, *azeventhubs.EventDataBatch, *azeventhubs.SendEventDataBatchOptions) error
}

// Dial returns a client for a Sender. It connects with the first sending. hub is
// empty if the connection string names the hub as EntityPath. The client does
// not repeat a send that failed: the Sender does, and accounts for it.
func Dial(connectionString, hub string) (*azeventhubs.ProducerClient, error) {
	client, err := azeventhubs.NewProducerClientFromConnectionString(connectionString, hub,
		&azeventhubs.ProducerClientOptions{RetryOptions: azeventhubs.RetryOptions{MaxRetries: -1}})
	if err != nil {
		return nil, fmt.Errorf("fleet's producer for hub %q: %w", hub, err)
	}
	return client, nil
}

// SenderConfig says how events are sent.
type SenderConfig struct {
	// Lanes is how many batches are on their way at the same time, 1 to 1,024.
	// A drone always has the same lane.
	Lanes int
	// BatchEvents is the most events in one batch, 1 to 10,000. All events of a
	// batch are of one drone.
	BatchEvents int
	// LateAfter is how long after its due time an event can be sent without
	// counting as late, 1 ms to 1 h.
	LateAfter time.Duration
	// AttemptTimeout is how long the hub has to acknowledge a batch, 100 ms to
	// 10 min. When the context ends, a batch that is on its way still has the
	// rest of it.
	AttemptTimeout time.Duration
	// RetryDelay is the pause after a batch has failed, 1 ms to 1 min. It
	// doubles with each failure in a row up to MaxRetryDelay, at most 10 min.
	RetryDelay, MaxRetryDelay time.Duration
}

// warnEvery is the least time between two log lines on failed sends.
const warnEvery = 5 * time.Second

// DefaultSenderConfig returns settings that keep 1,000 drones of the default
// fleet on time across an ocean.
func DefaultSenderConfig() SenderConfig {
	return SenderConfig{
		Lanes:          32,
		BatchEvents:    100,
		LateAfter:      50 * time.Millisecond,
		AttemptTimeout: 10 * time.Second,
		RetryDelay:     100 * time.Millisecond,
		MaxRetryDelay:  5 * time.Second,
	}
}

// Validate returns an error that names every field with a value that is not
// allowed, and what is.
func (c *SenderConfig) Validate() error {
	var r refusals
	r.within("Lanes", float64(c.Lanes), 1, 1024, "")
	r.within("BatchEvents", float64(c.BatchEvents), 1, 10_000, "")
	r.lasting("LateAfter", c.LateAfter, time.Millisecond, time.Hour)
	r.lasting("AttemptTimeout", c.AttemptTimeout, 100*time.Millisecond, 10*time.Minute)
	r.lasting("RetryDelay", c.RetryDelay, time.Millisecond, time.Minute)
	r.lasting("MaxRetryDelay", c.MaxRetryDelay, c.RetryDelay, 10*time.Minute)
	return r.err()
}

// Sender sends the events of a fleet to a hub and tells a census what became of
// them. It is safe for concurrent use, as long as one drone is not sent by two
// calls at a time.
type Sender struct {
	producer Producer
	census   *Census
	cfg      SenderConfig
	now      func() time.Time
	logger   *slog.Logger
	tracker  tracker
	warnings rate.Sometimes // an outage fails every lane again and again
}

// NewSender returns a Sender, or what SenderConfig.Validate says. The clock is
// that of the fleet's schedule, time.Now but for tests.
func NewSender(producer Producer, census *Census, cfg SenderConfig, now func() time.Time, logger *slog.Logger) (*Sender, error) {
	if err := cfg.Validate(); err != nil {
		return nil, fmt.Errorf("sender settings: %w", err)
	}
	return &Sender{producer: producer, census: census, cfg: cfg, now: now, logger: logger,
		warnings: rate.Sometimes{First: 1, Interval: warnEvery}}, nil
}

// Stats returns what was sent so far, and how.
func (s *Sender) Stats() Stats { return s.tracker.snapshot() }

// Run sends the events of a fleet when they are due, from its start on, until
// the context ends. It returns when all its sends have ended: nil then, or the
// first error that no repeating can mend, which ends the sending as well. What
// the hub had not acknowledged by then, Stats and the census say.
func (s *Sender) Run(ctx context.Context, f *Fleet) error {
	group, sending := errgroup.WithContext(ctx)
	lanes := min(s.cfg.Lanes, f.Size())
	for first := range lanes {
		l := lane{now: s.now, deliver: s.deliverDue}
		for i := first; i < f.Size(); i += lanes {
			l.pace.drones = append(l.pace.drones, f.Drone(i))
		}
		group.Go(func() error { return l.run(sending) })
	}
	err := group.Wait()
	if ctx.Err() != nil && errors.Is(err, ctx.Err()) {
		return nil
	}
	return err
}

// deliverDue sends events of the schedule and takes note of the late ones.
func (s *Sender) deliverDue(ctx context.Context, events []Event) error {
	for _, part := range byDevice(events) {
		if ctx.Err() != nil {
			return ctx.Err()
		}
		s.tracker.begin(part, s.now(), s.cfg.LateAfter)
		if err := s.publish(ctx, part); err != nil {
			return err
		}
	}
	return nil
}

// SendAll sends events as fast as it can, the events of one drone in the order
// of the slice. It returns nil when the hub has acknowledged them all, and an
// error when the context ends before that, or with the first error that no
// repeating can mend.
func (s *Sender) SendAll(ctx context.Context, events []Event) error {
	lanes := make([][]Event, s.cfg.Lanes)
	for _, e := range events {
		i := e.Drone % len(lanes)
		lanes[i] = append(lanes[i], e)
	}
	group, sending := errgroup.WithContext(ctx)
	for _, lane := range lanes {
		group.Go(func() error { return s.deliverAll(sending, lane) })
	}
	if err := group.Wait(); err != nil {
		return fmt.Errorf("burst of %d events: %w", len(events), err)
	}
	return nil
}

// deliverAll sends events that have no schedule.
func (s *Sender) deliverAll(ctx context.Context, events []Event) error {
	for some := range slices.Chunk(events, chunk) {
		for _, part := range byDevice(some) {
			if err := s.publish(ctx, part); err != nil {
				return err
			}
		}
	}
	return nil
}
