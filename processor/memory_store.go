package processor

import (
	"context"
	"maps"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore"
	"github.com/Azure/azure-sdk-for-go/sdk/messaging/azeventhubs/v2"
)

// MemoryStore keeps ownership and checkpoints in this process. It obeys the
// same rules as a shared store - an ownership changes hands only against its
// ETag, a checkpoint never moves backwards - and forgets everything at exit:
// a restart begins again where the configuration says. It is safe for
// concurrent use, also by several processors in one process.
type MemoryStore struct {
	now func() time.Time

	mu          sync.Mutex // covers all below
	ownerships  map[storeKey]azeventhubs.Ownership
	checkpoints map[storeKey]azeventhubs.Checkpoint
	etag        int64
}

// storeKey names one partition as one consumer group sees it.
type storeKey struct{ namespace, hub, group, partition string }

// NewMemoryStore returns an empty store whose times are taken from now.
func NewMemoryStore(now func() time.Time) *MemoryStore {
	return &MemoryStore{
		now:         now,
		ownerships:  make(map[storeKey]azeventhubs.Ownership),
		checkpoints: make(map[storeKey]azeventhubs.Checkpoint),
	}
}

// ClaimOwnership implements [azeventhubs.CheckpointStore]: claims whose ETag is
// not the current one are left out of the answer, as the SDK's store does.
func (s *MemoryStore) ClaimOwnership(_ context.Context, claims []azeventhubs.Ownership, _ *azeventhubs.ClaimOwnershipOptions) ([]azeventhubs.Ownership, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	var claimed []azeventhubs.Ownership
	for _, o := range claims {
		key := storeKey{o.FullyQualifiedNamespace, o.EventHubName, o.ConsumerGroup, o.PartitionID}
		current, exists := s.ownerships[key]
		if exists && (o.ETag == nil || *o.ETag != *current.ETag) || !exists && o.ETag != nil {
			continue
		}
		s.etag++
		tag := azcore.ETag(strconv.FormatInt(s.etag, 10))
		o.ETag, o.LastModifiedTime = &tag, s.now()
		s.ownerships[key] = o
		claimed = append(claimed, o)
	}
	return claimed, nil
}

// ListOwnership implements [azeventhubs.CheckpointStore].
func (s *MemoryStore) ListOwnership(_ context.Context, namespace, hub, group string, _ *azeventhubs.ListOwnershipOptions) ([]azeventhubs.Ownership, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return matching(s.ownerships, namespace, hub, group), nil
}

// ListCheckpoints implements [azeventhubs.CheckpointStore].
func (s *MemoryStore) ListCheckpoints(_ context.Context, namespace, hub, group string, _ *azeventhubs.ListCheckpointsOptions) ([]azeventhubs.Checkpoint, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return matching(s.checkpoints, namespace, hub, group), nil
}

// SetCheckpoint implements [azeventhubs.CheckpointStore]. A checkpoint that
// would move backwards is ignored (promise 2).
func (s *MemoryStore) SetCheckpoint(_ context.Context, c azeventhubs.Checkpoint, _ *azeventhubs.SetCheckpointOptions) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	key := storeKey{c.FullyQualifiedNamespace, c.EventHubName, c.ConsumerGroup, c.PartitionID}
	if current, ok := s.checkpoints[key]; ok && sequenceOf(current) > sequenceOf(c) {
		return nil
	}
	s.checkpoints[key] = c
	return nil
}

// matching returns the values of one consumer group in the order of partitions.
func matching[V any](values map[storeKey]V, namespace, hub, group string) []V {
	keys := slices.SortedFunc(maps.Keys(values), func(a, b storeKey) int {
		return strings.Compare(a.partition, b.partition)
	})
	var found []V
	for _, k := range keys {
		if k.namespace == namespace && k.hub == hub && k.group == group {
			found = append(found, values[k])
		}
	}
	return found
}

// sequenceOf is the checkpoint's sequence number, -1 without one.
func sequenceOf(c azeventhubs.Checkpoint) int64 {
	if c.SequenceNumber == nil {
		return -1
	}
	return *c.SequenceNumber
}
