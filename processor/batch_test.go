package processor

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/messaging/azeventhubs/v2"

	"warmpath/geo"
	"warmpath/sink"
	"warmpath/telemetry"
)

var noon = time.Date(2026, 11, 30, 12, 0, 0, 0, time.UTC)

// fakeSink answers by document id and remembers the order of arrival.
type fakeSink struct {
	outcome map[string]sink.Outcome
	refuse  error // of Submit
	arrived []string
	bodies  map[string]string
}

func (f *fakeSink) Submit(_ context.Context, d *sink.Document) error {
	if f.refuse != nil {
		return f.refuse
	}
	if f.bodies == nil {
		f.bodies = map[string]string{}
	}
	f.arrived = append(f.arrived, d.ID)
	f.bodies[d.ID] = string(d.Body)
	outcome, ok := f.outcome[d.ID]
	if !ok {
		outcome = sink.Written
	}
	r := sink.Result{Outcome: outcome, At: noon}
	if outcome == sink.Rejected || outcome == sink.Unsettled {
		r.Err = errors.New("the store said no")
	}
	go d.Done(d, r)
	return nil
}

// fakeDead keeps letters after a number of failures.
type fakeDead struct {
	failures int
	letters  []sink.DeadLetter
}

func (f *fakeDead) Put(_ context.Context, letters []sink.DeadLetter) error {
	if f.failures > 0 {
		f.failures--
		return errors.New("disk full")
	}
	f.letters = append(f.letters, letters...)
	return nil
}

type batchTest struct {
	*batcher
	sink   *fakeSink
	dead   *fakeDead
	ledger *telemetry.Ledger
}

func newBatchTest(t *testing.T, change func(*Config)) *batchTest {
	t.Helper()
	config := DefaultConfig()
	if change != nil {
		change(&config)
	}
	decoder, err := geo.NewDecoder(geo.DefaultConfig())
	if err != nil {
		t.Fatal(err)
	}
	tel, err := telemetry.New(telemetry.Options{Version: "test", Now: func() time.Time { return noon }})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = tel.Shutdown(context.Background()) })
	b := &batchTest{sink: &fakeSink{}, dead: &fakeDead{}, ledger: tel.Ledger}
	b.batcher = &batcher{
		config: config, partition: "0", decoder: decoder, sink: b.sink, dead: b.dead,
		account: tel.Ledger.Partition("0"), tel: tel,
		log: slog.New(slog.DiscardHandler), now: func() time.Time { return noon },
	}
	return b
}

// event makes an event as the hub would hand it over.
func event(sequence int64, age time.Duration, body string) *azeventhubs.ReceivedEventData {
	at := noon.Add(-age)
	return &azeventhubs.ReceivedEventData{
		EventData:      azeventhubs.EventData{Body: []byte(body)},
		SequenceNumber: sequence, Offset: fmt.Sprint(sequence * 100), EnqueuedTime: &at,
	}
}

func flat(device string) string {
	return `{"deviceId":"` + device + `","latitude":47.6,"longitude":-122.1}`
}

// row returns the account's row after checking that it balances.
func (b *batchTest) row(t *testing.T) telemetry.Row {
	t.Helper()
	s := b.ledger.Snapshot()
	if err := s.Balance(); err != nil {
		t.Fatal(err)
	}
	return s.Partitions[0]
}

func TestEveryPositionOfABatchIsSettled(t *testing.T) {
	b := newBatchTest(t, nil)
	b.sink.outcome = map[string]sink.Outcome{"refused": sink.Rejected, "aged": sink.Stale, "older": sink.Superseded}
	events := []*azeventhubs.ReceivedEventData{
		event(0, time.Second, flat("a")),
		event(1, time.Second, "["+flat("a")+","+flat("b")+"]"),
		event(2, 6*time.Minute, "["+flat("c")+","+flat("d")+"]"),
		event(3, time.Second, `{"deviceId":"a","sensorType":"drone-state-sensor;v1"}`),
		event(4, time.Second, "no payload"),
		event(5, time.Second, flat("refused")),
		event(6, time.Second, flat("aged")),
		event(7, time.Second, flat("older")),
	}
	settled, err := b.settle(context.Background(), noon, events)
	if err != nil || settled != len(events) {
		t.Fatalf("settled %d of %d: %v", settled, len(events), err)
	}
	r := b.row(t)
	if r.Events != 8 || r.Received != 10 || r.Written != 2 || r.Superseded != 2 || r.InFlight != 0 ||
		!maps.Equal(r.Dropped, map[string]int64{"stale": 3, "other_sensor": 1}) ||
		!maps.Equal(r.DeadLettered, map[string]int64{"malformed": 1, "rejected": 1}) {
		t.Errorf("unexpected row %+v", r)
	}
	if want := []string{"a", "b", "refused", "aged", "older"}; !slices.Equal(b.sink.arrived, want) {
		t.Errorf("submitted %v, want %v", b.sink.arrived, want)
	}
	if !strings.Contains(b.sink.bodies["a"], `"sequenceNumber":1,"index":0`) {
		t.Errorf("the older position of a was written: %s", b.sink.bodies["a"])
	}
	if l := b.dead.letters; len(l) != 2 || l[0].Reason != "malformed" || l[0].SequenceNumber != 4 || l[0].Offset != "400" ||
		string(l[0].Body) != "no payload" || l[0].Error == "" || l[1].Reason != "rejected" || l[1].DeviceID != "refused" {
		t.Errorf("dead letters %+v", l)
	}
}

