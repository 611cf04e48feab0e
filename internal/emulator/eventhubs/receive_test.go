package eventhubs_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/messaging/azeventhubs/v2"

	"warmpath/internal/emulator/eventhubs"
)

func TestSendAndReceiveByPartition(t *testing.T) {
	s := newServer(t)
	p, c := newProducer(t, s), newConsumer(t, s)
	for id := range 4 {
		send(t, p, &azeventhubs.EventDataBatchOptions{PartitionID: to(fmt.Sprint(id))},
			body(fmt.Sprintf("%d-0", id)), body(fmt.Sprintf("%d-1", id)), body(fmt.Sprintf("%d-2", id)))
	}
	for id := range 4 {
		var last int64 = -1
		for i, e := range receive(t, newPartition(t, c, fmt.Sprint(id), nil), 3) {
			if got, want := string(e.Body), fmt.Sprintf("%d-%d", id, i); got != want {
				t.Errorf("partition %d event %d: body %q, want %q", id, i, got, want)
			}
			if e.SequenceNumber != last+1 {
				t.Errorf("partition %d: sequence %d follows %d", id, e.SequenceNumber, last)
			}
			last = e.SequenceNumber
			if e.Offset == fmt.Sprint(e.SequenceNumber) {
				t.Errorf("offset %q equals the sequence number", e.Offset)
			}
			if age := time.Since(*e.EnqueuedTime); age < 0 || age > time.Minute {
				t.Errorf("enqueued %v ago", age)
			}
		}
	}
}

func TestPartitionKeyStaysTogether(t *testing.T) {
	s := newServer(t)
	p, c := newProducer(t, s), newConsumer(t, s)
	for range 3 {
		send(t, p, &azeventhubs.EventDataBatchOptions{PartitionKey: to("drone-7")}, body("a"), body("b"))
	}
	var found []string
	for _, id := range []string{"0", "1", "2", "3"} {
		info, err := s.PartitionInfo(testHub, id)
		if err != nil {
			t.Fatal(err)
		}
		if !info.Empty {
			found = append(found, id)
		}
	}
	if len(found) != 1 {
		t.Fatalf("events of one key are in partitions %v, want one", found)
	}
	for _, e := range receive(t, newPartition(t, c, found[0], nil), 6) {
		if e.PartitionKey == nil || *e.PartitionKey != "drone-7" {
			t.Errorf("partition key %v, want drone-7", e.PartitionKey)
		}
	}
}

func TestRoundRobinWithoutKey(t *testing.T) {
	s := newServer(t)
	p := newProducer(t, s)
	for range 8 {
		send(t, p, nil, body("x"))
	}
	for id := range 4 {
		info, err := s.PartitionInfo(testHub, fmt.Sprint(id))
		if err != nil {
			t.Fatal(err)
		}
		if got := info.LastSequence + 1; got != 2 {
			t.Errorf("partition %d got %d events, want 2", id, got)
		}
	}
}

