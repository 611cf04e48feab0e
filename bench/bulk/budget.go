package main

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"warmpath/bench/report"
	"warmpath/sink/bulk"
)

// Provisioned are the request units of the limited store.
const (
	limitedRanges = 5
	unitsPerRange = 1000
)

// use is how a limited store was used.
type use struct {
	units, throttled float64 // per cent of what was provisioned, and of operations tried
}

// measureBudget writes without end against 5 x 1,000 request units a second,
// with charges that vary by 30 %, under both ways of measuring a second.
func (s *settings) measureBudget(ctx context.Context, r *report.Report) error {
	windows := []string{"fixed seconds", "sliding window"}
	uses := make([][]use, len(windows))
	for range s.Runs {
		for i := range windows {
			u, err := s.useBudget(ctx, i == 1)
			if err != nil {
				return fmt.Errorf("%s: %w", windows[i], err)
			}
			uses[i] = append(uses[i], u)
		}
	}
	for i, name := range windows {
		prefix := fmt.Sprintf("%d x %d RU/s, %s: ", limitedRanges, unitsPerRange, name)
		r.Add(prefix+"used", "%", each(uses[i], func(u use) float64 { return u.units }))
		r.Add(prefix+"refused", "%", each(uses[i], func(u use) float64 { return u.throttled }))
	}
	return nil
}

func (s *settings) useBudget(ctx context.Context, sliding bool) (_ use, err error) {
	flags := []string{"--ranges", strconv.Itoa(limitedRanges), "--ru", strconv.Itoa(unitsPerRange)}
	if sliding {
		flags = append(flags, "--sliding")
	}
	child, connection, err := startStore(ctx, flags...)
	if err != nil {
		return use{}, err
	}
	defer func() { err = errors.Join(err, child.Close()) }()
	w, err := open(ctx, connection, bulk.DefaultConfig())
	if err != nil {
		return use{}, err
	}
	hard, stop := context.WithCancel(ctx)
	w.Start(hard)
	names, bodies := documents()
	var written atomic.Int64
	done := func(_ *bulk.Operation, r bulk.Result) {
		if r.Err == nil {
			written.Add(1)
		}
	}
	var workers sync.WaitGroup
	for start := range 64 {
		workers.Go(func() {
			for i := start; ; i = (i + 64) % devices {
				if w.Submit(hard, &bulk.Operation{Key: bulk.StringKey(names[i]), ID: names[i], Body: bodies[i], Done: done}) != nil {
					return
				}
			}
		})
	}
	defer func() {
		stop()
		workers.Wait()
		w.Close()
	}()
	before, err := read(child)
	if err != nil {
		return use{}, err
	}
	began := written.Load()
	time.Sleep(s.Budget)
	after, err := read(child)
	if err != nil {
		return use{}, err
	}
	took := after.At.Sub(before.At).Seconds()
	throttled := float64(after.Throttled - before.Throttled)
	tried := float64(written.Load()-began) + throttled
	return use{
		units:     100 * (after.Units - before.Units) / took / (limitedRanges * unitsPerRange),
		throttled: 100 * throttled / tried,
	}, nil
}
