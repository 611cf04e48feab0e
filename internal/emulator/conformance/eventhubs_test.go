package conformance

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/messaging/azeventhubs/v2"
)

func hubChecks() []check {
	return []check{
		{"hub/properties", hubProperties},
		{"hub/batch-by-partition-id", batchByPartitionID},
		{"hub/batch-by-partition-key", batchByPartitionKey},
		{"hub/large-event", largeEvent},
		{"hub/start-positions", startPositions},
		{"hub/start-latest", startLatest},
		{"hub/stealing", stealing},
		{"hub/subscribe-all", subscribeAll},
	}
}

// object is JSON of no fixed form.
type object map[string]any

// note is the body of an event: which run and check sent it, and its number.
type note struct {
	Mark string `json:"mark"`
	N    int    `json:"n"`
}

// hubClients are a producer and a consumer of the target's hub.
type hubClients struct {
	producer *azeventhubs.ProducerClient
	consumer *azeventhubs.ConsumerClient
	mark     string // of this check's events
}

func openHub(to target, check string) (*hubClients, error) {
	retry := azeventhubs.RetryOptions{MaxRetries: 3, RetryDelay: 300 * time.Millisecond}
	producer, err := azeventhubs.NewProducerClientFromConnectionString(to.HubConnection, to.Hub, &azeventhubs.ProducerClientOptions{RetryOptions: retry})
	if err != nil {
		return nil, err
	}
	consumer, err := azeventhubs.NewConsumerClientFromConnectionString(to.HubConnection, to.Hub, azeventhubs.DefaultConsumerGroup,
		&azeventhubs.ConsumerClientOptions{RetryOptions: retry})
	if err != nil {
		return nil, err
	}
	return &hubClients{producer, consumer, to.Run + "-go-" + check}, nil
}

func (h *hubClients) close() {
	_ = h.producer.Close(context.Background())
	_ = h.consumer.Close(context.Background())
}

// send publishes notes from to to-1 as one batch.
func (h *hubClients) send(ctx context.Context, o *azeventhubs.EventDataBatchOptions, from, to int) error {
	batch, err := h.producer.NewEventDataBatch(ctx, o)
	if err != nil {
		return fmt.Errorf("new batch: %w", err)
	}
	for n := from; n < to; n++ {
		body, err := json.Marshal(note{h.mark, n})
		if err != nil {
			return err
		}
		if err := batch.AddEventData(&azeventhubs.EventData{Body: body}, nil); err != nil {
			return fmt.Errorf("add event %d: %w", n, err)
		}
	}
	return h.producer.SendEventDataBatch(ctx, batch, nil)
}

// own returns the number of an event if this check sent it.
func (h *hubClients) own(e *azeventhubs.ReceivedEventData) (n int, ok bool) {
	var have note
	if json.Unmarshal(e.Body, &have) != nil || have.Mark != h.mark {
		return 0, false
	}
	return have.N, true
}

// read receives this check's events from a position on, until the one with the
// last number.
func (h *hubClients) read(ctx context.Context, partition string, start azeventhubs.StartPosition, last int) ([]*azeventhubs.ReceivedEventData, error) {
	client, err := h.consumer.NewPartitionClient(partition, &azeventhubs.PartitionClientOptions{StartPosition: start})
	if err != nil {
		return nil, err
	}
	defer func() { _ = client.Close(context.Background()) }()
	var own []*azeventhubs.ReceivedEventData
	for {
		events, err := receive(ctx, client, 100)
		if err != nil {
			return nil, fmt.Errorf("receive from %s: %w", partition, err)
		}
		for _, e := range events {
			if n, ok := h.own(e); ok {
				if own = append(own, e); n == last {
					return own, nil
				}
			}
		}
	}
}

// receive returns what comes in a short time; nothing is no error.
func receive(ctx context.Context, client *azeventhubs.PartitionClient, most int) ([]*azeventhubs.ReceivedEventData, error) {
	short, cancel := context.WithTimeout(ctx, 200*time.Millisecond)
	defer cancel()
	events, err := client.ReceiveEvents(short, most, nil)
	if err != nil && errors.Is(err, context.DeadlineExceeded) && ctx.Err() == nil {
		return nil, nil
	}
	return events, err
}

