package conformance

import (
	"context"
	"fmt"
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/messaging/azeventhubs/v2"
)

func startPositions(ctx context.Context, to target) (any, error) {
	h, err := openHub(to, "start")
	if err != nil {
		return nil, err
	}
	defer h.close()
	for n := range 5 {
		if err := h.send(ctx, &azeventhubs.EventDataBatchOptions{PartitionID: pointer("0")}, n, n+1); err != nil {
			return nil, err
		}
		time.Sleep(10 * time.Millisecond) // so that enqueued times differ
	}
	all, err := h.read(ctx, "0", azeventhubs.StartPosition{Earliest: pointer(true)}, 4)
	if err != nil {
		return nil, err
	}
	if len(all) != 5 {
		return nil, fmt.Errorf("%d of 5 events from the start", len(all))
	}
	mid := all[2]
	// The JavaScript client has no inclusive enqueued time: it asks for what is
	// later than a millisecond before.
	positions := map[string]azeventhubs.StartPosition{
		"earliest":          {Earliest: pointer(true)},
		"offset":            {Offset: &mid.Offset},
		"offsetInclusive":   {Offset: &mid.Offset, Inclusive: true},
		"sequence":          {SequenceNumber: &mid.SequenceNumber},
		"sequenceInclusive": {SequenceNumber: &mid.SequenceNumber, Inclusive: true},
		"enqueued":          {EnqueuedTime: mid.EnqueuedTime},
		"enqueuedInclusive": {EnqueuedTime: mid.EnqueuedTime, Inclusive: true},
	}
	seen := object{}
	for name, position := range positions {
		events, err := h.read(ctx, "0", position, 4)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
		seen[name] = h.numbers(events)
	}
	return seen, nil
}

func startLatest(ctx context.Context, to target) (any, error) {
	h, err := openHub(to, "latest")
	if err != nil {
		return nil, err
	}
	defer h.close()
	if err := h.send(ctx, &azeventhubs.EventDataBatchOptions{PartitionID: pointer("0")}, 0, 10); err != nil {
		return nil, err
	}
	client, err := h.consumer.NewPartitionClient("0", &azeventhubs.PartitionClientOptions{StartPosition: azeventhubs.StartPosition{Latest: pointer(true)}})
	if err != nil {
		return nil, err
	}
	defer func() { _ = client.Close(context.Background()) }()
	// Nobody tells when the link is up, so events are sent until one arrives.
	for n := 10; ; n++ {
		events, err := receive(ctx, client, 1)
		if err != nil {
			return nil, err
		}
		if got := h.numbers(events); len(got) > 0 {
			return object{"old": got[0] < 10, "new": got[0] >= 10}, nil
		}
		if err := h.send(ctx, &azeventhubs.EventDataBatchOptions{PartitionID: pointer("0")}, n, n+1); err != nil {
			return nil, err
		}
	}
}
