package eventhubs_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/messaging/azeventhubs/v2"
	"go.uber.org/goleak"

	"warmpath/internal/emulator/eventhubs"
)

const testHub = "fleet"

func TestMain(m *testing.M) {
	// The client library forgets its token renewers when a link is refused or
	// lost; they end with their timers.
	goleak.VerifyTestMain(m, goleak.IgnoreAnyFunction(
		"github.com/Azure/azure-sdk-for-go/sdk/messaging/azeventhubs/v2/internal.(*Namespace).startNegotiateClaimRenewer.func3"))
}

// newServer starts a server with one hub of four partitions, unless options say
// otherwise.
func newServer(t *testing.T, options ...eventhubs.Option) *eventhubs.Server {
	t.Helper()
	if len(options) == 0 {
		options = []eventhubs.Option{eventhubs.WithHub(testHub, 4)}
	}
	s, err := eventhubs.Start(options...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Errorf("close: %v", err)
		}
	})
	return s
}

// deadline is long enough for anything that works.
func deadline(t *testing.T) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	t.Cleanup(cancel)
	return ctx
}

func background() context.Context { return context.Background() }

func newProducer(t *testing.T, s *eventhubs.Server) *azeventhubs.ProducerClient {
	t.Helper()
	p, err := azeventhubs.NewProducerClientFromConnectionString(s.ConnectionString(), testHub, nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = p.Close(background()) })
	return p
}

func newConsumer(t *testing.T, s *eventhubs.Server) *azeventhubs.ConsumerClient {
	t.Helper()
	return newConsumerWith(t, s, azeventhubs.DefaultConsumerGroup, nil)
}

func newConsumerWith(t *testing.T, s *eventhubs.Server, group string, options *azeventhubs.ConsumerClientOptions) *azeventhubs.ConsumerClient {
	t.Helper()
	if options == nil {
		options = &azeventhubs.ConsumerClientOptions{}
	}
	if options.RetryOptions == (azeventhubs.RetryOptions{}) {
		options.RetryOptions = azeventhubs.RetryOptions{MaxRetries: 1, RetryDelay: 10 * time.Millisecond, MaxRetryDelay: 20 * time.Millisecond}
	}
	c, err := azeventhubs.NewConsumerClientFromConnectionString(s.ConnectionString(), testHub, group, options)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close(background()) })
	return c
}

// newPartition opens a partition from the earliest event on, unless options say
// otherwise.
func newPartition(t *testing.T, c *azeventhubs.ConsumerClient, id string, options *azeventhubs.PartitionClientOptions) *azeventhubs.PartitionClient {
	t.Helper()
	if options == nil {
		options = &azeventhubs.PartitionClientOptions{StartPosition: azeventhubs.StartPosition{Earliest: to(true)}}
	}
	p, err := c.NewPartitionClient(id, options)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = p.Close(background()) })
	return p
}

// send sends bodies in one batch.
func send(t *testing.T, p *azeventhubs.ProducerClient, options *azeventhubs.EventDataBatchOptions, events ...*azeventhubs.EventData) {
	t.Helper()
	batch, err := p.NewEventDataBatch(deadline(t), options)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range events {
		if err := batch.AddEventData(e, nil); err != nil {
			t.Fatal(err)
		}
	}
	if err := p.SendEventDataBatch(deadline(t), batch, nil); err != nil {
		t.Fatal(err)
	}
}

// receive waits for n events.
func receive(t *testing.T, p *azeventhubs.PartitionClient, n int) []*azeventhubs.ReceivedEventData {
	t.Helper()
	var all []*azeventhubs.ReceivedEventData
	for len(all) < n {
		events, err := p.ReceiveEvents(deadline(t), min(n-len(all), 5000), nil)
		if err != nil {
			t.Fatalf("after %d of %d events: %v", len(all), n, err)
		}
		all = append(all, events...)
	}
	return all
}

// publish puts n events into a partition, with bodies "<id>-0", "<id>-1", ...
func publish(t *testing.T, s *eventhubs.Server, id string, n int) {
	t.Helper()
	for i := range n {
		if _, err := s.Publish(testHub, id, eventhubs.Event{Body: fmt.Appendf(nil, "%s-%d", id, i)}); err != nil {
			t.Fatal(err)
		}
	}
}

func body(s string) *azeventhubs.EventData { return &azeventhubs.EventData{Body: []byte(s)} }

func to[T any](v T) *T { return &v }