// "Newer" asks the enqueued time before the sequence number: a hub that was
// re-created begins again at 0.
func TestTheNewestOfABatchIsByEnqueuedTime(t *testing.T) {
	b := newBatchTest(t, nil)
	events := []*azeventhubs.ReceivedEventData{
		event(900, 2*time.Second, flat("a")),
		event(1, time.Second, flat("a")),
		event(901, 3*time.Second, flat("a")),
	}
	if _, err := b.settle(context.Background(), noon, events); err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(b.sink.bodies["a"], `"sequenceNumber":1,`) || len(b.sink.arrived) != 1 {
		t.Errorf("written %v, want sequence number 1 only", b.sink.bodies)
	}
	if r := b.row(t); r.Superseded != 2 {
		t.Errorf("superseded %d, want 2", r.Superseded)
	}
}

func TestHistoryKeepsEveryPosition(t *testing.T) {
	b := newBatchTest(t, func(c *Config) { c.Mode, c.TTL = History, time.Hour })
	events := []*azeventhubs.ReceivedEventData{event(0, time.Second, "["+flat("a")+","+flat("a")+"]"), event(1, time.Second, flat("a"))}
	if _, err := b.settle(context.Background(), noon, events); err != nil {
		t.Fatal(err)
	}
	ms := noon.Add(-time.Second).UnixMilli()
	want := []string{fmt.Sprintf("a:%d:0:0:0", ms), fmt.Sprintf("a:%d:0:0:1", ms), fmt.Sprintf("a:%d:0:1:0", ms)}
	if !slices.Equal(b.sink.arrived, want) {
		t.Errorf("ids %v, want %v", b.sink.arrived, want)
	}
	if r := b.row(t); r.Written != 3 || r.Superseded != 0 {
		t.Errorf("unexpected row %+v", r)
	}
	if !strings.Contains(b.sink.bodies[want[0]], `"ttl":3600`) {
		t.Errorf("no time to live: %s", b.sink.bodies[want[0]])
	}
}

// Promise 2: what may be checkpointed is a contiguous prefix of settled events.
func TestOnlyASettledPrefixMayBeCheckpointed(t *testing.T) {
	for _, test := range []struct {
		name      string
		unsettled []string
		want      int
	}{
		{"the first", []string{"a"}, 0},
		{"one position of the second", []string{"c"}, 1},
		{"the last", []string{"d"}, 2},
	} {
		t.Run(test.name, func(t *testing.T) {
			b := newBatchTest(t, nil)
			b.sink.outcome = map[string]sink.Outcome{}
			for _, id := range test.unsettled {
				b.sink.outcome[id] = sink.Unsettled
			}
			settled, err := b.settle(context.Background(), noon, []*azeventhubs.ReceivedEventData{
				event(0, time.Second, flat("a")),
				event(1, time.Second, "["+flat("b")+","+flat("c")+"]"),
				event(2, time.Second, flat("d")),
			})
			if err == nil || settled != test.want {
				t.Errorf("prefix %d (%v), want %d and an error", settled, err, test.want)
			}
			if r := b.row(t); r.InFlight != int64(len(test.unsettled)) {
				t.Errorf("in flight %d, want %d", r.InFlight, len(test.unsettled))
			}
		})
	}
}

func TestARefusedSubmissionLeavesPositionsUnsettled(t *testing.T) {
	b := newBatchTest(t, nil)
	b.sink.refuse = context.Canceled
	settled, err := b.settle(context.Background(), noon, []*azeventhubs.ReceivedEventData{
		event(0, 6*time.Minute, flat("old")), event(1, time.Second, flat("a")),
	})
	if settled != 1 || !errors.Is(err, context.Canceled) {
		t.Errorf("prefix %d (%v), want 1 and the refusal", settled, err)
	}
}

