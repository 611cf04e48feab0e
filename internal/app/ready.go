package app

import (
	"errors"
	"sync/atomic"
)

// readiness asks whatever is in charge at the moment. Its zero value is "starting".
type readiness struct {
	checks atomic.Pointer[[]func() error]
}

// use replaces the checks.
func (r *readiness) use(checks ...func() error) { r.checks.Store(&checks) }

// check returns the first reason why the service is not ready, or nil.
func (r *readiness) check() error {
	checks := r.checks.Load()
	if checks == nil {
		return errors.New("the service is starting")
	}
	for _, c := range *checks {
		if err := c(); err != nil {
			return err
		}
	}
	return nil
}
