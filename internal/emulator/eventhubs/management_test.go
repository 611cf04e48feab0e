package eventhubs_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"warmpath/internal/emulator/eventhubs"
)

func TestHubProperties(t *testing.T) {
	s := newServer(t, eventhubs.WithHub(testHub, 3))
	got, err := newConsumer(t, s).GetEventHubProperties(deadline(t), nil)
	if err != nil {
		t.Fatal(err)
	}
	if got.Name != testHub || !slices.Equal(got.PartitionIDs, []string{"0", "1", "2"}) || got.GeoReplicationEnabled {
		t.Errorf("got %+v", got)
	}
	if age := time.Since(got.CreatedOn); age < 0 || age > time.Minute {
		t.Errorf("created %v ago", age)
	}
}

func TestPartitionProperties(t *testing.T) {
	s := newServer(t)
	c := newConsumer(t, s)
	empty, err := c.GetPartitionProperties(deadline(t), "0", nil)
	if err != nil {
		t.Fatal(err)
	}
	if !empty.IsEmpty || empty.LastEnqueuedSequenceNumber != -1 || empty.LastEnqueuedOffset != "-1" || empty.LastEnqueuedOn.UnixMilli() != 0 {
		t.Errorf("empty partition: %+v", empty)
	}
	at := time.Date(2026, 1, 2, 3, 4, 5, 6e6, time.UTC)
	var last eventhubs.Position
	for i := range 300 {
		last, err = s.Publish(testHub, "0", eventhubs.Event{Body: []byte(fmt.Sprint(i)), EnqueuedTime: at})
		if err != nil {
			t.Fatal(err)
		}
	}
	got, err := newProducer(t, s).GetPartitionProperties(deadline(t), "0", nil)
	if err != nil {
		t.Fatal(err)
	}
	if got.IsEmpty || got.BeginningSequenceNumber != 0 || got.LastEnqueuedSequenceNumber != 299 ||
		got.LastEnqueuedOffset != last.Offset || !got.LastEnqueuedOn.Equal(at) || got.PartitionID != "0" || got.EventHubName != testHub {
		t.Errorf("got %+v, want 0..299, offset %s", got, last.Offset)
	}
}

func TestPropertiesOfWhatDoesNotExist(t *testing.T) {
	c := newConsumer(t, newServer(t))
	if _, err := c.GetPartitionProperties(deadline(t), "9", nil); err == nil {
		t.Error("partition 9 of 4 has properties")
	}
	other := newConsumer(t, newServer(t, eventhubs.WithHub("other", 1)))
	if _, err := other.GetEventHubProperties(deadline(t), nil); err == nil {
		t.Error("a hub that does not exist has properties")
	}
}