// Promise 6: a dead-letter store that is down makes the partition wait, and
// nothing is lost.
func TestDeadLettersWaitForTheirStore(t *testing.T) {
	b := newBatchTest(t, nil)
	b.dead.failures = 2
	events := []*azeventhubs.ReceivedEventData{event(0, time.Second, "no payload")}
	if settled, err := b.settle(context.Background(), noon, events); err != nil || settled != 1 {
		t.Fatalf("settled %d: %v", settled, err)
	}
	if len(b.dead.letters) != 1 {
		t.Errorf("%d letters kept, want 1", len(b.dead.letters))
	}

	b.dead.failures = 1 << 30
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Millisecond)
	defer cancel()
	if settled, err := b.settle(ctx, noon, events); err == nil || settled != 0 {
		t.Errorf("a letter that could not be kept counts as settled (%d, %v)", settled, err)
	}
	if r := b.row(t); r.InFlight != 1 {
		t.Errorf("in flight %d, want 1", r.InFlight)
	}
}

// When the store refuses one document after the other, the partition stops
// instead of burying all of them; a document that is written begins anew.
func TestTooManyRejectionsInARowStop(t *testing.T) {
	b := newBatchTest(t, func(c *Config) { c.MaxRejected = 2 })
	b.sink.outcome = map[string]sink.Outcome{"a": sink.Rejected, "b": sink.Rejected, "d": sink.Rejected, "e": sink.Rejected, "f": sink.Rejected}
	var events []*azeventhubs.ReceivedEventData
	for i, device := range []string{"a", "b", "c", "d"} {
		events = append(events, event(int64(i), time.Second, flat(device)))
	}
	if settled, err := b.settle(context.Background(), noon, events); err != nil || settled != 4 {
		t.Fatalf("two rejections in a row: settled %d, %v", settled, err)
	}
	settled, err := b.settle(context.Background(), noon, []*azeventhubs.ReceivedEventData{event(4, time.Second, flat("e")), event(5, time.Second, flat("f"))})
	if !errors.Is(err, errTooManyRejected) || settled != 1 {
		t.Errorf("the third in a row: settled %d, %v; want 1 and a stop", settled, err)
	}
	if r := b.row(t); r.DeadLettered["rejected"] != 4 || r.InFlight != 1 || len(b.dead.letters) != 4 {
		t.Errorf("row %+v, %d letters", r, len(b.dead.letters))
	}
}

func TestAMissingKeyIsDroppedOnlyWhenSet(t *testing.T) {
	byDelivery := geo.DefaultConfig()
	byDelivery.KeyPath = "/deliveryId"
	decoder, err := geo.NewDecoder(byDelivery)
	if err != nil {
		t.Fatal(err)
	}
	for drop, want := range map[bool]string{false: "map[] map[missing_partition_key:1]", true: "map[missing_partition_key:1] map[]"} {
		b := newBatchTest(t, func(c *Config) { c.DropMissingKey = drop })
		b.decoder = decoder
		if _, err := b.settle(context.Background(), noon, []*azeventhubs.ReceivedEventData{event(0, time.Second, flat("a"))}); err != nil {
			t.Fatal(err)
		}
		r := b.row(t)
		if got := fmt.Sprint(r.Dropped, r.DeadLettered); got != want {
			t.Errorf("drop %v: %s, want %s", drop, got, want)
		}
	}
}

func TestProcessorSettingsNameThemselves(t *testing.T) {
	for want, change := range map[string]func(*Config){
		`mode is "newest", allowed are latest and history`: func(c *Config) { c.Mode = "newest" },
		`start is "now", allowed are earliest and latest`:  func(c *Config) { c.Start = "now" },
		"batch is 0, allowed are 1 to 5000":                func(c *Config) { c.Batch = 0 },
		"prefetch is 6000, allowed are 1 to 5000":          func(c *Config) { c.Prefetch = 6000 },
		"time to live is 1.5s, allowed are whole seconds":  func(c *Config) { c.TTL = 1500 * time.Millisecond },
		"ownership expiration is 5s, allowed is at least":  func(c *Config) { c.OwnershipExpiration = 5 * time.Second },
	} {
		c := DefaultConfig()
		change(&c)
		if err := c.Validate(); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want %q", err, want)
		}
	}
}
