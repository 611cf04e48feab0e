package main

import (
	"context"
	"fmt"
	"time"

	"warmpath/telemetry"
)

// report prints a line every interval until the context ends: counters from the
// start, percentiles and throttles of the interval alone.
func report(ctx context.Context, tel *telemetry.Telemetry, every time.Duration) {
	fmt.Println("    time  received   written  superseded  dropped  dead-lettered  in flight  write freshness p50 / p99   429s")
	ticker := time.NewTicker(every)
	defer ticker.Stop()
	var freshness telemetry.Distribution
	var throttled int64
	for {
		select {
		case <-ctx.Done():
			return
		case now := <-ticker.C:
			t := tel.Ledger.Snapshot().Total()
			latest, throttles := tel.WriteFreshness.Read(), tel.ThrottledTotal()
			window := latest.Since(freshness)
			fmt.Printf("%s  %8d  %8d  %10d  %7d  %13d  %9d  %12v / %-10v  %5d\n", now.Format(time.TimeOnly),
				t.Received, t.Written, t.Superseded, t.DroppedTotal(), t.DeadLetteredTotal(), t.InFlight,
				window.Percentile(50).Round(100*time.Microsecond), window.Percentile(99).Round(100*time.Microsecond), throttles-throttled)
			freshness, throttled = latest, throttles
		}
	}
}
