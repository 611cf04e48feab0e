package sink

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore"

	"warmpath/geo"
	"warmpath/telemetry"
)

// answer makes the error that azcore gives for a response.
func answer(status, subStatus int, header ...string) error {
	h := http.Header{}
	h.Set("x-ms-substatus", strconv.Itoa(subStatus))
	for i := 0; i+1 < len(header); i += 2 {
		h.Set(header[i], header[i+1])
	}
	return &azcore.ResponseError{StatusCode: status, RawResponse: &http.Response{StatusCode: status, Header: h}}
}

// scripted is a store that answers each document's writes from a list and then
// accepts. It remembers what it accepted, in order.
type scripted struct {
	mu       sync.Mutex
	answers  map[string][]error
	accepted []string
	tries    int
	busy     map[string]bool
	overlaps int
	changed  bool
	slow     time.Duration
}

func (s *scripted) WriteDocument(_ context.Context, d *Document) (Outcome, error) {
	s.mu.Lock()
	s.tries++
	if s.busy == nil {
		s.busy = map[string]bool{}
	}
	if s.busy[d.ID] {
		s.overlaps++
	}
	s.busy[d.ID] = true
	s.mu.Unlock()
	time.Sleep(s.slow)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.busy[d.ID] = false
	if left := s.answers[d.ID]; len(left) > 0 {
		s.answers[d.ID] = left[1:]
		return Unsettled, left[0]
	}
	s.accepted = append(s.accepted, fmt.Sprintf("%s@%d", d.ID, d.Order.Sequence))
	return Written, nil
}

func (s *scripted) KeyPathChanged(context.Context) (bool, error) { return s.changed, nil }

func (s *scripted) count() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.tries
}

// newTestPool starts a pool with short waits over the store.
func newTestPool(hard context.Context, t *testing.T, store Store, change func(*PoolConfig)) *Pool {
	t.Helper()
	config := DefaultPoolConfig()
	config.Lanes, config.RetryFirst, config.RetryMost = 8, time.Millisecond, 4*time.Millisecond
	if change != nil {
		change(&config)
	}
	tel, err := telemetry.New(telemetry.Options{Version: "test", Now: time.Now})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = tel.Shutdown(context.Background()) })
	p, err := NewPool(hard, config, store, tel, slog.New(slog.DiscardHandler), time.Now)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// write submits documents and returns their results in the order of submission.
func write(t *testing.T, p *Pool, documents ...Document) []Result {
	t.Helper()
	results := make([]Result, len(documents))
	var done sync.WaitGroup
	for i := range documents {
		d := &documents[i]
		d.Index, d.Done = i, func(d *Document, r Result) {
			results[d.Index] = r
			done.Done()
		}
		done.Add(1)
		if err := p.Submit(context.Background(), d); err != nil {
			t.Fatal(err)
		}
	}
	done.Wait()
	return results
}

func document(id string, sequence int64) Document {
	return Document{Key: id, ID: id, Body: []byte("{}"), Order: geo.Order{Enqueued: time.Now().UnixMilli(), Sequence: sequence}}
}

func TestWhatEachAnswerMeans(t *testing.T) {
	for _, test := range []struct {
		name    string
		err     error
		want    kind
		outcome Outcome
	}{
		{"throttled", answer(429, 3200, "x-ms-retry-after-ms", "1.5"), throttled, Written},
		{"request timeout", answer(408, 0), transient, Written},
		{"retry with", answer(449, 0), transient, Written},
		{"moved", answer(410, 1002), transient, Written},
		{"internal", answer(500, 0), transient, Written},
		{"unavailable", answer(503, 0), transient, Written},
		{"no answer", errors.New("connection reset by peer"), transient, Written},
		{"unauthorized", answer(401, 0), storeFault, Written},
		{"forbidden", answer(403, 5300), storeFault, Written},
		{"container gone", answer(404, 0), storeFault, Written},
		{"logical partition full", answer(403, 1014), rejected, Rejected},
		{"bad request", answer(400, 0), rejected, Rejected},
		{"too large", answer(413, 0), rejected, Rejected},
	} {
		t.Run(test.name, func(t *testing.T) {
			if got := classify(test.err).kind; got != test.want {
				t.Errorf("kind %d, want %d", got, test.want)
			}
			store := &scripted{answers: map[string][]error{"a": {test.err}}}
			p := newTestPool(context.Background(), t, store, nil)
			defer p.Close()
			if got := write(t, p, document("a", 1))[0]; got.Outcome != test.outcome {
				t.Errorf("outcome %v (%v), want %v", got.Outcome, got.Err, test.outcome)
			}
		})
	}
}

