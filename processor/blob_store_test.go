package processor

import (
	"context"
	"fmt"
	"sync"
	"testing"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore"
	"github.com/Azure/azure-sdk-for-go/sdk/messaging/azeventhubs/v2"
	"github.com/Azure/azure-sdk-for-go/sdk/messaging/azeventhubs/v2/checkpoints"

	"warmpath/internal/azurite"
)

func checkpointAt(partition string, sequence int64) azeventhubs.Checkpoint {
	offset := fmt.Sprint(sequence * 100)
	return azeventhubs.Checkpoint{
		FullyQualifiedNamespace: "fleet.servicebus.windows.net", EventHubName: "Telemetry", ConsumerGroup: "warmpath",
		PartitionID: partition, SequenceNumber: &sequence, Offset: &offset,
	}
}

// listed returns the sequence number and offset that a store lists for a partition.
func listed(t *testing.T, s azeventhubs.CheckpointStore, partition string) (int64, string) {
	t.Helper()
	all, err := s.ListCheckpoints(context.Background(), "fleet.servicebus.windows.net", "Telemetry", "warmpath", nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range all {
		if c.PartitionID == partition {
			if c.Offset == nil {
				return *c.SequenceNumber, ""
			}
			return *c.SequenceNumber, *c.Offset
		}
	}
	t.Fatalf("no checkpoint for partition %s in %+v", partition, all)
	return 0, ""
}

func TestBlobStore(t *testing.T) {
	server := azurite.Start(t)
	ctx := context.Background()

	// Promise 2, across processes: two stores stand for two replicas.
	t.Run("checkpoints never move backwards", func(t *testing.T) {
		c := server.Container(t, "monotone")
		mine, theirs := NewBlobStore(c), NewBlobStore(c)
		for _, step := range []struct {
			store    *BlobStore
			sequence int64
			want     int64
		}{
			{mine, 10, 10},
			{theirs, 30, 30},
			{mine, 20, 30},   // mine believes that 10 stands
			{theirs, 25, 30}, // an older batch of the same process
			{mine, 31, 31},
			{theirs, 31, 31},
		} {
			if err := step.store.SetCheckpoint(ctx, checkpointAt("0", step.sequence), nil); err != nil {
				t.Fatal(err)
			}
			if got, _ := listed(t, NewBlobStore(c), "0"); got != step.want {
				t.Fatalf("after writing %d the checkpoint is %d, want %d", step.sequence, got, step.want)
			}
		}
	})

	t.Run("the first checkpoint of two is decided by the greater", func(t *testing.T) {
		c := server.Container(t, "first")
		var wait sync.WaitGroup
		for i := range int64(8) {
			wait.Go(func() {
				if err := NewBlobStore(c).SetCheckpoint(ctx, checkpointAt("7", 100+i), nil); err != nil {
					t.Error(err)
				}
			})
		}
		wait.Wait()
		if got, offset := listed(t, NewBlobStore(c), "7"); got != 107 || offset != "10700" {
			t.Errorf("checkpoint %d at offset %s, want 107 at 10700", got, offset)
		}
	})

	t.Run("names and metadata are the SDK's", func(t *testing.T) {
		c := server.Container(t, "compatible")
		ours := NewBlobStore(c)
		sdk, err := checkpoints.NewBlobStore(c, nil)
		if err != nil {
			t.Fatal(err)
		}
		if err := ours.SetCheckpoint(ctx, checkpointAt("3", 42), nil); err != nil {
			t.Fatal(err)
		}
		if got, offset := listed(t, sdk, "3"); got != 42 || offset != "4200" {
			t.Errorf("the SDK's store reads %d at %s, want 42 at 4200", got, offset)
		}
		if err := sdk.SetCheckpoint(ctx, checkpointAt("3", 50), nil); err != nil {
			t.Fatal(err)
		}
		if got, offset := listed(t, ours, "3"); got != 50 || offset != "5000" {
			t.Errorf("our store reads %d at %s, want 50 at 5000", got, offset)
		}
		// What KEDA's scaler asks for, byte for byte.
		properties, err := c.NewBlobClient("fleet.servicebus.windows.net/Telemetry/warmpath/checkpoint/3").GetProperties(ctx, nil)
		if err != nil {
			t.Fatal(err)
		}
		if got := metadata(properties.Metadata, "sequencenumber"); got == nil || *got != "50" || *properties.ContentLength != 0 {
			t.Errorf("metadata %v, length %d", properties.Metadata, *properties.ContentLength)
		}
	})

	t.Run("a checkpoint may have no offset", func(t *testing.T) {
		c := server.Container(t, "nooffset")
		bare := checkpointAt("0", 9)
		bare.Offset = nil
		if err := NewBlobStore(c).SetCheckpoint(ctx, bare, nil); err != nil {
			t.Fatal(err)
		}
		if got, offset := listed(t, NewBlobStore(c), "0"); got != 9 || offset != "" {
			t.Errorf("checkpoint %d at %q, want 9 without an offset", got, offset)
		}
	})

	t.Run("ownership changes hands only against its version", func(t *testing.T) {
		s := NewBlobStore(server.Container(t, "ownership"))
		claim := func(owner, partition string, etag *azcore.ETag) []azeventhubs.Ownership {
			won, err := s.ClaimOwnership(ctx, []azeventhubs.Ownership{{
				FullyQualifiedNamespace: "ns", EventHubName: "hub", ConsumerGroup: "warmpath",
				PartitionID: partition, OwnerID: owner, ETag: etag,
			}}, nil)
			if err != nil {
				t.Fatal(err)
			}
			return won
		}
		first := claim("a", "0", nil)
		if len(first) != 1 || first[0].LastModifiedTime.IsZero() {
			t.Fatalf("first claim %+v", first)
		}
		if won := claim("b", "0", nil); len(won) != 0 {
			t.Error("an owned partition was claimed without its version")
		}
		if won := claim("b", "0", first[0].ETag); len(won) != 1 {
			t.Error("a claim with the current version was refused")
		}
		if won := claim("a", "0", first[0].ETag); len(won) != 0 {
			t.Error("a renewal with an old version was accepted")
		}
		gone := azcore.ETag(`"0x8D"`)
		if won := claim("a", "5", &gone); len(won) != 0 {
			t.Error("a partition that nobody has was renewed")
		}
		claim("", "1", nil) // given back
		owned, err := s.ListOwnership(ctx, "ns", "hub", "warmpath", nil)
		if err != nil || len(owned) != 2 || owned[0].OwnerID != "b" || owned[1].OwnerID != "" || owned[1].ETag == nil {
			t.Errorf("listed %+v, %v", owned, err)
		}
	})
}
