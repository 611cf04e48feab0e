package processor

import (
	"context"
	"testing"
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/messaging/azeventhubs/v2"
)

func TestOwnershipChangesHandsOnlyAgainstItsETag(t *testing.T) {
	ctx := context.Background()
	s := NewMemoryStore(time.Now)
	claim := func(o azeventhubs.Ownership) []azeventhubs.Ownership {
		claimed, err := s.ClaimOwnership(ctx, []azeventhubs.Ownership{o}, nil)
		if err != nil {
			t.Fatal(err)
		}
		return claimed
	}
	base := azeventhubs.Ownership{FullyQualifiedNamespace: "ns", EventHubName: "hub", ConsumerGroup: "warmpath", PartitionID: "0"}

	mine := base
	mine.OwnerID = "a"
	first := claim(mine)
	if len(first) != 1 || first[0].ETag == nil || first[0].LastModifiedTime.IsZero() {
		t.Fatalf("first claim: %+v", first)
	}
	theirs := base
	theirs.OwnerID = "b"
	if got := claim(theirs); len(got) != 0 {
		t.Error("a partition that is owned was claimed without its ETag")
	}
	theirs.ETag = first[0].ETag
	if got := claim(theirs); len(got) != 1 || got[0].OwnerID != "b" {
		t.Error("a claim with the current ETag was refused")
	}
	mine.ETag = first[0].ETag
	if got := claim(mine); len(got) != 0 {
		t.Error("a renewal with an old ETag was accepted")
	}
	owned, err := s.ListOwnership(ctx, "ns", "hub", "warmpath", nil)
	if err != nil || len(owned) != 1 || owned[0].OwnerID != "b" {
		t.Errorf("listed %+v, %v", owned, err)
	}
	if others, _ := s.ListOwnership(ctx, "ns", "hub", "other", nil); len(others) != 0 {
		t.Error("another consumer group sees our ownership")
	}
}

// Promise 2: a checkpoint never moves backwards.
func TestCheckpointsOfTheMemoryStoreNeverMoveBackwards(t *testing.T) {
	ctx := context.Background()
	s := NewMemoryStore(time.Now)
	for _, sequence := range []int64{10, 30, 20} {
		c := azeventhubs.Checkpoint{FullyQualifiedNamespace: "ns", EventHubName: "hub", ConsumerGroup: "warmpath", PartitionID: "0", SequenceNumber: &sequence}
		if err := s.SetCheckpoint(ctx, c, nil); err != nil {
			t.Fatal(err)
		}
	}
	got, err := s.ListCheckpoints(ctx, "ns", "hub", "warmpath", nil)
	if err != nil || len(got) != 1 || *got[0].SequenceNumber != 30 {
		t.Errorf("got %+v, %v; want sequence number 30", got, err)
	}
}