func TestThrottledWaitsAsTold(t *testing.T) {
	store := &scripted{answers: map[string][]error{"a": {answer(429, 3200, "x-ms-retry-after-ms", "60")}}}
	p := newTestPool(context.Background(), t, store, nil)
	defer p.Close()
	started := time.Now()
	write(t, p, document("a", 1))
	if took := time.Since(started); took < 60*time.Millisecond {
		t.Errorf("written after %v, the service asked for 60 ms", took)
	}
}

// Promise 3 within the process: versions of one document leave in the order of
// submission, one at a time, whatever is retried.
func TestOneDocumentIsWrittenInOrder(t *testing.T) {
	store := &scripted{slow: 200 * time.Microsecond, answers: map[string][]error{"a": {answer(503, 0), answer(449, 0)}}}
	p := newTestPool(context.Background(), t, store, nil)
	var documents []Document
	for n := range int64(20) {
		documents = append(documents, document("a", n), document("b", n))
	}
	write(t, p, documents...)
	p.Close()
	next := map[string]int64{}
	for _, got := range store.accepted {
		id, _, _ := strings.Cut(got, "@")
		if want := fmt.Sprintf("%s@%d", id, next[id]); got != want {
			t.Fatalf("accepted %s, want %s", got, want)
		}
		next[id]++
	}
	if store.overlaps > 0 || len(store.accepted) != 40 {
		t.Errorf("%d overlapping writes of one document, %d accepted of 40", store.overlaps, len(store.accepted))
	}
}

func TestAnOlderVersionIsSuperseded(t *testing.T) {
	store := &scripted{}
	p := newTestPool(context.Background(), t, store, nil)
	defer p.Close()
	newer := document("a", 7)
	older, same := newer, newer
	older.Order.Sequence = 6
	for i, want := range []Outcome{Written, Superseded, Written} {
		if got := write(t, p, []Document{newer, older, same}[i])[0].Outcome; got != want {
			t.Errorf("write %d: %v, want %v", i, got, want)
		}
	}
}

func TestHistoryWritesOlderVersionsToo(t *testing.T) {
	p := newTestPool(context.Background(), t, &scripted{}, func(c *PoolConfig) { c.NewestWins = false })
	defer p.Close()
	for _, sequence := range []int64{7, 6} {
		if got := write(t, p, document("a", sequence))[0].Outcome; got != Written {
			t.Errorf("sequence %d: %v, want written", sequence, got)
		}
	}
}

// Promise 4: no request is started for a position that is too old, neither the
// first nor a retry.
func TestNoRequestForAStalePosition(t *testing.T) {
	store := &scripted{answers: map[string][]error{"ageing": {answer(429, 3200, "x-ms-retry-after-ms", "5000")}}}
	p := newTestPool(context.Background(), t, store, func(c *PoolConfig) { c.MaxAge = time.Minute })
	defer p.Close()
	old := document("old", 1)
	old.Order.Enqueued = time.Now().Add(-61 * time.Second).UnixMilli()
	if got := write(t, p, old)[0].Outcome; got != Stale || store.count() != 0 {
		t.Errorf("outcome %v after %d requests, want stale after none", got, store.count())
	}
	ageing := document("ageing", 1)
	ageing.Order.Enqueued = time.Now().Add(-time.Minute + 50*time.Millisecond).UnixMilli()
	started := time.Now()
	if got := write(t, p, ageing)[0].Outcome; got != Stale || store.count() != 1 {
		t.Errorf("outcome %v after %d requests, want stale after one", got, store.count())
	}
	if took := time.Since(started); took > 2*time.Second {
		t.Errorf("the lane was held for %v although the position was stale after 50 ms", took)
	}
}

