package app

import (
	"context"
	"errors"

	"warmpath/processor"
	"warmpath/sink"
	"warmpath/sink/bulk"
)

// writer is how documents reach the container.
type writer interface {
	processor.Sink
	Ready() error
	Close()
}

// openWriter opens the writer that the settings ask for. auto takes bulk, and
// says so once when it has to do without.
func (a *App) openWriter(ctx, hard context.Context, container *sink.Container) (writer, error) {
	c := &a.config
	if c.Writer != "point" {
		w, err := sink.OpenBulk(ctx, hard, c.container(a.credential), c.bulk(), a.tel, a.log, a.now)
		if err == nil {
			return w, nil
		}
		if c.Writer == "bulk" || !errors.Is(err, bulk.ErrNotSupported) {
			return nil, err
		}
		a.log.Warn("documents are written one by one, bulk is not possible here", "reason", err)
	}
	if c.guarded() {
		container.Guarded(remember)
	}
	return sink.NewPool(hard, c.pool(), container, a.tel, a.log, a.now)
}
