package processor

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/messaging/azeventhubs/v2"
	"go.uber.org/goleak"

	"warmpath/geo"
	"warmpath/internal/emulator/eventhubs"
	"warmpath/sink"
	"warmpath/telemetry"
)

// The SDK leaves one goroutine behind per closed consumer client: Close does not
// close the management link, whose token renewer ends only at its next renewal.
func TestMain(m *testing.M) {
	goleak.VerifyTestMain(m, goleak.IgnoreAnyFunction(
		"github.com/Azure/azure-sdk-for-go/sdk/messaging/azeventhubs/v2/internal.(*Namespace).startNegotiateClaimRenewer.func3"))
}

// slowSink writes everything after a while, or holds it until it is let go.
type slowSink struct {
	delay  time.Duration
	reject string        // prefix of the ids that are rejected, "" for none
	hold   chan struct{} // nil: do not hold

	mu      sync.Mutex
	written map[string]int // by document id
}

func (s *slowSink) Submit(ctx context.Context, d *sink.Document) error {
	id := d.ID
	go func() {
		if s.hold != nil {
			select {
			case <-s.hold:
			case <-ctx.Done():
				d.Done(d, sink.Result{Outcome: sink.Unsettled, Err: ctx.Err()})
				return
			}
		}
		time.Sleep(s.delay)
		if s.reject != "" && strings.HasPrefix(id, s.reject) {
			d.Done(d, sink.Result{Outcome: sink.Rejected, Err: errors.New("400")})
			return
		}
		s.mu.Lock()
		if s.written == nil {
			s.written = map[string]int{}
		}
		s.written[id]++
		s.mu.Unlock()
		d.Done(d, sink.Result{Outcome: sink.Written, At: time.Now()})
	}()
	return nil
}

func (s *slowSink) count() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	n := 0
	for _, c := range s.written {
		n += c
	}
	return n
}

// hubTest is a hub with a processor on it.
type hubTest struct {
	hub    *eventhubs.Server
	store  azeventhubs.CheckpointStore
	sink   *slowSink
	config Config
	next   map[string]int

	rotated atomic.Pointer[string] // the connection string in place of the first
}

func newHubTest(t *testing.T, partitions int, options ...eventhubs.Option) *hubTest {
	t.Helper()
	hub, err := eventhubs.Start(append(options, eventhubs.WithHub("telemetry", partitions, "warmpath"))...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := hub.Close(); err != nil {
			t.Error(err)
		}
	})
	config := DefaultConfig()
	config.Mode = History
	config.CheckpointInterval, config.OwnershipInterval, config.OwnershipExpiration = 50*time.Millisecond, 50*time.Millisecond, 2*time.Second
	config.LagInterval = 50 * time.Millisecond
	return &hubTest{hub: hub, store: NewMemoryStore(time.Now), sink: &slowSink{}, config: config, next: map[string]int{}}
}

// key is the hub's connection string as it is now.
func (h *hubTest) key() (string, error) {
	if key := h.rotated.Load(); key != nil {
		return *key, nil
	}
	return h.hub.ConnectionString(), nil
}

// publish appends events to a partition.
func (h *hubTest) publish(t *testing.T, partition string, events int) {
	t.Helper()
	for range events {
		body := flat(fmt.Sprintf("drone-%s-%d", partition, h.next[partition]))
		h.next[partition]++
		if _, err := h.hub.Publish("telemetry", partition, eventhubs.Event{Body: []byte(body)}); err != nil {
			t.Fatal(err)
		}
	}
}

// running is a processor that has been started.
type running struct {
	tel    *telemetry.Telemetry
	stop   context.CancelFunc
	letGo  context.CancelFunc
	ended  chan struct{}
	runErr error
	reader *Processor
}

func (h *hubTest) run(t *testing.T) *running {
	t.Helper()
	tel, err := telemetry.New(telemetry.Options{Version: "test", Now: time.Now})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = tel.Shutdown(context.Background()) })
	decoder, err := geo.NewDecoder(geo.DefaultConfig())
	if err != nil {
		t.Fatal(err)
	}
	p, err := New(h.config, HubConfig{ConnectionString: h.key, Hub: "telemetry", ConsumerGroup: "warmpath"},
		h.store, decoder, h.sink, &fakeDead{}, tel, slog.New(slog.DiscardHandler), time.Now)
	if err != nil {
		t.Fatal(err)
	}
	stop, cancelStop := context.WithCancel(context.Background())
	hard, cancelHard := context.WithCancel(context.Background())
	r := &running{tel: tel, stop: cancelStop, letGo: cancelHard, ended: make(chan struct{}), reader: p}
	go func() {
		defer close(r.ended)
		r.runErr = p.Run(stop, hard)
	}()
	t.Cleanup(func() {
		cancelStop()
		cancelHard()
		<-r.ended
	})
	return r
}

// wait polls until the condition holds.
func wait(t *testing.T, what string, condition func() bool) {
	t.Helper()
	for deadline := time.Now().Add(20 * time.Second); !condition(); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("%s: not within 20 s", what)
		}
	}
}

// checkpoints returns the sequence numbers in the store by partition.
func (h *hubTest) checkpoints(t *testing.T) map[string]int64 {
	t.Helper()
	// The fully qualified namespace is the address for as long as the port is in it.
	all, err := h.store.ListCheckpoints(context.Background(), h.hub.Addr(), "telemetry", "warmpath", nil)
	if err != nil {
		t.Fatal(err)
	}
	found := map[string]int64{}
	for _, c := range all {
		found[c.PartitionID] = *c.SequenceNumber
	}
	return found
}

