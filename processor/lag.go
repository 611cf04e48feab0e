package processor

import (
	"context"
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/messaging/azeventhubs/v2"
)

// watchLag asks the hub for the last sequence number of every owned partition,
// one after the other, until the context ends or the hub refuses the key; it
// returns why. The SDK ignores the caller's
// deadline in this call, so a slow answer delays the next question and the end.
func (p *Processor) watchLag(ctx context.Context, client *azeventhubs.ConsumerClient) error {
	ticker := time.NewTicker(p.config.LagInterval)
	defer ticker.Stop()
	for {
		for _, row := range p.tel.Ledger.Snapshot().Partitions {
			if !row.Owned || ctx.Err() != nil {
				continue
			}
			properties, err := client.GetPartitionProperties(ctx, row.Partition, nil)
			if unauthorized(err) {
				return err
			}
			if err != nil {
				p.log.Debug("lag is unknown", "partition", row.Partition, "error", err)
				continue
			}
			p.tel.Ledger.Partition(row.Partition).SetLastEnqueued(properties.LastEnqueuedSequenceNumber)
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-ticker.C:
		}
	}
}
