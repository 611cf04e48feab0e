package fleet

import (
	"context"
	"errors"
	"log/slog"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/messaging/azeventhubs/v2"

	"warmpath/geo"
	"warmpath/internal/emulator/eventhubs"
)

const (
	testHub        = "telemetry"
	testPartitions = 8
)

// hub is an emulated Event Hub, a producer for it, and a census.
type hub struct {
	server   *eventhubs.Server
	producer *azeventhubs.ProducerClient
	census   *Census
}

func newHub(t *testing.T, options ...eventhubs.Option) *hub {
	t.Helper()
	server, err := eventhubs.Start(append(options, eventhubs.WithHub(testHub, testPartitions))...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = server.Close() })
	producer, err := Dial(server.ConnectionString(), testHub)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = producer.Close(context.Background()) })
	return &hub{server: server, producer: producer, census: NewCensus()}
}

// sender returns a sender that is as fast to repeat as tests want it.
func (h *hub) sender(t *testing.T, producer Producer, change func(*SenderConfig)) *Sender {
	t.Helper()
	cfg := DefaultSenderConfig()
	cfg.RetryDelay, cfg.MaxRetryDelay = time.Millisecond, 10*time.Millisecond
	if change != nil {
		change(&cfg)
	}
	s, err := NewSender(producer, h.census, cfg, time.Now, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// received is an event as the hub has it.
type received struct {
	*azeventhubs.ReceivedEventData
	partition int
}

// read returns all events of the hub, partition by partition.
func (h *hub) read(t *testing.T) []received {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	consumer, err := azeventhubs.NewConsumerClientFromConnectionString(h.server.ConnectionString(), testHub, azeventhubs.DefaultConsumerGroup, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer consumer.Close(context.Background())
	var all []received
	for p := range testPartitions {
		info, err := h.server.PartitionInfo(testHub, strconv.Itoa(p))
		if err != nil {
			t.Fatal(err)
		}
		earliest := true
		client, err := consumer.NewPartitionClient(strconv.Itoa(p), &azeventhubs.PartitionClientOptions{
			StartPosition: azeventhubs.StartPosition{Earliest: &earliest},
		})
		if err != nil {
			t.Fatal(err)
		}
		for left := int(info.LastSequence) + 1; left > 0; {
			events, err := client.ReceiveEvents(ctx, left, nil)
			if err != nil {
				t.Fatal(err)
			}
			for _, e := range events {
				all = append(all, received{e, p})
			}
			left -= len(events)
		}
		_ = client.Close(ctx)
	}
	return all
}

// documents are what a service would make of the events.
func documents(t *testing.T, events []received) (latest, history []Doc, dropped map[Verdict]int) {
	t.Helper()
	decoder, err := geo.NewDecoder(geo.DefaultConfig())
	if err != nil {
		t.Fatal(err)
	}
	place := map[string]int{}
	dropped = map[Verdict]int{}
	for _, e := range events {
		in := geo.Event{Body: e.Body}
		at := *e.EnqueuedTime
		if fromHub, ok := e.SystemProperties["iothub-enqueuedtime"].(time.Time); ok {
			at = fromHub
		}
		items := decoder.Decode(nil, &in)
		if e.EnqueuedTime.Sub(at) > 5*time.Minute {
			items = decoder.DecodeStale(nil, &in)
		}
		for i, item := range items {
			if item.Reason != "" {
				dropped[verdictOf(t, item.Reason)]++
				continue
			}
			p := item.Position
			doc := Doc{
				ID: p.DeviceID, DeviceID: p.DeviceID, Timestamp: p.Time, Longitude: p.Point[0], Latitude: p.Point[1],
			}
			if at, ok := place[doc.ID]; ok {
				latest[at] = doc
			} else {
				place[doc.ID] = len(latest)
				latest = append(latest, doc)
			}
			doc.ID = strings.Join([]string{p.DeviceID, strconv.Itoa(e.partition), strconv.FormatInt(e.SequenceNumber, 10), strconv.Itoa(i)}, ":")
			history = append(history, doc)
		}
	}
	return latest, history, dropped
}

func verdictOf(t *testing.T, reason geo.Reason) Verdict {
	t.Helper()
	for v := range Verdict(verdicts) {
		if v.String() == string(reason) {
			return v
		}
	}
	t.Fatalf("no verdict is %q", reason)
	return 0
}

// check holds what the hub has against the census, in both modes and in counts.
func (h *hub) check(t *testing.T) []received {
	t.Helper()
	events := h.read(t)
	latest, history, dropped := documents(t, events)
	if err := h.census.CheckLatest(latest); err != nil {
		t.Error(err)
	}
	if err := h.census.CheckHistory(history); err != nil {
		t.Error(err)
	}
	totals := h.census.Totals()
	if totals.Repeated.Events > 0 || totals.Unacknowledged.Events > 0 {
		return events // the counts are not certain
	}
	dropped[Good] = len(history)
	for v, tally := range totals.ByVerdict {
		if dropped[v] != tally.Positions {
			t.Errorf("%v: the hub has %d positions, the census %d", v, dropped[v], tally.Positions)
		}
	}
	if totals.Acknowledged.Events != len(events) {
		t.Errorf("the hub has %d events, the census %d", len(events), totals.Acknowledged.Events)
	}
	return events
}

func TestBurstArrivesAsCounted(t *testing.T) {
	h := newHub(t)
	cfg := DefaultConfig()
	mixed(&cfg)
	cfg.PositionsPerEvent = 3
	const n = 5000
	f, err := New(cfg, time.Now().Add(-cfg.Span(n)))
	if err != nil {
		t.Fatal(err)
	}
	events := f.Burst(n)
	s := h.sender(t, h.producer, nil)
	if err := s.SendAll(t.Context(), events); err != nil {
		t.Fatal(err)
	}

	sent := map[string]*Event{}
	for i := range events {
		sent[events[i].ID()] = &events[i]
	}
	partition, number := map[string]int{}, map[string]int{}
	for _, got := range h.check(t) {
		want := sent[*got.MessageID]
		if want == nil {
			t.Fatalf("the hub has %q, which was not sent, or has it twice", *got.MessageID)
		}
		delete(sent, *got.MessageID)
		if string(got.Body) != string(want.Body) || *got.PartitionKey != want.DeviceID {
			t.Fatalf("%s: got %s with key %q, want %s", want.ID(), got.Body, *got.PartitionKey, want.Body)
		}
		if p, ok := partition[want.DeviceID]; ok && p != got.partition {
			t.Fatalf("%s is in partitions %d and %d", want.DeviceID, p, got.partition)
		}
		partition[want.DeviceID] = got.partition
		if want.Number != number[want.DeviceID] {
			t.Fatalf("%s: event %d follows %d", want.DeviceID, want.Number, number[want.DeviceID]-1)
		}
		number[want.DeviceID]++
		checkAnnotations(t, got, want)
	}
	stats := s.Stats()
	if got := h.census.Totals().Acknowledged; stats.Sent != got || stats.Failures != 0 || stats.Late != 0 || stats.Batches >= n/10 {
		t.Errorf("got %+v, the census has %+v", stats, got)
	}
}

// checkAnnotations looks at what an IoT Hub would have put on an event.
func checkAnnotations(t *testing.T, got received, want *Event) {
	t.Helper()
	at, ok := got.SystemProperties["iothub-enqueuedtime"].(time.Time)
	if ok != want.IoTHub {
		t.Fatalf("%s: system properties %v, want annotations: %v", want.ID(), got.SystemProperties, want.IoTHub)
	}
	if !ok {
		return
	}
	if age := got.EnqueuedTime.Sub(at); age < want.StaleBy-time.Second || age > want.StaleBy+10*time.Second {
		t.Errorf("%s: age %v, want %v", want.ID(), age, want.StaleBy)
	}
	if got.SystemProperties["iothub-connection-device-id"] != want.DeviceID ||
		got.SystemProperties["iothub-message-source"] != "Telemetry" ||
		got.SystemProperties["iothub-connection-auth-method"] != authMethod {
		t.Errorf("%s: system properties %v", want.ID(), got.SystemProperties)
	}
}

func TestRunSendsBySchedule(t *testing.T) {
	h := newHub(t)
	cfg := DefaultConfig()
	mixed(&cfg)
	cfg.IoTHub, cfg.Drones, cfg.Interval = true, 50, 100*time.Millisecond
	start := time.Now()
	f, err := New(cfg, start)
	if err != nil {
		t.Fatal(err)
	}
	s := h.sender(t, h.producer, func(c *SenderConfig) { c.LateAfter = time.Hour })
	ctx, cancel := context.WithTimeout(t.Context(), time.Second)
	defer cancel()
	if err := s.Run(ctx, f); err != nil {
		t.Fatal(err)
	}
	took := time.Since(start)
	for _, got := range h.check(t) {
		drone, n, _ := strings.Cut(strings.TrimPrefix(*got.MessageID, cfg.DevicePrefix), ":")
		i, _ := strconv.Atoi(drone)
		number, _ := strconv.Atoi(n)
		want := f.Drone(i).Event(number)
		checkAnnotations(t, got, &want)
	}
	stats := s.Stats()
	if most := int(took/(2*time.Millisecond)) + 1; stats.Sent.Events > most || stats.Sent.Events < 300 {
		t.Errorf("sent %d events in %v, one is due every 2ms", stats.Sent.Events, took)
	}
	if stats.Failures != 0 || stats.Late != 0 || stats.WorstDelay <= 0 {
		t.Errorf("got %+v", stats)
	}
}

// A fleet that should have started a while ago sends everything that was due
// meanwhile, and says that it is late.
func TestRunCatchesUp(t *testing.T) {
	h := newHub(t)
	cfg := DefaultConfig()
	cfg.Drones, cfg.Interval = 50, 100*time.Millisecond
	f, err := New(cfg, time.Now().Add(-10*time.Second)) // 5,000 events behind
	if err != nil {
		t.Fatal(err)
	}
	s := h.sender(t, h.producer, nil)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	done := make(chan error, 1)
	go func() { done <- s.Run(ctx, f) }()
	for s.Stats().Sent.Events < 5000 && ctx.Err() == nil {
		time.Sleep(5 * time.Millisecond)
	}
	cancel()
	if err := <-done; err != nil {
		t.Fatal(err)
	}
	h.check(t)
	for i := range cfg.Drones {
		id := f.Drone(i).ID()
		newest, ok := h.census.Newest(id)
		if !ok || newest.Counter < 80 {
			t.Errorf("%s: newest position is %d, want about 100", id, newest.Counter)
		}
	}
	if stats := s.Stats(); stats.Late < 4000 || stats.WorstDelay < 9*time.Second {
		t.Errorf("got %+v, want nearly all of it late, up to 10s", stats)
	}
}

// unreliable is a producer whose acknowledgements get lost: every third send
// arrives without the sender knowing, every third does not arrive.
type unreliable struct {
	*azeventhubs.ProducerClient
	sends atomic.Int64
}

var errLost = errors.New("connection lost")

func (u *unreliable) SendEventDataBatch(ctx context.Context, batch *azeventhubs.EventDataBatch, o *azeventhubs.SendEventDataBatchOptions) error {
	switch u.sends.Add(1) % 3 {
	case 1:
		return errors.Join(errLost, u.ProducerClient.SendEventDataBatch(ctx, batch, o))
	case 2:
		return errLost
	}
	return u.ProducerClient.SendEventDataBatch(ctx, batch, o)
}

func TestUnacknowledgedEventsAreSentAgain(t *testing.T) {
	h := newHub(t)
	events := newFleet(t, mixed).Burst(1000)
	s := h.sender(t, &unreliable{ProducerClient: h.producer}, func(c *SenderConfig) { c.BatchEvents = 10 })
	if err := s.SendAll(t.Context(), events); err != nil {
		t.Fatal(err)
	}
	got := h.check(t)
	totals, stats := h.census.Totals(), s.Stats()
	if totals.Acknowledged.Events != 1000 || totals.Unacknowledged.Events != 0 {
		t.Errorf("got %+v, want all events acknowledged", totals)
	}
	if copies := len(got) - 1000; copies < 100 || totals.Repeated.Events < 100 {
		t.Errorf("the hub has %d copies, of %d events that may have some", copies, totals.Repeated.Events)
	}
	if stats.Failures < stats.Batches {
		t.Errorf("got %+v, want two failures of three attempts", stats)
	}
}

// failingFirst is a producer whose first send does not arrive.
type failingFirst struct {
	*azeventhubs.ProducerClient
	sends atomic.Int64
}

func (f *failingFirst) SendEventDataBatch(ctx context.Context, batch *azeventhubs.EventDataBatch, o *azeventhubs.SendEventDataBatchOptions) error {
	if f.sends.Add(1) == 1 {
		return errLost
	}
	return f.ProducerClient.SendEventDataBatch(ctx, batch, o)
}

func TestOnlyEventsOfAFailedBatchMayHaveCopies(t *testing.T) {
	h := newHub(t)
	events := newFleet(t, func(c *Config) { c.Drones = 1 }).Burst(30)
	s := h.sender(t, &failingFirst{ProducerClient: h.producer}, func(c *SenderConfig) { c.BatchEvents = 10 })
	if err := s.SendAll(t.Context(), events); err != nil {
		t.Fatal(err)
	}
	h.check(t)
	totals := h.census.Totals()
	if totals.Acknowledged.Events != 30 || totals.Repeated.Events != 10 {
		t.Errorf("got %+v, want the first 10 of 30 repeated", totals)
	}
}

// deaf is a producer that is never answered.
type deaf struct{ *azeventhubs.ProducerClient }

func (deaf) SendEventDataBatch(ctx context.Context, _ *azeventhubs.EventDataBatch, _ *azeventhubs.SendEventDataBatchOptions) error {
	<-ctx.Done()
	return ctx.Err()
}

func TestContextEndsRepeating(t *testing.T) {
	h := newHub(t)
	events := newFleet(t, nil).Burst(200)
	s := h.sender(t, deaf{h.producer}, func(c *SenderConfig) { c.AttemptTimeout = 100 * time.Millisecond })
	ctx, cancel := context.WithTimeout(t.Context(), 150*time.Millisecond)
	defer cancel()
	err := s.SendAll(ctx, events)
	if !errors.Is(err, context.DeadlineExceeded) || !strings.Contains(err.Error(), "burst of 200 events") {
		t.Errorf("got %v", err)
	}
	// Each lane has tried the first event of its first drone; no more.
	totals := h.census.Totals()
	if totals.Acknowledged.Events != 0 || totals.Unacknowledged.Events != 32 {
		t.Errorf("got %+v, want 32 unacknowledged", totals)
	}
	if err := h.census.CheckHistory(nil); err != nil {
		t.Errorf("what was never acknowledged is missed: %v", err)
	}
}

// A send that is on its way when the context ends is not cut off.
func TestEndOfContextLetsSendsFinish(t *testing.T) {
	h := newHub(t)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	s := h.sender(t, cancelling{h.producer, cancel}, func(c *SenderConfig) { c.Lanes = 1 })
	cfg := DefaultConfig()
	cfg.Drones = 1
	f, err := New(cfg, time.Now())
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Run(ctx, f); err != nil {
		t.Fatal(err)
	}
	totals := h.census.Totals()
	if totals.Acknowledged.Events != 1 || totals.Unacknowledged.Events != 0 {
		t.Errorf("got %+v", totals)
	}
	h.check(t)
}

// cancelling ends the sender's context before it sends.
type cancelling struct {
	*azeventhubs.ProducerClient
	cancel context.CancelFunc
}

func (c cancelling) SendEventDataBatch(ctx context.Context, batch *azeventhubs.EventDataBatch, o *azeventhubs.SendEventDataBatchOptions) error {
	c.cancel()
	return c.ProducerClient.SendEventDataBatch(ctx, batch, o)
}

func TestHopelessErrorsEndTheSending(t *testing.T) {
	h := newHub(t, eventhubs.WithMaxMessageSize(2048))
	small := newFleet(t, nil).Burst(1)
	large := newFleet(t, func(c *Config) { c.PositionsPerEvent = 20 }).Burst(1)
	for _, test := range []struct {
		name     string
		producer Producer
		events   []Event
		want     error
	}{
		{"too large", h.producer, large, azeventhubs.ErrEventDataTooLarge},
		{"not permitted", forbidden{h.producer}, small, errForbidden},
	} {
		t.Run(test.name, func(t *testing.T) {
			s := h.sender(t, test.producer, nil)
			ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
			defer cancel()
			err := s.SendAll(ctx, test.events)
			if !errors.Is(err, test.want) || !strings.Contains(err.Error(), "send of drone-0000:0") {
				t.Errorf("got %v, want %v", err, test.want)
			}
		})
	}
}

// forbidden is a producer without permission.
type forbidden struct{ *azeventhubs.ProducerClient }

var errForbidden = &azeventhubs.Error{Code: azeventhubs.ErrorCodeUnauthorizedAccess}

func (forbidden) SendEventDataBatch(context.Context, *azeventhubs.EventDataBatch, *azeventhubs.SendEventDataBatchOptions) error {
	return errForbidden
}

// A batch that is full is sent, and the rest follows in order.
func TestFullBatchesAreSplit(t *testing.T) {
	h := newHub(t, eventhubs.WithMaxMessageSize(4096))
	events := newFleet(t, func(c *Config) { mixed(c); c.Drones = 3 }).Burst(300)
	s := h.sender(t, h.producer, nil)
	if err := s.SendAll(t.Context(), events); err != nil {
		t.Fatal(err)
	}
	h.check(t)
	if stats := s.Stats(); stats.Batches < 300/20 || stats.Batches > 300/4 {
		t.Errorf("got %d batches of at most 4096 bytes", stats.Batches)
	}
}

func TestSenderConfigNamesWhatItRefuses(t *testing.T) {
	for _, test := range []struct {
		change func(*SenderConfig)
		want   string
	}{
		{func(c *SenderConfig) { c.Lanes = 0 }, `Lanes is "0", allowed is 1 to 1024`},
		{func(c *SenderConfig) { c.BatchEvents = 0 }, `BatchEvents is "0"`},
		{func(c *SenderConfig) { c.LateAfter = 0 }, `LateAfter is "0s", allowed is 1ms to 1h0m0s`},
		{func(c *SenderConfig) { c.AttemptTimeout = time.Hour }, `AttemptTimeout is "1h0m0s"`},
		{func(c *SenderConfig) { c.RetryDelay = 0 }, `RetryDelay is "0s"`},
		{func(c *SenderConfig) { c.MaxRetryDelay = time.Millisecond }, `MaxRetryDelay is "1ms", allowed is 100ms to 10m0s`},
	} {
		cfg := DefaultSenderConfig()
		test.change(&cfg)
		_, err := NewSender(nil, nil, cfg, time.Now, slog.New(slog.DiscardHandler))
		if err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("got %v, want %s", err, test.want)
		}
	}
}

func TestPausesDoubleUpToTheGreatest(t *testing.T) {
	s := &Sender{cfg: DefaultSenderConfig()}
	for failures, most := range map[int]time.Duration{
		1: 100 * time.Millisecond, 2: 200 * time.Millisecond, 5: 1600 * time.Millisecond, 7: 5 * time.Second, 1_000_000: 5 * time.Second,
	} {
		for range 100 {
			if got := s.pause(failures); got < most/2 || got > most {
				t.Fatalf("%d failures: pause %v, want %v to %v", failures, got, most/2, most)
			}
		}
	}
}