func TestEveryPartitionIsReadAndCheckpointed(t *testing.T) {
	h := newHubTest(t, 4)
	for p := range 4 {
		h.publish(t, strconv.Itoa(p), 300)
	}
	r := h.run(t)
	wait(t, "all written", func() bool { return h.sink.count() == 1200 })
	wait(t, "lag known and 0", func() bool {
		s := r.tel.Ledger.Snapshot()
		for _, row := range s.Partitions {
			if row.LastEnqueued != 299 || row.Lag() != 0 || !row.Owned {
				return false
			}
		}
		return len(s.Partitions) == 4
	})
	if err := r.reader.Ready(); err != nil {
		t.Errorf("not ready: %v", err)
	}
	r.stop()
	<-r.ended
	if r.runErr != nil {
		t.Error(r.runErr)
	}
	for p := range 4 {
		if got := h.checkpoints(t)[strconv.Itoa(p)]; got != 299 {
			t.Errorf("checkpoint of partition %d is %d, want 299", p, got)
		}
	}
	s := r.tel.Ledger.Snapshot()
	if err := s.Balance(); err != nil {
		t.Error(err)
	}
	if total := s.Total(); total.Received != 1200 || total.InFlight != 0 {
		t.Errorf("received %d, in flight %d", total.Received, total.InFlight)
	}

	// The next run begins where this one has settled.
	h.publish(t, "2", 7)
	again := h.run(t)
	wait(t, "the rest written", func() bool { return h.sink.count() == 1207 })
	again.stop()
	<-again.ended
	for id, n := range h.sink.written {
		if n != 1 {
			t.Errorf("%s was written %d times after an orderly restart", id, n)
		}
	}
}

// Promise 8: what is in hand when the process must stop is settled first.
func TestDrainSettlesWhatIsInHand(t *testing.T) {
	h := newHubTest(t, 2)
	h.sink.hold = make(chan struct{})
	h.publish(t, "0", 20)
	r := h.run(t)
	wait(t, "a batch in hand", func() bool { return r.tel.Ledger.Snapshot().Total().InFlight > 0 })
	r.stop()
	select {
	case <-r.ended:
		t.Fatal("ended with positions in flight")
	case <-time.After(100 * time.Millisecond):
	}
	close(h.sink.hold)
	<-r.ended
	if total := r.tel.Ledger.Snapshot().Total(); r.runErr != nil || total.InFlight != 0 || total.Written != total.Received {
		t.Errorf("%v, row %+v", r.runErr, total)
	}
	if got := h.checkpoints(t)["0"]; got != r.tel.Ledger.Snapshot().Partitions[0].LastSettled {
		t.Errorf("checkpoint %d is not what was settled", got)
	}
}

// Promises 2 and 8: at the end of the grace period what is unsettled stays
// unsettled: the run says so, and no checkpoint passes it.
func TestTheGracePeriodEndsTheDrain(t *testing.T) {
	h := newHubTest(t, 1)
	h.sink.hold = make(chan struct{})
	h.publish(t, "0", 20)
	r := h.run(t)
	wait(t, "a batch in hand", func() bool { return r.tel.Ledger.Snapshot().Total().InFlight > 0 })
	r.stop()
	r.letGo()
	<-r.ended
	if r.runErr == nil {
		t.Error("positions were left unsettled and nobody was told")
	}
	if c := h.checkpoints(t); len(c) != 0 {
		t.Errorf("checkpoints %v although nothing was settled", c)
	}

	close(h.sink.hold)
	again := h.run(t)
	wait(t, "the same events again", func() bool { return h.sink.count() == 20 })
	again.stop()
	<-again.ended
}

// Promise 6: a partition whose documents are all rejected stops, says so, and
// holds up no other.
func TestAStoppedPartitionStopsOnlyItself(t *testing.T) {
	h := newHubTest(t, 2)
	h.config.MaxRejected = 3
	h.sink.reject = "drone-0-"
	h.publish(t, "0", 10)
	r := h.run(t)
	wait(t, "the stop to be told", func() bool {
		err := r.reader.Ready()
		return err != nil && strings.Contains(err.Error(), "partition 0 has stopped")
	})
	h.publish(t, "1", 50)
	wait(t, "the other partition written", func() bool { return h.sink.count() == 50 })
	r.stop()
	<-r.ended
	if !errors.Is(r.runErr, errTooManyRejected) {
		t.Errorf("the run ended with %v", r.runErr)
	}
	if got := h.checkpoints(t)["0"]; got != 2 {
		t.Errorf("checkpoint %d, want 2: the third is the last that was dead-lettered", got)
	}
}

// A key that is rotated is asked for again when the hub refuses the old one.
func TestARotatedHubKeyIsFound(t *testing.T) {
	h := newHubTest(t, 2, eventhubs.WithKey("RootManageSharedAccessKey", "old"))
	h.publish(t, "0", 10)
	r := h.run(t)
	wait(t, "the first events", func() bool { return h.sink.count() == 10 })

	rotated := strings.Replace(h.hub.ConnectionString(), "SharedAccessKey=old", "SharedAccessKey=new", 1)
	h.rotated.Store(&rotated)
	h.hub.SetKeys("RootManageSharedAccessKey", "new")
	h.hub.ResetConnections()
	h.publish(t, "0", 10)
	wait(t, "the events after the rotation", func() bool { return h.sink.count() >= 20 })
	r.stop()
	<-r.ended
	if r.runErr != nil {
		t.Error(r.runErr)
	}
}
