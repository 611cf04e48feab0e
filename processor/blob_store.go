package processor

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"sync"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore"
	"github.com/Azure/azure-sdk-for-go/sdk/messaging/azeventhubs/v2"
	"github.com/Azure/azure-sdk-for-go/sdk/storage/azblob/bloberror"
	"github.com/Azure/azure-sdk-for-go/sdk/storage/azblob/blockblob"
	"github.com/Azure/azure-sdk-for-go/sdk/storage/azblob/container"
	"golang.org/x/sync/errgroup"

	"warmpath/sink"
)

// Names and metadata are those of the SDK's own store, which other tools read
// as well (KEDA's azure-eventhub scaler with checkpointStrategy blobMetadata):
//
//	<namespace>/<hub>/<group>/ownership/<partition>   ownerid
//	<namespace>/<hub>/<group>/checkpoint/<partition>  sequencenumber, offset
//
// The blobs are empty. Case is kept everywhere; KEDA lower-cases the group, so
// it should have no capitals.
const (
	metaOwner    = "ownerid"
	metaSequence = "sequencenumber"
	metaOffset   = "offset"
)

const (
	claimsAtOnce = 8  // ownership writes at the same time
	casAttempts  = 20 // tries of one conditional checkpoint; each that fails means that another process got on
)

// BlobStore keeps ownership and checkpoints in an Azure Storage container that
// must exist. Unlike the SDK's store it writes checkpoints conditionally and
// never moves one backwards, not even when two processes overlap (promise 2).
// It is safe for concurrent use.
type BlobStore struct {
	container *container.Client

	mu    sync.Mutex // covers known; never held during a request
	known map[string]blobCheckpoint
}

// blobCheckpoint is a checkpoint blob as this process saw it last.
type blobCheckpoint struct {
	etag     azcore.ETag
	sequence int64
}

// NewBlobStore returns a store in the given container.
func NewBlobStore(c *container.Client) *BlobStore {
	return &BlobStore{container: c, known: make(map[string]blobCheckpoint)}
}

// SetCheckpoint implements [azeventhubs.CheckpointStore]. When another process
// has written a checkpoint at or beyond this one, that one stands and the error
// is nil: the partition is settled at least as far as was asked.
func (s *BlobStore) SetCheckpoint(ctx context.Context, c azeventhubs.Checkpoint, _ *azeventhubs.SetCheckpointOptions) error {
	name := prefixOf(c.FullyQualifiedNamespace, c.EventHubName, c.ConsumerGroup, "checkpoint") + c.PartitionID
	if c.SequenceNumber == nil {
		return fmt.Errorf("set checkpoint %s: no sequence number", name)
	}
	client := s.container.NewBlockBlobClient(name)
	for range casAttempts {
		current, exists, err := s.current(ctx, client, name)
		if err != nil {
			return fmt.Errorf("read checkpoint %s: %w", name, sink.Brief(err))
		}
		if exists && current.sequence >= *c.SequenceNumber {
			return nil
		}
		etag, _, err := putMetadata(ctx, client, checkpointMetadata(c), current.etag)
		switch {
		case err == nil:
			s.remember(name, blobCheckpoint{etag, *c.SequenceNumber})
			return nil
		case conflict(err):
			s.forget(name) // another process was here: look again
		default:
			return fmt.Errorf("write checkpoint %s: %w", name, sink.Brief(err))
		}
	}
	return fmt.Errorf("write checkpoint %s: it changed %d times while it was written", name, casAttempts)
}

// current returns the checkpoint as it is known, or else as it is stored.
func (s *BlobStore) current(ctx context.Context, client *blockblob.Client, name string) (blobCheckpoint, bool, error) {
	s.mu.Lock()
	c, ok := s.known[name]
	s.mu.Unlock()
	if ok {
		return c, true, nil
	}
	properties, err := client.GetProperties(ctx, nil)
	if bloberror.HasCode(err, bloberror.BlobNotFound) {
		return blobCheckpoint{}, false, nil
	}
	if err != nil {
		return blobCheckpoint{}, false, err
	}
	sequence, err := sequenceIn(properties.Metadata)
	if err != nil {
		return blobCheckpoint{}, false, err
	}
	return blobCheckpoint{*properties.ETag, sequence}, true, nil
}

func (s *BlobStore) remember(name string, c blobCheckpoint) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.known[name] = c
}

func (s *BlobStore) forget(name string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.known, name)
}

// ListCheckpoints implements [azeventhubs.CheckpointStore].
func (s *BlobStore) ListCheckpoints(ctx context.Context, namespace, hub, group string, _ *azeventhubs.ListCheckpointsOptions) ([]azeventhubs.Checkpoint, error) {
	var checkpoints []azeventhubs.Checkpoint
	err := s.list(ctx, prefixOf(namespace, hub, group, "checkpoint"), func(partition string, item *container.BlobItem) error {
		sequence, err := sequenceIn(item.Metadata)
		if err != nil {
			return err
		}
		s.remember(*item.Name, blobCheckpoint{*item.Properties.ETag, sequence})
		checkpoints = append(checkpoints, azeventhubs.Checkpoint{
			FullyQualifiedNamespace: namespace, EventHubName: hub, ConsumerGroup: group, PartitionID: partition,
			SequenceNumber: &sequence,
			Offset:         metadata(item.Metadata, metaOffset), // may be missing: the sequence number is enough
		})
		return nil
	})
	return checkpoints, err
}