func TestStartPositions(t *testing.T) {
	clock := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	s := newServer(t, eventhubs.WithHub(testHub, 1))
	var positions []eventhubs.Position
	for i := range 1000 {
		at, err := s.Publish(testHub, "0", eventhubs.Event{
			Body: bytes.Repeat([]byte{'x'}, i), EnqueuedTime: clock.Add(time.Duration(i) * time.Second)})
		if err != nil {
			t.Fatal(err)
		}
		positions = append(positions, at)
	}
	c := newConsumer(t, s)
	for _, test := range []struct {
		name  string
		start azeventhubs.StartPosition
		want  int64
	}{
		{"earliest", azeventhubs.StartPosition{Earliest: to(true)}, 0},
		{"latest inclusive", azeventhubs.StartPosition{Latest: to(true), Inclusive: true}, 999},
		{"offset", azeventhubs.StartPosition{Offset: to(positions[640].Offset)}, 641},
		{"offset inclusive", azeventhubs.StartPosition{Offset: to(positions[640].Offset), Inclusive: true}, 640},
		{"first offset", azeventhubs.StartPosition{Offset: to(positions[0].Offset)}, 1},
		{"sequence", azeventhubs.StartPosition{SequenceNumber: to(int64(17))}, 18},
		{"sequence inclusive", azeventhubs.StartPosition{SequenceNumber: to(int64(17)), Inclusive: true}, 17},
		{"time", azeventhubs.StartPosition{EnqueuedTime: to(clock.Add(30 * time.Second))}, 31},
		{"time inclusive", azeventhubs.StartPosition{EnqueuedTime: to(clock.Add(30 * time.Second)), Inclusive: true}, 30},
		{"time before all", azeventhubs.StartPosition{EnqueuedTime: to(clock.Add(-time.Hour))}, 0},
	} {
		t.Run(test.name, func(t *testing.T) {
			p := newPartition(t, c, "0", &azeventhubs.PartitionClientOptions{StartPosition: test.start})
			if got := receive(t, p, 1)[0].SequenceNumber; got != test.want {
				t.Errorf("begins at %d, want %d", got, test.want)
			}
		})
	}
}

func TestLatestSeesOnlyWhatComes(t *testing.T) {
	s := newServer(t)
	publish(t, s, "0", 10)
	p := newPartition(t, newConsumer(t, s), "0", &azeventhubs.PartitionClientOptions{
		StartPosition: azeventhubs.StartPosition{Latest: to(true)}})
	short, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer cancel()
	if events, err := p.ReceiveEvents(short, 1, nil); !errors.Is(err, context.DeadlineExceeded) {
		t.Fatalf("got %d events, error %v, want none before the deadline", len(events), err)
	}
	publish(t, s, "0", 1)
	if got := receive(t, p, 1)[0].SequenceNumber; got != 10 {
		t.Errorf("sequence %d, want 10", got)
	}
}

// A session's window is 5000 transfers; 12,000 events need it renewed, and
// credit of 300 renewed many times.
func TestManyEventsWithEveryPrefetch(t *testing.T) {
	const n = 12_000
	s := newServer(t)
	publish(t, s, "1", n)
	for _, prefetch := range []int32{-1, 0, 5000} {
		t.Run(fmt.Sprint("prefetch ", prefetch), func(t *testing.T) {
			p := newPartition(t, newConsumer(t, s), "1", &azeventhubs.PartitionClientOptions{
				Prefetch: prefetch, StartPosition: azeventhubs.StartPosition{Earliest: to(true)}})
			for i, e := range receive(t, p, n) {
				if want := fmt.Sprintf("1-%d", i); string(e.Body) != want || e.SequenceNumber != int64(i) {
					t.Fatalf("event %d is %q with sequence %d, want %q", i, e.Body, e.SequenceNumber, want)
				}
			}
		})
	}
}

func TestMultiFrameMessagesBothWays(t *testing.T) {
	s := newServer(t)
	p, c := newProducer(t, s), newConsumer(t, s)
	large := bytes.Repeat([]byte("0123456789abcdef"), 40_000) // 640 kB, ten frames
	sent := []*azeventhubs.EventData{{Body: large}, body("after")}
	send(t, p, &azeventhubs.EventDataBatchOptions{PartitionID: to("2")}, sent...)
	got := receive(t, newPartition(t, c, "2", nil), 2)
	if !bytes.Equal(got[0].Body, large) || string(got[1].Body) != "after" {
		t.Errorf("got bodies of %d and %d bytes", len(got[0].Body), len(got[1].Body))
	}
}

// A wide window of large messages meets both the window and the writer's high
// water mark in mid-message.
func TestLargeMessagesThroughNarrowWindow(t *testing.T) {
	s := newServer(t)
	large := bytes.Repeat([]byte{1}, 900_000)
	for i := range 40 {
		large[0] = byte(i)
		if _, err := s.Publish(testHub, "0", eventhubs.Event{Body: large}); err != nil {
			t.Fatal(err)
		}
	}
	for i, e := range receive(t, newPartition(t, newConsumer(t, s), "0", nil), 40) {
		if len(e.Body) != len(large) || e.Body[0] != byte(i) {
			t.Fatalf("event %d: %d bytes, first is %d", i, len(e.Body), e.Body[0])
		}
	}
}

