package eventhubs_test

import (
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/messaging/azeventhubs/v2"

	"warmpath/internal/emulator/eventhubs"
)

// clock is a time that tests set forward.
type clock struct{ ms atomic.Int64 }

func newClock() *clock {
	c := &clock{}
	c.ms.Store(time.Date(2026, 5, 1, 0, 0, 0, 0, time.UTC).UnixMilli())
	return c
}

func (c *clock) now() time.Time          { return time.UnixMilli(c.ms.Load()).UTC() }
func (c *clock) advance(d time.Duration) { c.ms.Add(d.Milliseconds()) }

func TestRetention(t *testing.T) {
	now := newClock()
	s := newServer(t, eventhubs.WithClock(now.now),
		eventhubs.WithHubConfig(eventhubs.HubConfig{Name: testHub, Partitions: 1, Retention: time.Hour}))
	var positions []eventhubs.Position
	for range 3000 { // one a second, over several chunks
		at, err := s.Publish(testHub, "0", eventhubs.Event{Body: make([]byte, 100)})
		if err != nil {
			t.Fatal(err)
		}
		positions = append(positions, at)
		now.advance(time.Second)
	}
	now.advance(30 * time.Minute) // the first event is 80 minutes old
	c := newConsumer(t, s)
	got, err := c.GetPartitionProperties(deadline(t), "0", nil)
	if err != nil {
		t.Fatal(err)
	}
	if got.BeginningSequenceNumber != 1200 || got.LastEnqueuedSequenceNumber != 2999 || got.LastEnqueuedOffset != positions[2999].Offset {
		t.Errorf("got %d..%d %s, want 1200..2999 %s", got.BeginningSequenceNumber, got.LastEnqueuedSequenceNumber, got.LastEnqueuedOffset, positions[2999].Offset)
	}
	for _, start := range []azeventhubs.StartPosition{
		{Earliest: to(true)},
		{Offset: to(positions[5].Offset)},
		{SequenceNumber: to(int64(5))},
		{EnqueuedTime: to(now.now().Add(-24 * time.Hour))},
	} {
		p := newPartition(t, c, "0", &azeventhubs.PartitionClientOptions{StartPosition: start})
		if got := receive(t, p, 1)[0].SequenceNumber; got != 1200 {
			t.Errorf("from %+v: begins at %d, want 1200", start, got)
		}
	}

	now.advance(2 * time.Hour)
	got, err = c.GetPartitionProperties(deadline(t), "0", nil)
	if err != nil {
		t.Fatal(err)
	}
	if !got.IsEmpty || got.BeginningSequenceNumber != 3000 || got.LastEnqueuedSequenceNumber != 2999 || got.LastEnqueuedOffset != positions[2999].Offset {
		t.Errorf("all expired: got %+v", got)
	}
	p := newPartition(t, c, "0", &azeventhubs.PartitionClientOptions{StartPosition: azeventhubs.StartPosition{Offset: to(positions[2999].Offset)}})
	publish(t, s, "0", 1)
	if got := receive(t, p, 1)[0].SequenceNumber; got != 3000 {
		t.Errorf("after the last offset: %d, want 3000", got)
	}
}

// A receiver that is behind the trimmed part goes on after it.
func TestTrimUnderReceiver(t *testing.T) {
	s := newServer(t)
	publish(t, s, "0", 1000)
	p := newPartition(t, newConsumer(t, s), "0", &azeventhubs.PartitionClientOptions{
		Prefetch: -1, StartPosition: azeventhubs.StartPosition{Earliest: to(true)}})
	receive(t, p, 10)
	if err := s.Trim(testHub, "0", 500); err != nil {
		t.Fatal(err)
	}
	if got := receive(t, p, 1)[0].SequenceNumber; got != 500 {
		t.Errorf("goes on at %d, want 500", got)
	}
}

