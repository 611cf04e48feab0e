package eventhubs_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/messaging/azeventhubs/v2"

	"warmpath/internal/emulator/amqp"
	"warmpath/internal/emulator/eventhubs"
)

// Events flow while connections, sessions and links break at random, seeded
// moments. Each reader still sees every event of its partition once, in order.
func TestNothingIsLostInChaos(t *testing.T) {
	const partitions = 4
	s := newServer(t, eventhubs.WithHub(testHub, partitions))
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	patient := azeventhubs.RetryOptions{MaxRetries: 50, RetryDelay: 2 * time.Millisecond, MaxRetryDelay: 10 * time.Millisecond}
	c := newConsumerWith(t, s, "$Default", &azeventhubs.ConsumerClientOptions{RetryOptions: patient})

	published := make([]int64, partitions)
	var publishing, reading sync.WaitGroup
	for id := range partitions {
		publishing.Go(func() {
			for ctx.Err() == nil {
				at, err := s.Publish(testHub, fmt.Sprint(id), eventhubs.Event{Body: make([]byte, 200)})
				if err != nil {
					t.Error(err)
					return
				}
				published[id] = at.Sequence
				time.Sleep(50 * time.Microsecond)
			}
		})
	}
	finished := make(chan struct{}) // published is final
	for id := range partitions {
		p := newPartition(t, c, fmt.Sprint(id), nil)
		reading.Go(func() {
			for next := int64(0); ; {
				select {
				case <-finished:
					if next > published[id] {
						return
					}
				default:
				}
				short, cancel := context.WithTimeout(deadline(t), 200*time.Millisecond)
				events, err := p.ReceiveEvents(short, 500, nil)
				cancel()
				for _, e := range events {
					if e.SequenceNumber != next {
						t.Errorf("partition %d: event %d comes where %d should", id, e.SequenceNumber, next)
						return
					}
					next++
				}
				if err != nil && !errors.Is(err, context.DeadlineExceeded) {
					t.Errorf("partition %d after event %d: %v", id, next-1, err)
					return
				}
			}
		})
	}

	random := rand.New(rand.NewPCG(3, 4))
	for end := time.Now().Add(1500 * time.Millisecond); time.Now().Before(end); time.Sleep(time.Duration(random.IntN(30)) * time.Millisecond) {
		target := eventhubs.Target{Hub: testHub, Partition: fmt.Sprint(random.IntN(partitions))}
		switch random.IntN(7) {
		case 0:
			s.ResetConnections()
		case 1:
			s.CloseConnections(amqp.Errorf(amqp.ConnectionForced, "chaos"))
		case 2:
			s.EndSessions(target, amqp.Errorf(amqp.InternalError, "chaos"))
		case 3:
			s.DetachLinks(target, amqp.Errorf(amqp.DetachForced, "chaos"))
		case 4:
			s.SuspendLinks(target, nil)
		case 5:
			inject(t, s, eventhubs.Fault{Op: eventhubs.OpAttach, Action: eventhubs.Refuse, Condition: "com.microsoft:server-busy", Times: 1})
		case 6:
			inject(t, s, eventhubs.Fault{Op: eventhubs.OpTransfer, Partition: target.Partition, Action: eventhubs.ResetConnection, Times: 1})
		}
	}
	cancel()
	publishing.Wait()
	close(finished)
	reading.Wait()
	for id, last := range published {
		if last < 100 {
			t.Errorf("partition %d: only %d events were published", id, last+1)
		}
	}
}
