package fleet

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/messaging/azeventhubs/v2"
)

// publish sends events of one device in their order, as often as it takes. It
// returns an error if the context ended before the hub acknowledged them all, or
// if no repeating can mend it. The census gets to know of every event that was
// handed to the hub, whichever way it ends.
func (s *Sender) publish(ctx context.Context, events []Event) error {
	attempts := make([]int, len(events)) // per event: a batch may hold fewer the next time
	failures := 0                        // in a row
	for len(events) > 0 {
		if ctx.Err() != nil {
			return errors.Join(ctx.Err(), s.record(events, attempts, false))
		}
		n, err := s.attempt(ctx, events, attempts)
		if err == nil {
			failures = 0
			s.tracker.acknowledged(events[:n])
			if err := s.record(events[:n], attempts, true); err != nil {
				return err
			}
			events, attempts = events[n:], attempts[n:]
			continue
		}
		s.tracker.failed()
		if hopeless(err) {
			err = fmt.Errorf("send of %s: %w", events[0].ID(), err)
			return errors.Join(err, s.record(events, attempts, false))
		}
		failures++
		s.warnings.Do(func() {
			s.logger.LogAttrs(ctx, slog.LevelWarn, "send failed, repeating it",
				slog.String("event", events[0].ID()), slog.Int("failures", failures), slog.Any("error", err))
		})
		wait(ctx, s.pause(failures))
	}
	return nil
}

// attempt hands as many of the events to the hub as one batch holds, and returns
// their number when the hub has acknowledged them. It counts the attempt for
// each event that the hub may have afterwards.
func (s *Sender) attempt(ctx context.Context, events []Event, attempts []int) (int, error) {
	// A send that is cut off leaves it open what the hub has. So the end of the
	// context only keeps new sends from starting.
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), s.cfg.AttemptTimeout)
	defer cancel()
	key := events[0].DeviceID
	batch, err := s.producer.NewEventDataBatch(ctx, &azeventhubs.EventDataBatchOptions{PartitionKey: &key})
	if err != nil {
		return 0, err
	}
	now, n := s.now(), 0
	for n < min(len(events), s.cfg.BatchEvents) {
		err := batch.AddAMQPAnnotatedMessage(events[n].message(now), nil)
		if n > 0 && errors.Is(err, azeventhubs.ErrEventDataTooLarge) {
			break
		}
		if err != nil {
			return 0, err
		}
		n++
	}
	for i := range n {
		attempts[i]++
	}
	return n, s.producer.SendEventDataBatch(ctx, batch, nil)
}

// hopeless reports whether an error stays whatever is repeated: an event that is
// too large for the hub, and credentials that it does not accept.
func hopeless(err error) bool {
	if errors.Is(err, azeventhubs.ErrEventDataTooLarge) {
		return true
	}
	hub, ok := errors.AsType[*azeventhubs.Error](err)
	return ok && hub.Code == azeventhubs.ErrorCodeUnauthorizedAccess
}

// pause is how long to wait after so many failures in a row. It is drawn from
// the upper half of the doubled delay, so that lanes do not come back in step.
func (s *Sender) pause(failures int) time.Duration {
	delay := s.cfg.RetryDelay
	for ; failures > 1 && delay < s.cfg.MaxRetryDelay; failures-- {
		delay *= 2
	}
	delay = min(delay, s.cfg.MaxRetryDelay)
	return delay/2 + rand.N(delay/2+1)
}

// record tells the census what became of events.
func (s *Sender) record(events []Event, attempts []int, acknowledged bool) error {
	for i := range events {
		if err := s.census.Record(&events[i], Outcome{Acknowledged: acknowledged, Attempts: attempts[i]}); err != nil {
			return err
		}
	}
	return nil
}