func TestProducerAnnotationsReachConsumers(t *testing.T) {
	s := newServer(t)
	p, c := newProducer(t, s), newConsumer(t, s)
	enqueued := time.Date(2026, 2, 3, 4, 5, 6, 789e6, time.UTC)
	batch, err := p.NewEventDataBatch(deadline(t), &azeventhubs.EventDataBatchOptions{PartitionID: to("0")})
	if err != nil {
		t.Fatal(err)
	}
	if err := batch.AddAMQPAnnotatedMessage(&azeventhubs.AMQPAnnotatedMessage{
		Body: azeventhubs.AMQPAnnotatedMessageBody{Data: [][]byte{[]byte("body")}},
		MessageAnnotations: map[any]any{
			"iothub-enqueuedtime":         enqueued,
			"iothub-connection-device-id": "drone-1",
			"iothub-message-source":       "Telemetry",
			"x-opt-sequence-number":       int64(999), // the service's own, not taken
		},
		Properties: &azeventhubs.AMQPAnnotatedMessageProperties{
			MessageID: "m-1", ContentType: to("application/json"), ContentEncoding: to("gzip")},
		ApplicationProperties: map[string]any{"speed": 12.5, "count": int32(3)},
	}, nil); err != nil {
		t.Fatal(err)
	}
	if err := p.SendEventDataBatch(deadline(t), batch, nil); err != nil {
		t.Fatal(err)
	}
	e := receive(t, newPartition(t, c, "0", nil), 1)[0]
	if got, _ := e.SystemProperties["iothub-enqueuedtime"].(time.Time); !got.Equal(enqueued) {
		t.Errorf("iothub-enqueuedtime is %v, want %v", e.SystemProperties["iothub-enqueuedtime"], enqueued)
	}
	if got := e.SystemProperties["iothub-connection-device-id"]; got != "drone-1" {
		t.Errorf("device id is %v, want drone-1", got)
	}
	if e.SequenceNumber != 0 {
		t.Errorf("sequence number %d was taken from the sender", e.SequenceNumber)
	}
	if *e.MessageID != "m-1" || *e.ContentType != "application/json" || *e.RawAMQPMessage.Properties.ContentEncoding != "gzip" {
		t.Errorf("properties are %v %v %v", *e.MessageID, *e.ContentType, *e.RawAMQPMessage.Properties.ContentEncoding)
	}
	if e.Properties["speed"] != 12.5 || e.Properties["count"] != int32(3) {
		t.Errorf("application properties are %v", e.Properties)
	}
}

func TestPublishSetsEverything(t *testing.T) {
	s := newServer(t)
	at := time.Date(2026, 1, 2, 3, 4, 5, 678e6, time.UTC)
	want, err := s.Publish(testHub, "3", eventhubs.Event{
		Body:         []byte("b"),
		PartitionKey: "k",
		EnqueuedTime: at,
		Annotations:  map[string]any{"iothub-enqueuedtime": at.Add(-time.Second), "iothub-connection-device-id": "d"},
	})
	if err != nil {
		t.Fatal(err)
	}
	e := receive(t, newPartition(t, newConsumer(t, s), "3", nil), 1)[0]
	if e.SequenceNumber != want.Sequence || e.Offset != want.Offset || !e.EnqueuedTime.Equal(at) || *e.PartitionKey != "k" {
		t.Errorf("got sequence %d offset %s time %v key %s, want %+v %v k", e.SequenceNumber, e.Offset, e.EnqueuedTime, *e.PartitionKey, want, at)
	}
	if got, _ := e.SystemProperties["iothub-enqueuedtime"].(time.Time); !got.Equal(at.Add(-time.Second)) {
		t.Errorf("iothub-enqueuedtime is %v, want %v", got, at.Add(-time.Second))
	}
}