// ListOwnership implements [azeventhubs.CheckpointStore].
func (s *BlobStore) ListOwnership(ctx context.Context, namespace, hub, group string, _ *azeventhubs.ListOwnershipOptions) ([]azeventhubs.Ownership, error) {
	var ownerships []azeventhubs.Ownership
	err := s.list(ctx, prefixOf(namespace, hub, group, "ownership"), func(partition string, item *container.BlobItem) error {
		o := azeventhubs.Ownership{
			FullyQualifiedNamespace: namespace, EventHubName: hub, ConsumerGroup: group, PartitionID: partition,
			LastModifiedTime: *item.Properties.LastModified, ETag: item.Properties.ETag,
		}
		if owner := metadata(item.Metadata, metaOwner); owner != nil { // an empty value, "given back", may be left out
			o.OwnerID = *owner
		}
		ownerships = append(ownerships, o)
		return nil
	})
	return ownerships, err
}

// ClaimOwnership implements [azeventhubs.CheckpointStore]. Claims that somebody
// else was faster with are left out of the answer.
func (s *BlobStore) ClaimOwnership(ctx context.Context, claims []azeventhubs.Ownership, _ *azeventhubs.ClaimOwnershipOptions) ([]azeventhubs.Ownership, error) {
	var group errgroup.Group
	group.SetLimit(claimsAtOnce)
	claimed := make([]*azeventhubs.Ownership, len(claims))
	for i, o := range claims {
		group.Go(func() error {
			name := prefixOf(o.FullyQualifiedNamespace, o.EventHubName, o.ConsumerGroup, "ownership") + o.PartitionID
			client := s.container.NewBlockBlobClient(name)
			var etag azcore.ETag
			if o.ETag != nil {
				etag = *o.ETag
			}
			got, modified, err := putMetadata(ctx, client, map[string]*string{metaOwner: &o.OwnerID}, etag)
			if conflict(err) {
				return nil
			}
			if err != nil {
				return fmt.Errorf("claim ownership %s: %w", name, sink.Brief(err))
			}
			o.ETag, o.LastModifiedTime = &got, modified
			claimed[i] = &o
			return nil
		})
	}
	if err := group.Wait(); err != nil {
		return nil, err
	}
	var won []azeventhubs.Ownership
	for _, o := range claimed {
		if o != nil {
			won = append(won, *o)
		}
	}
	return won, nil
}

// list calls each for every blob below the prefix, in the order of names.
func (s *BlobStore) list(ctx context.Context, prefix string, each func(partition string, item *container.BlobItem) error) error {
	pager := s.container.NewListBlobsFlatPager(&container.ListBlobsFlatOptions{
		Prefix:  &prefix,
		Include: container.ListBlobsInclude{Metadata: true},
	})
	for pager.More() {
		page, err := pager.NextPage(ctx)
		if err != nil {
			return fmt.Errorf("list %s: %w", prefix, sink.Brief(err))
		}
		for _, item := range page.Segment.BlobItems {
			if item.Properties == nil || item.Properties.ETag == nil || item.Properties.LastModified == nil {
				return fmt.Errorf("list %s: %s came without its properties", prefix, *item.Name)
			}
			if err := each(strings.TrimPrefix(*item.Name, prefix), item); err != nil {
				return fmt.Errorf("list %s: %s: %w", prefix, *item.Name, err)
			}
		}
	}
	return nil
}

func prefixOf(namespace, hub, group, kind string) string {
	return strings.Join([]string{namespace, hub, group, kind, ""}, "/")
}

func checkpointMetadata(c azeventhubs.Checkpoint) map[string]*string {
	sequence := strconv.FormatInt(*c.SequenceNumber, 10)
	m := map[string]*string{metaSequence: &sequence}
	if c.Offset != nil {
		m[metaOffset] = c.Offset
	}
	return m
}

func sequenceIn(m map[string]*string) (int64, error) {
	text := metadata(m, metaSequence)
	if text == nil {
		return 0, errors.New("no sequence number in the metadata")
	}
	return strconv.ParseInt(*text, 10, 64)
}

// metadata finds a value. Keys change their case on the way: they travel as
// HTTP headers in one answer and as XML in the other.
func metadata(m map[string]*string, key string) *string {
	for k, v := range m {
		if strings.EqualFold(k, key) {
			return v
		}
	}
	return nil
}

// conflict tells whether a conditional write came too late.
func conflict(err error) bool {
	return bloberror.HasCode(err, bloberror.ConditionNotMet, bloberror.BlobAlreadyExists, bloberror.BlobNotFound)
}
