package local

import (
	"context"
	"fmt"
	"time"

	"warmpath/telemetry"
)

// WaitSettled waits until every event that the hub holds is settled by the
// service whose ledger is given, at most for the given time.
func (w *World) WaitSettled(ctx context.Context, ledger *telemetry.Ledger, atMost time.Duration) error {
	ctx, cancel := context.WithTimeout(ctx, atMost)
	defer cancel()
	for {
		waiting, err := w.unsettled(ledger.Snapshot())
		if err != nil || waiting == "" {
			return err
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("the service has not settled all within %v: %s", atMost, waiting)
		case <-time.After(10 * time.Millisecond):
		}
	}
}

// unsettled names the first partition that holds more than is settled.
func (w *World) unsettled(s telemetry.Snapshot) (string, error) {
	rows := map[string]telemetry.Row{}
	for _, r := range s.Partitions {
		rows[r.Partition] = r
	}
	for _, partition := range w.partitions {
		info, err := w.Hub.PartitionInfo(Hub, partition)
		if err != nil {
			return "", err
		}
		row, known := rows[partition]
		settled := int64(-1)
		if known {
			settled = row.LastSettled
		}
		if info.LastSequence > settled {
			return fmt.Sprintf("partition %s is settled up to %d of %d", partition, settled, info.LastSequence), nil
		}
	}
	return "", nil
}