// numbers are what is compared of events.
func (h *hubClients) numbers(events []*azeventhubs.ReceivedEventData) []int {
	all := []int{}
	for _, e := range events {
		if n, ok := h.own(e); ok {
			all = append(all, n)
		}
	}
	return all
}

func hubProperties(ctx context.Context, to target) (any, error) {
	h, err := openHub(to, "properties")
	if err != nil {
		return nil, err
	}
	defer h.close()
	hub, err := h.consumer.GetEventHubProperties(ctx, nil)
	if err != nil {
		return nil, err
	}
	described := 0
	for _, id := range hub.PartitionIDs {
		p, err := h.producer.GetPartitionProperties(ctx, id, nil)
		if err != nil {
			return nil, err
		}
		if p.EventHubName == to.Hub && p.PartitionID == id && p.LastEnqueuedSequenceNumber >= p.BeginningSequenceNumber-1 {
			described++
		}
	}
	return object{
		"named":               hub.Name == to.Hub,
		"created":             hub.CreatedOn.Before(time.Now().Add(time.Minute)) && hub.CreatedOn.Year() > 2000,
		"partitionsFrom":      hub.PartitionIDs[0],
		"severalPartitions":   len(hub.PartitionIDs) > 1,
		"allPartitionsAnswer": described == len(hub.PartitionIDs),
	}, nil
}

func batchByPartitionID(ctx context.Context, to target) (any, error) {
	h, err := openHub(to, "id")
	if err != nil {
		return nil, err
	}
	defer h.close()
	before, err := h.consumer.GetPartitionProperties(ctx, "1", nil)
	if err != nil {
		return nil, err
	}
	if err := h.send(ctx, &azeventhubs.EventDataBatchOptions{PartitionID: pointer("1")}, 0, 5); err != nil {
		return nil, err
	}
	events, err := h.read(ctx, "1", after(before), 4)
	if err != nil {
		return nil, err
	}
	keys := 0
	for _, e := range events {
		if e.PartitionKey != nil {
			keys++
		}
	}
	return object{"events": h.numbers(events), "contiguous": contiguous(events), "withKey": keys}, nil
}

func batchByPartitionKey(ctx context.Context, to target) (any, error) {
	h, err := openHub(to, "key")
	if err != nil {
		return nil, err
	}
	defer h.close()
	before, err := h.positions(ctx)
	if err != nil {
		return nil, err
	}
	for n := range 3 {
		if err := h.send(ctx, &azeventhubs.EventDataBatchOptions{PartitionKey: pointer("drone-7 é")}, 2*n, 2*n+2); err != nil {
			return nil, err
		}
	}
	// Whichever partition the service chose holds all; the others got nothing
	// from us.
	var partitions int
	var found []*azeventhubs.ReceivedEventData
	for id, p := range before {
		now, err := h.consumer.GetPartitionProperties(ctx, id, nil)
		if err != nil {
			return nil, err
		}
		if now.LastEnqueuedSequenceNumber == p.LastEnqueuedSequenceNumber {
			continue
		}
		partitions++
		if found, err = h.read(ctx, id, after(p), 5); err != nil {
			return nil, err
		}
	}
	var keys []string
	for _, e := range found {
		if e.PartitionKey != nil {
			keys = append(keys, *e.PartitionKey)
		}
	}
	return object{"partitions": partitions, "events": h.numbers(found), "keys": slices.Compact(keys)}, nil
}