func TestGeoReplicatedOffsets(t *testing.T) {
	s := newServer(t, eventhubs.WithHubConfig(eventhubs.HubConfig{Name: testHub, Partitions: 2, GeoReplicated: true}))
	publish(t, s, "1", 10)
	c := newConsumer(t, s)
	hub, err := c.GetEventHubProperties(deadline(t), nil)
	if err != nil || !hub.GeoReplicationEnabled {
		t.Fatalf("geo-replication is %v, error %v", hub.GeoReplicationEnabled, err)
	}
	events := receive(t, newPartition(t, c, "1", nil), 10)
	offset := events[4].Offset
	if !strings.HasPrefix(offset, "1:1:") {
		t.Errorf("offset is %q, want 1:1:<n>", offset)
	}
	last, err := c.GetPartitionProperties(deadline(t), "1", nil)
	if err != nil || last.LastEnqueuedOffset != events[9].Offset {
		t.Errorf("last offset is %q, error %v, want %q", last.LastEnqueuedOffset, err, events[9].Offset)
	}
	p := newPartition(t, c, "1", &azeventhubs.PartitionClientOptions{StartPosition: azeventhubs.StartPosition{Offset: &offset}})
	if got := receive(t, p, 1)[0].SequenceNumber; got != 5 {
		t.Errorf("after offset %s: %d, want 5", offset, got)
	}
	for _, wrong := range []string{"1024", "1:0:64", "nonsense"} {
		p := newPartition(t, c, "1", &azeventhubs.PartitionClientOptions{StartPosition: azeventhubs.StartPosition{Offset: &wrong}})
		if _, err := p.ReceiveEvents(deadline(t), 1, nil); err == nil || !strings.Contains(err.Error(), "com.microsoft:georeplication:invalid-offset") {
			t.Errorf("offset %s: got %v, want an invalid offset", wrong, err)
		}
	}
}

func TestRecreatedHubBeginsAnew(t *testing.T) {
	s := newServer(t)
	publish(t, s, "0", 100)
	c := newConsumer(t, s)
	p := newPartition(t, c, "0", nil)
	receive(t, p, 100)
	if err := s.RecreateHub(testHub); err != nil {
		t.Fatal(err)
	}
	// The client re-attaches after the last event it saw, which is beyond the
	// end now.
	if _, err := p.ReceiveEvents(deadline(t), 1, nil); err == nil || !strings.Contains(err.Error(), "com.microsoft:argument-error") {
		t.Errorf("got %v, want an argument error", err)
	}
	publish(t, s, "0", 1)
	if got := receive(t, newPartition(t, c, "0", nil), 1)[0].SequenceNumber; got != 0 {
		t.Errorf("begins at %d, want 0", got)
	}
}

func TestDeletedHub(t *testing.T) {
	s := newServer(t)
	publish(t, s, "0", 1)
	c, producer := newConsumer(t, s), newProducer(t, s)
	p := newPartition(t, c, "0", nil)
	receive(t, p, 1)
	send(t, producer, &azeventhubs.EventDataBatchOptions{PartitionID: to("1")}, body("x"))
	if err := s.DeleteHub(testHub); err != nil {
		t.Fatal(err)
	}
	if _, err := p.ReceiveEvents(deadline(t), 1, nil); err == nil || !strings.Contains(err.Error(), "amqp:not-found") {
		t.Errorf("receive: got %v, want not found", err)
	}
	if _, err := producer.NewEventDataBatch(deadline(t), nil); err == nil {
		batch, _ := producer.NewEventDataBatch(deadline(t), nil)
		_ = batch.AddEventData(body("y"), nil)
		if err := producer.SendEventDataBatch(deadline(t), batch, nil); err == nil {
			t.Error("a deleted hub takes events")
		}
	}
	if err := s.DeleteHub(testHub); err == nil {
		t.Error("a hub was deleted twice")
	}
}

func TestGrownHub(t *testing.T) {
	s := newServer(t, eventhubs.WithHub(testHub, 2))
	c := newConsumer(t, s)
	if err := s.GrowHub(testHub, 5); err != nil {
		t.Fatal(err)
	}
	got, err := c.GetEventHubProperties(deadline(t), nil)
	if err != nil || fmt.Sprint(got.PartitionIDs) != "[0 1 2 3 4]" {
		t.Errorf("partitions are %v, error %v", got.PartitionIDs, err)
	}
	publish(t, s, "4", 1)
	receive(t, newPartition(t, c, "4", nil), 1)
	if err := s.GrowHub(testHub, 2000); err == nil {
		t.Error("a hub has 2000 partitions")
	}
}