func TestStalenessIsExact(t *testing.T) {
	now := time.UnixMilli(1_000_000)
	for _, test := range []struct {
		age, maxAge time.Duration
		want        bool
	}{
		{300_000 * time.Millisecond, 5 * time.Minute, false}, // exactly five minutes is fresh
		{300_001 * time.Millisecond, 5 * time.Minute, true},
		{-time.Second, 5 * time.Minute, false},
		{250 * 365 * 24 * time.Hour, 0, false}, // 0 switches the drop off
	} {
		if got := IsStale(now, test.maxAge, now.Add(-test.age).UnixMilli()); got != test.want {
			t.Errorf("age %v, max %v: %v, want %v", test.age, test.maxAge, got, test.want)
		}
	}
}

// Promise 6: a refusing store is held against, not against its documents; the
// pool says so, and recovers.
func TestAStoreAtFaultHoldsAndRecovers(t *testing.T) {
	var refusals []error
	for range 20 {
		refusals = append(refusals, answer(403, 5300))
	}
	p := newTestPool(context.Background(), t, &scripted{answers: map[string][]error{"a": refusals}}, nil)
	defer p.Close()
	done := make(chan Result, 1)
	d := document("a", 1)
	d.Done = func(_ *Document, r Result) { done <- r }
	if err := p.Submit(context.Background(), &d); err != nil {
		t.Fatal(err)
	}
	for p.Ready() == nil {
		select {
		case r := <-done:
			t.Fatalf("settled as %v without being held", r.Outcome)
		default:
		}
	}
	if err := p.Ready(); err != nil && !strings.Contains(err.Error(), "403") {
		t.Errorf("not ready because %q, want the status in it", err)
	}
	if r := <-done; r.Outcome != Written {
		t.Errorf("outcome %v, want written", r.Outcome)
	}
	for p.Ready() != nil { // the lane leaves the hold just after it has reported
		time.Sleep(time.Millisecond)
	}
}

// Promise 5: 400/1001 reads the definition again; if the path is another one,
// nothing is written any more.
func TestAChangedKeyPathStopsWriting(t *testing.T) {
	hard, letGo := context.WithCancel(context.Background())
	defer letGo()
	store := &scripted{changed: true, answers: map[string][]error{"a": {answer(400, 1001)}}}
	p := newTestPool(hard, t, store, nil)
	defer p.Close()
	done := make(chan Result, 2)
	for _, id := range []string{"a", "b"} {
		d := document(id, 1)
		d.Done = func(_ *Document, r Result) { done <- r }
		if id == "b" {
			for p.Ready() == nil { // until the first has met the refusal
				time.Sleep(time.Millisecond)
			}
		}
		if err := p.Submit(context.Background(), &d); err != nil {
			t.Fatal(err)
		}
	}
	if err := p.Ready(); err == nil || !strings.Contains(err.Error(), "key path has changed") {
		t.Errorf("ready says %v", err)
	}
	letGo()
	for range 2 {
		if r := <-done; r.Outcome != Unsettled {
			t.Errorf("outcome %v, want unsettled", r.Outcome)
		}
	}
	if len(store.accepted) != 0 {
		t.Errorf("written after the key path changed: %v", store.accepted)
	}
}