func largeEvent(ctx context.Context, to target) (any, error) {
	h, err := openHub(to, "large")
	if err != nil {
		return nil, err
	}
	defer h.close()
	before, err := h.consumer.GetPartitionProperties(ctx, "0", nil)
	if err != nil {
		return nil, err
	}
	batch, err := h.producer.NewEventDataBatch(ctx, &azeventhubs.EventDataBatchOptions{PartitionID: pointer("0")})
	if err != nil {
		return nil, err
	}
	large := bytes.Repeat([]byte("0123456789abcdef"), 200_000/16)
	err = batch.AddEventData(&azeventhubs.EventData{Body: large, Properties: map[string]any{"kind": "large"}, ContentType: pointer("text/plain")}, nil)
	if err != nil {
		return nil, err
	}
	if err := h.producer.SendEventDataBatch(ctx, batch, nil); err != nil {
		return nil, err
	}
	client, err := h.consumer.NewPartitionClient("0", &azeventhubs.PartitionClientOptions{StartPosition: after(before)})
	if err != nil {
		return nil, err
	}
	defer func() { _ = client.Close(context.Background()) }()
	events, err := client.ReceiveEvents(ctx, 1, nil)
	if err != nil {
		return nil, err
	}
	e := events[0]
	return object{"bytes": len(e.Body), "sha256": fmt.Sprintf("%x", sha256.Sum256(e.Body)),
		"property": e.Properties["kind"], "contentType": e.ContentType}, nil
}

func stealing(ctx context.Context, to target) (any, error) {
	h, err := openHub(to, "steal")
	if err != nil {
		return nil, err
	}
	defer h.close()
	before, err := h.consumer.GetPartitionProperties(ctx, "1", nil)
	if err != nil {
		return nil, err
	}
	if err := h.send(ctx, &azeventhubs.EventDataBatchOptions{PartitionID: pointer("1")}, 0, 3); err != nil {
		return nil, err
	}
	open := func(level int64) (*azeventhubs.PartitionClient, error) {
		return h.consumer.NewPartitionClient("1", &azeventhubs.PartitionClientOptions{StartPosition: after(before), OwnerLevel: &level})
	}
	victim, err := open(1)
	if err != nil {
		return nil, err
	}
	defer func() { _ = victim.Close(context.Background()) }()
	held, err := victim.ReceiveEvents(ctx, 3, nil)
	if err != nil {
		return nil, fmt.Errorf("victim, before: %w", err)
	}
	thief, err := open(2)
	if err != nil {
		return nil, err
	}
	defer func() { _ = thief.Close(context.Background()) }()
	stolen, err := thief.ReceiveEvents(ctx, 3, nil)
	if err != nil {
		return nil, fmt.Errorf("thief: %w", err)
	}
	_, err = victim.ReceiveEvents(ctx, 1, nil)
	var lost *azeventhubs.Error
	return object{"victimBefore": h.numbers(held), "thief": h.numbers(stolen),
		"victimLost": errors.As(err, &lost) && lost.Code == azeventhubs.ErrorCodeOwnershipLost}, nil
}

// positions describes all partitions.
func (h *hubClients) positions(ctx context.Context) (map[string]azeventhubs.PartitionProperties, error) {
	hub, err := h.consumer.GetEventHubProperties(ctx, nil)
	if err != nil {
		return nil, err
	}
	all := make(map[string]azeventhubs.PartitionProperties)
	for _, id := range hub.PartitionIDs {
		if all[id], err = h.consumer.GetPartitionProperties(ctx, id, nil); err != nil {
			return nil, err
		}
	}
	return all, nil
}

// sortedPartitions are the ids in order.
func sortedPartitions(all map[string]azeventhubs.PartitionProperties) []string {
	return slices.Sorted(maps.Keys(all))
}

// after is the position behind what a partition held.
func after(p azeventhubs.PartitionProperties) azeventhubs.StartPosition {
	return azeventhubs.StartPosition{SequenceNumber: &p.LastEnqueuedSequenceNumber}
}

func contiguous(events []*azeventhubs.ReceivedEventData) bool {
	for i := 1; i < len(events); i++ {
		if events[i].SequenceNumber != events[i-1].SequenceNumber+1 {
			return false
		}
	}
	return true
}

func pointer[T any](v T) *T { return &v }
