package eventhubs_test

import (
	"context"
	"testing"
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/messaging/azeventhubs/v2"

	"warmpath/internal/emulator/eventhubs"
)

// After a poison event the client either gets stuck, or drops it, or delivers
// it; a receiver that starts behind it is well in every case.
func TestPoison(t *testing.T) {
	const (
		stuck = "stuck" // no event after the poison arrives
		lost  = "lost"  // the poison is missing, without an error
		fine  = "fine"
	)
	outcomes := map[eventhubs.Poison]string{
		eventhubs.PoisonChar:         stuck,
		eventhubs.PoisonDecimal:      stuck,
		eventhubs.PoisonTruncated:    stuck,
		eventhubs.PoisonOffsetType:   lost,
		eventhubs.PoisonSequenceType: lost,
		eventhubs.PoisonKeyType:      lost,
		eventhubs.PoisonTimeType:     lost,
	}
	for _, kind := range eventhubs.Poisons() {
		t.Run(string(kind), func(t *testing.T) {
			t.Parallel()
			s := newServer(t)
			publish(t, s, "0", 2)
			if _, err := s.PublishPoison(testHub, "0", kind); err != nil {
				t.Fatal(err)
			}
			publish(t, s, "0", 2)
			want := outcomes[kind]
			if want == "" {
				want = fine
			}
			got := fine
			events := drain(t, s)
			switch {
			case len(events) <= 2:
				got = stuck
			case len(events) < 5:
				got = lost
			}
			if got != want {
				t.Errorf("the client is %s after %d events, want %s", got, len(events), want)
			}
			behind := newPartition(t, newConsumer(t, s), "0", &azeventhubs.PartitionClientOptions{
				StartPosition: azeventhubs.StartPosition{SequenceNumber: to(int64(2))}})
			if got := sequences(t, behind, 2); got != "3 4" {
				t.Errorf("from behind the poison: %s, want 3 4", got)
			}
		})
	}
}

// drain receives one event per call until none comes for a while.
func drain(t *testing.T, s *eventhubs.Server) (events []*azeventhubs.ReceivedEventData) {
	t.Helper()
	p := newPartition(t, newConsumer(t, s), "0", nil)
	for {
		short, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
		got, err := p.ReceiveEvents(short, 1, nil)
		cancel()
		if err != nil || len(got) == 0 {
			return events
		}
		events = append(events, got...)
	}
}
