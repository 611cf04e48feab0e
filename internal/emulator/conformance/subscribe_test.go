package conformance

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/messaging/azeventhubs/v2"
	"github.com/Azure/azure-sdk-for-go/sdk/messaging/azeventhubs/v2/checkpoints"
	"github.com/Azure/azure-sdk-for-go/sdk/storage/azblob/container"
)

// subscribedEvents is how many events every partition gets.
const subscribedEvents = 50

// subscribeAll lets the client's own load balancer read all partitions, with
// checkpoints in blobs.
func subscribeAll(ctx context.Context, to target) (any, error) {
	h, err := openHub(to, "subscribe")
	if err != nil {
		return nil, err
	}
	defer h.close()
	before, err := h.positions(ctx)
	if err != nil {
		return nil, err
	}
	starts := azeventhubs.StartPositions{PerPartition: make(map[string]azeventhubs.StartPosition)}
	for i, id := range sortedPartitions(before) {
		starts.PerPartition[id] = after(before[id])
		if err := h.send(ctx, &azeventhubs.EventDataBatchOptions{PartitionID: &id}, i*subscribedEvents, (i+1)*subscribedEvents); err != nil {
			return nil, err
		}
	}
	blobs, err := container.NewClientFromConnectionString(to.Storage, "conformance-go-"+to.Run, nil)
	if err != nil {
		return nil, err
	}
	if _, err := blobs.Create(ctx, nil); err != nil {
		return nil, fmt.Errorf("create blob container: %w", err)
	}
	defer func() { _, _ = blobs.Delete(context.Background(), nil) }()
	store, err := checkpoints.NewBlobStore(blobs, nil)
	if err != nil {
		return nil, err
	}
	got, err := h.process(ctx, store, starts, len(before)*subscribedEvents)
	if err != nil {
		return nil, err
	}
	account, err := azeventhubs.ParseConnectionString(to.HubConnection)
	if err != nil {
		return nil, err
	}
	saved, err := store.ListCheckpoints(ctx, account.FullyQualifiedNamespace, to.Hub, azeventhubs.DefaultConsumerGroup, nil)
	if err != nil {
		return nil, fmt.Errorf("list checkpoints: %w", err)
	}
	atEnd := 0
	for _, c := range saved {
		if c.SequenceNumber != nil && *c.SequenceNumber == before[c.PartitionID].LastEnqueuedSequenceNumber+subscribedEvents {
			atEnd++
		}
	}
	name, metadata, err := checkpointBlob(ctx, blobs, to)
	if err != nil {
		return nil, err
	}
	return object{"blob": name, "metadata": metadata, "each": subscribedEvents, "allOnce": got.once(len(before) * subscribedEvents),
		"allPartitions": len(got.partitions) == len(before), "checkpointsAtEnd": atEnd == len(before)}, nil
}

// checkpointBlob is the form of the first partition's checkpoint. The JavaScript
// client writes names in lower case; this one keeps the case, so that the two
// share checkpoints only where there are no capitals, as in $Default.
func checkpointBlob(ctx context.Context, blobs *container.Client, to target) (name string, metadata []string, err error) {
	pages := blobs.NewListBlobsFlatPager(&container.ListBlobsFlatOptions{Include: container.ListBlobsInclude{Metadata: true}})
	for pages.More() {
		page, err := pages.NextPage(ctx)
		if err != nil {
			return "", nil, fmt.Errorf("list blobs: %w", err)
		}
		for _, blob := range page.Segment.BlobItems {
			if _, after, ok := strings.Cut(*blob.Name, "/"); ok && strings.HasSuffix(after, "/checkpoint/0") {
				for key := range blob.Metadata {
					metadata = append(metadata, strings.ToLower(key))
				}
				slices.Sort(metadata)
				return strings.Replace(strings.ToLower(after), strings.ToLower(to.Hub), "HUB", 1), metadata, nil
			}
		}
	}
	return "", nil, errors.New("there is no checkpoint blob of partition 0")
}

// tally counts events by number.
type tally struct {
	mu         sync.Mutex // covers what follows
	times      map[int]int
	partitions map[string]bool
}

func (t *tally) add(partition string, numbers []int) (distinct int) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, n := range numbers {
		t.times[n]++
		t.partitions[partition] = true
	}
	return len(t.times)
}

// once tells whether the events 0 to n-1 came once each.
func (t *tally) once(n int) bool {
	for i := range n {
		if t.times[i] != 1 {
			return false
		}
	}
	return len(t.times) == n
}

// process runs a processor until n different events have come.
func (h *hubClients) process(ctx context.Context, store azeventhubs.CheckpointStore, starts azeventhubs.StartPositions, n int) (*tally, error) {
	p, err := azeventhubs.NewProcessor(h.consumer, store, &azeventhubs.ProcessorOptions{
		LoadBalancingStrategy: azeventhubs.ProcessorStrategyGreedy,
		UpdateInterval:        200 * time.Millisecond,
		StartPositions:        starts,
	})
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	got := &tally{times: make(map[int]int), partitions: make(map[string]bool)}
	var running sync.WaitGroup
	running.Go(func() {
		for client := p.NextPartitionClient(ctx); client != nil; client = p.NextPartitionClient(ctx) {
			running.Go(func() {
				defer func() { _ = client.Close(context.Background()) }()
				if h.drain(ctx, client, got, n) {
					cancel()
				}
			})
		}
	})
	err = p.Run(ctx)
	running.Wait()
	if err != nil && !errors.Is(err, context.Canceled) {
		return nil, fmt.Errorf("processor: %w", err)
	}
	return got, nil
}

// drain reads a partition and keeps its checkpoint up until ctx ends or all n
// events have come, which it reports.
func (h *hubClients) drain(ctx context.Context, client *azeventhubs.ProcessorPartitionClient, got *tally, n int) (all bool) {
	for ctx.Err() == nil {
		short, cancel := context.WithTimeout(ctx, 100*time.Millisecond)
		events, err := client.ReceiveEvents(short, 100, nil)
		cancel()
		if len(events) > 0 {
			if err := client.UpdateCheckpoint(context.WithoutCancel(ctx), events[len(events)-1], nil); err != nil {
				return false
			}
		}
		if got.add(client.PartitionID(), h.numbers(events)) == n {
			return true
		}
		if err != nil && !errors.Is(err, context.DeadlineExceeded) {
			return false
		}
	}
	return false
}