func TestAKeyMismatchOfOneDocumentRejectsIt(t *testing.T) {
	p := newTestPool(context.Background(), t, &scripted{answers: map[string][]error{"a": {answer(400, 1001), answer(400, 1001)}}}, nil)
	defer p.Close()
	if got := write(t, p, document("a", 1))[0].Outcome; got != Rejected {
		t.Errorf("outcome %v, want rejected", got)
	}
	if err := p.Ready(); err != nil {
		t.Errorf("one document's fault makes the pool unready: %v", err)
	}
}

// Promise 7: a full lane blocks the submitter; nothing grows.
func TestSubmitBlocksOnAFullLane(t *testing.T) {
	hard, letGo := context.WithCancel(context.Background())
	p := newTestPool(hard, t, &scripted{slow: 50 * time.Millisecond}, func(c *PoolConfig) { c.Lanes, c.Queue, c.Remember = 1, 2, 10 })
	defer p.Close()
	defer letGo()
	short, cancel := context.WithTimeout(context.Background(), 20*time.Millisecond)
	defer cancel()
	accepted := 0
	for n := range int64(10) {
		d := document("a", n)
		d.Done = func(*Document, Result) {}
		if err := p.Submit(short, &d); err != nil {
			if !errors.Is(err, context.DeadlineExceeded) {
				t.Fatal(err)
			}
			break
		}
		accepted++
	}
	if accepted != 3 { // one in hand, two queued
		t.Errorf("%d documents taken by a lane with a queue of 2, want 3", accepted)
	}
}

func TestStoppingReportsEveryDocumentOnce(t *testing.T) {
	hard, letGo := context.WithCancel(context.Background())
	refuse := make([]error, 1000)
	for i := range refuse {
		refuse[i] = answer(503, 0)
	}
	p := newTestPool(hard, t, &scripted{answers: map[string][]error{"a": refuse}}, nil)
	var reports [6]int
	for i := range reports {
		d := document("a", int64(i))
		d.Done = func(_ *Document, r Result) {
			if r.Outcome != Unsettled {
				t.Errorf("document %d: %v, want unsettled", i, r.Outcome)
			}
			reports[i]++
		}
		if err := p.Submit(context.Background(), &d); err != nil {
			t.Fatal(err)
		}
	}
	letGo()
	p.Close()
	if reports != [6]int{1, 1, 1, 1, 1, 1} {
		t.Errorf("reports per document %v, want one each", reports)
	}
}

func TestWhatIsRememberedIsBounded(t *testing.T) {
	r := newRecent[int](10)
	for i := range 1000 {
		r.put(documentKey{"k", strconv.Itoa(i)}, i)
		if size := len(r.young) + len(r.old); size > 10 {
			t.Fatalf("%d documents remembered, want at most 10", size)
		}
	}
	if got, ok := r.get(documentKey{"k", "999"}); !ok || got != 999 {
		t.Error("what was put last is forgotten")
	}
	r.forget(documentKey{"k", "999"})
	if _, ok := r.get(documentKey{"k", "999"}); ok {
		t.Error("what was to be forgotten is remembered")
	}
}

func TestPoolSettingsNameThemselves(t *testing.T) {
	for want, change := range map[string]func(*PoolConfig){
		"lanes is 0, allowed are 1 to 4096":            func(c *PoolConfig) { c.Lanes = 0 },
		"queue is 70000, allowed are 1 to 65536":       func(c *PoolConfig) { c.Queue = 70000 },
		"max age is -1s, allowed is 0 or more":         func(c *PoolConfig) { c.MaxAge = -time.Second },
		"remember is 1, allowed is at least one":       func(c *PoolConfig) { c.Remember = 1 },
		"retry runs from 1s to 1ms, allowed is 0 < fi": func(c *PoolConfig) { c.RetryFirst, c.RetryMost = time.Second, time.Millisecond },
	} {
		c := DefaultPoolConfig()
		change(&c)
		if err := c.Validate(); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want %q", err, want)
		}
	}
}
