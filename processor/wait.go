package processor

import (
	"context"
	"time"

	"github.com/cenkalti/backoff/v5"
)

// newBackOff returns jittered, doubling waits between first and most.
func newBackOff(first, most time.Duration) *backoff.ExponentialBackOff {
	return &backoff.ExponentialBackOff{
		InitialInterval:     first,
		RandomizationFactor: backoff.DefaultRandomizationFactor,
		Multiplier:          2,
		MaxInterval:         most,
	}
}

// sleep waits for d or for the context's end, whose error it returns.
func sleep(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-timer.C:
		return nil
	}
}
