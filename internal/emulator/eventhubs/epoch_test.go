package eventhubs_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/Azure/azure-sdk-for-go/sdk/messaging/azeventhubs/v2"

	"warmpath/internal/emulator/eventhubs"
)

func ownerLevel(level int64) *azeventhubs.PartitionClientOptions {
	return &azeventhubs.PartitionClientOptions{
		OwnerLevel:    &level,
		StartPosition: azeventhubs.StartPosition{Earliest: to(true)},
	}
}

func TestEqualOrHigherOwnerLevelSteals(t *testing.T) {
	for _, test := range []struct {
		name          string
		victim, thief *azeventhubs.PartitionClientOptions
	}{
		{"equal", ownerLevel(0), ownerLevel(0)},
		{"higher", ownerLevel(1), ownerLevel(5)},
		{"none against some", nil, ownerLevel(0)},
	} {
		t.Run(test.name, func(t *testing.T) {
			s := newServer(t)
			publish(t, s, "0", 1)
			victim := newPartition(t, newConsumer(t, s), "0", test.victim)
			receive(t, victim, 1)
			thief := newPartition(t, newConsumer(t, s), "0", test.thief)
			receive(t, thief, 1)
			_, err := victim.ReceiveEvents(deadline(t), 1, nil)
			var stolen *azeventhubs.Error
			if !errors.As(err, &stolen) || stolen.Code != azeventhubs.ErrorCodeOwnershipLost {
				t.Errorf("victim got %v, want ownership lost", err)
			}
			publish(t, s, "0", 1)
			receive(t, thief, 1)
		})
	}
}

func TestLowerOwnerLevelIsRefused(t *testing.T) {
	for _, test := range []struct {
		name string
		late *azeventhubs.PartitionClientOptions
		want string
	}{
		{"lower", ownerLevel(2), "with a higher epoch '3' already exists"},
		{"none", nil, "At least one receiver for the endpoint is created with epoch of '3'"},
	} {
		t.Run(test.name, func(t *testing.T) {
			s := newServer(t)
			publish(t, s, "0", 1)
			owner := newPartition(t, newConsumer(t, s), "0", ownerLevel(3))
			receive(t, owner, 1)
			late := newPartition(t, newConsumer(t, s), "0", test.late)
			if _, err := late.ReceiveEvents(deadline(t), 1, nil); err == nil || !strings.Contains(err.Error(), test.want) {
				t.Errorf("got error %v, want one with %q", err, test.want)
			}
			publish(t, s, "0", 1)
			receive(t, owner, 1)
		})
	}
}

func TestConsumerGroupsDoNotMeet(t *testing.T) {
	s := newServer(t, eventhubs.WithHub(testHub, 1, "warmpath"))
	publish(t, s, "0", 1)
	a := newPartition(t, newConsumer(t, s), "0", ownerLevel(0))
	b := newPartition(t, newConsumerWith(t, s, "WarmPath", nil), "0", ownerLevel(0))
	receive(t, a, 1)
	receive(t, b, 1)
	publish(t, s, "0", 1)
	receive(t, a, 1)
	receive(t, b, 1)
}

func TestSixthPlainReceiverIsRefused(t *testing.T) {
	s := newServer(t)
	publish(t, s, "0", 1)
	c := newConsumer(t, s)
	for range 5 {
		receive(t, newPartition(t, c, "0", nil), 1)
	}
	sixth := newPartition(t, c, "0", nil)
	if _, err := sixth.ReceiveEvents(deadline(t), 1, nil); err == nil || !strings.Contains(err.Error(), "amqp:resource-limit-exceeded") {
		t.Errorf("got error %v, want resource limit exceeded", err)
	}
}

func TestOwnerLevelOfLostConnectionIsGone(t *testing.T) {
	s := newServer(t)
	publish(t, s, "0", 1)
	owner := newConsumer(t, s)
	receive(t, newPartition(t, owner, "0", ownerLevel(9)), 1)
	if err := owner.Close(background()); err != nil {
		t.Fatal(err)
	}
	receive(t, newPartition(t, newConsumer(t, s), "0", nil), 1)
}

func TestAttachToWhatDoesNotExist(t *testing.T) {
	s := newServer(t)
	for _, test := range []struct{ name, group, partition, want string }{
		{"consumer group", "nobody", "0", "amqp:not-found"},
		{"partition", "$Default", "4", "com.microsoft:argument-out-of-range"},
		{"partition that is no number", "$Default", "00", "com.microsoft:argument-out-of-range"},
	} {
		t.Run(test.name, func(t *testing.T) {
			p := newPartition(t, newConsumerWith(t, s, test.group, nil), test.partition, nil)
			if _, err := p.ReceiveEvents(deadline(t), 1, nil); err == nil || !strings.Contains(err.Error(), test.want) {
				t.Errorf("got error %v, want %s", err, test.want)
			}
		})
	}
}

func TestStartBeyondTheEndIsRefused(t *testing.T) {
	s := newServer(t)
	publish(t, s, "0", 10)
	for _, test := range []struct {
		name  string
		start azeventhubs.StartPosition
		want  string
	}{
		{"offset", azeventhubs.StartPosition{Offset: to("99999")}, "The supplied offset '99999' is invalid"},
		{"sequence", azeventhubs.StartPosition{SequenceNumber: to(int64(10))}, "The supplied sequence number '10' is invalid. The last sequence number in the system is '9'"},
	} {
		t.Run(test.name, func(t *testing.T) {
			p := newPartition(t, newConsumer(t, s), "0", &azeventhubs.PartitionClientOptions{StartPosition: test.start})
			if _, err := p.ReceiveEvents(deadline(t), 1, nil); err == nil || !strings.Contains(err.Error(), test.want) {
				t.Errorf("got error %v, want %q", err, test.want)
			}
		})
	}
}
