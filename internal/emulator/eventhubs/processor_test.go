package eventhubs_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore"
	"github.com/Azure/azure-sdk-for-go/sdk/messaging/azeventhubs/v2"

	"warmpath/internal/emulator/eventhubs"
)

// store keeps ownerships and checkpoints in memory, with ETags that work.
type store struct {
	mu          sync.Mutex
	version     int
	owners      map[string]azeventhubs.Ownership
	checkpoints map[string]azeventhubs.Checkpoint
}

func newStore() *store {
	return &store{owners: map[string]azeventhubs.Ownership{}, checkpoints: map[string]azeventhubs.Checkpoint{}}
}

func (s *store) ClaimOwnership(_ context.Context, claims []azeventhubs.Ownership, _ *azeventhubs.ClaimOwnershipOptions) ([]azeventhubs.Ownership, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	var won []azeventhubs.Ownership
	for _, claim := range claims {
		have, exists := s.owners[claim.PartitionID]
		if exists && (claim.ETag == nil || *claim.ETag != *have.ETag) {
			continue
		}
		s.version++
		claim.ETag = to(azcore.ETag(fmt.Sprint(s.version)))
		claim.LastModifiedTime = time.Now()
		s.owners[claim.PartitionID] = claim
		won = append(won, claim)
	}
	return won, nil
}

func (s *store) ListOwnership(context.Context, string, string, string, *azeventhubs.ListOwnershipOptions) ([]azeventhubs.Ownership, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	var all []azeventhubs.Ownership
	for _, o := range s.owners {
		all = append(all, o)
	}
	return all, nil
}

func (s *store) ListCheckpoints(context.Context, string, string, string, *azeventhubs.ListCheckpointsOptions) ([]azeventhubs.Checkpoint, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	var all []azeventhubs.Checkpoint
	for _, c := range s.checkpoints {
		all = append(all, c)
	}
	return all, nil
}

func (s *store) SetCheckpoint(_ context.Context, c azeventhubs.Checkpoint, _ *azeventhubs.SetCheckpointOptions) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.checkpoints[c.PartitionID] = c
	return nil
}

// seen counts events by body over several processors.
type seen struct {
	mu     sync.Mutex
	bodies map[string]int
	lost   int // ownerships
}

func (s *seen) add(events []*azeventhubs.ReceivedEventData) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, e := range events {
		s.bodies[string(e.Body)]++
	}
}

func (s *seen) count() (distinct, lost int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.bodies), s.lost
}

// process runs a processor until ctx ends.
func process(ctx context.Context, t *testing.T, s *eventhubs.Server, checkpoints *store, into *seen) {
	c := newConsumer(t, s)
	p, err := azeventhubs.NewProcessor(c, checkpoints, &azeventhubs.ProcessorOptions{
		LoadBalancingStrategy:       azeventhubs.ProcessorStrategyGreedy,
		UpdateInterval:              50 * time.Millisecond,
		PartitionExpirationDuration: 5 * time.Second,
		StartPositions:              azeventhubs.StartPositions{Default: azeventhubs.StartPosition{Earliest: to(true)}},
	})
	if err != nil {
		t.Error(err)
		return
	}
	var running sync.WaitGroup
	running.Go(func() {
		for {
			client := p.NextPartitionClient(ctx)
			if client == nil {
				return
			}
			running.Go(func() {
				defer client.Close(background())
				for {
					short, cancel := context.WithTimeout(ctx, 50*time.Millisecond)
					events, err := client.ReceiveEvents(short, 100, nil)
					cancel()
					into.add(events)
					if len(events) > 0 {
						_ = client.UpdateCheckpoint(background(), events[len(events)-1], nil)
					}
					var lost *azeventhubs.Error
					if errors.As(err, &lost) && lost.Code == azeventhubs.ErrorCodeOwnershipLost {
						into.mu.Lock()
						into.lost++
						into.mu.Unlock()
					}
					if err != nil && !errors.Is(err, context.DeadlineExceeded) {
						return
					}
				}
			})
		}
	})
	if err := p.Run(ctx); err != nil && !errors.Is(err, context.Canceled) {
		t.Errorf("processor: %v", err)
	}
	running.Wait()
}

// Two processors share eight partitions: the second steals from the first, and
// every event is delivered.
func TestProcessorsShareAndSteal(t *testing.T) {
	const partitions, first, second = 8, 100, 150
	s := newServer(t, eventhubs.WithHub(testHub, partitions))
	for id := range partitions {
		publish(t, s, fmt.Sprint(id), first)
	}
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	checkpoints, all := newStore(), &seen{bodies: map[string]int{}}
	var running sync.WaitGroup
	running.Go(func() { process(ctx, t, s, checkpoints, all) })
	eventually(t, "the first processor reads everything", func() bool {
		n, _ := all.count()
		return n == partitions*first
	})
	running.Go(func() { process(ctx, t, s, checkpoints, all) })
	eventually(t, "half of the partitions are stolen", func() bool {
		_, lost := all.count()
		return lost >= partitions/2
	})
	for id := range partitions {
		for i := range second - first {
			if _, err := s.Publish(testHub, fmt.Sprint(id), eventhubs.Event{Body: fmt.Appendf(nil, "%d-%d", id, first+i)}); err != nil {
				t.Fatal(err)
			}
		}
	}
	eventually(t, "the two read the rest", func() bool {
		n, _ := all.count()
		return n == partitions*second
	})
	cancel()
	running.Wait()
	for id, c := range checkpoints.checkpoints {
		if *c.SequenceNumber != second-1 {
			t.Errorf("partition %s: checkpoint at %d, want %d", id, *c.SequenceNumber, second-1)
		}
	}
}

func eventually(t *testing.T, what string, ok func() bool) {
	t.Helper()
	for end := time.Now().Add(15 * time.Second); !ok(); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("not in time: %s", what)
		}
	}
}
