package bulk_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"warmpath/internal/emulator/cosmos"
	"warmpath/sink/bulk"
)

func upsert(i int) bulk.Operation {
	return bulk.Operation{Key: bulk.StringKey(device(i)), ID: device(i), Body: document(device(i), i), Index: i}
}

// What one operation, or the request that it is in, is refused with, and is
// tried again after.
func TestTriedAgain(t *testing.T) {
	tests := []struct {
		name    string
		on      cosmos.Op
		fault   cosmos.Fault
		unclear bool
	}{
		{"throttled operation", cosmos.UpsertOperation, cosmos.Throttle(5 * time.Millisecond), false},
		{"throttled operation without a wait", cosmos.UpsertOperation, cosmos.Answer(429, 3200), false},
		{"contended operation", cosmos.UpsertOperation, cosmos.Answer(449, 0), false},
		{"operation not executed", cosmos.UpsertOperation, cosmos.Answer(424, 0), false},
		{"operation timed out", cosmos.UpsertOperation, cosmos.Answer(408, 0), true},
		{"operation failed", cosmos.UpsertOperation, cosmos.Answer(500, 0), true},
		{"operation unavailable", cosmos.UpsertOperation, cosmos.Answer(503, 0), true},
		{"operation on a range that moved", cosmos.UpsertOperation, cosmos.Answer(410, 1002), false},
		{"operation during a split", cosmos.UpsertOperation, cosmos.Answer(410, 1007), false},
		{"operation with too large an answer", cosmos.UpsertOperation, cosmos.Answer(413, 3402), false},
		{"operation unauthorized", cosmos.UpsertOperation, cosmos.Answer(401, 0), false},
		{"operation forbidden", cosmos.UpsertOperation, cosmos.Answer(403, 0), false},
		{"operation on a missing container", cosmos.UpsertOperation, cosmos.Answer(404, 1003), false},
		{"operation with an unheard-of answer", cosmos.UpsertOperation, cosmos.Answer(599, 0), true},

		{"throttled request", cosmos.BulkRequest, cosmos.Throttle(5 * time.Millisecond), false},
		{"contended request", cosmos.BulkRequest, cosmos.Answer(449, 0), false},
		{"request timed out", cosmos.BulkRequest, cosmos.Answer(408, 0), true},
		{"request unavailable", cosmos.BulkRequest, cosmos.Answer(503, 0), true},
		{"request to a range that moved", cosmos.BulkRequest, cosmos.Answer(410, 1002), false},
		{"request with a stale name", cosmos.BulkRequest, cosmos.Answer(410, 1000), false},
		{"request unauthorized", cosmos.BulkRequest, cosmos.Answer(401, 0), false},
		{"request forbidden", cosmos.BulkRequest, cosmos.Answer(403, 0), false},
		{"request where writes are forbidden", cosmos.BulkRequest, cosmos.Answer(403, 3), false},
		{"request to a missing container", cosmos.BulkRequest, cosmos.Answer(404, 1003), false},
		{"connection broken before", cosmos.BulkRequest, cosmos.Fault{Reset: true}, true},
		{"connection broken after", cosmos.BulkRequest, cosmos.Fault{Reset: true, Applied: true}, true},
		{"answer lost", cosmos.BulkRequest, cosmos.Fault{Status: 503, Applied: true}, true},
		{"answer cut off", cosmos.BulkRequest, cosmos.Fault{Truncate: true}, true},
		{"a result too few", cosmos.BulkRequest, cosmos.Fault{Results: -1}, true},
		{"a result too many", cosmos.BulkRequest, cosmos.Fault{Results: 1}, true},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			server := newServer(t)
			w := newWriter(t, server, testConfig())
			server.Control(tt.on, cosmos.Once(tt.fault))
			r := do(t, w, upsert(1))
			if r.Err != nil || r.Status != 201 && r.Status != 200 || r.Attempts != 2 || r.Unclear != tt.unclear {
				t.Errorf("result %+v, want written in 2 attempts, unclear %v", r, tt.unclear)
			}
			eventually(t, "good health", func() bool { return w.Health() == nil })
		})
	}
}

// What the caller hears and nobody tries again.
func TestRefusals(t *testing.T) {
	for _, tt := range []struct{ status, sub int }{{400, 0}, {400, 1001}, {403, 1014}, {409, 0}, {412, 0}, {413, 0}} {
		t.Run(fmt.Sprint(tt.status, "/", tt.sub), func(t *testing.T) {
			server := newServer(t)
			w := newWriter(t, server, testConfig())
			server.Control(cosmos.UpsertOperation, cosmos.Once(cosmos.Answer(tt.status, tt.sub)))
			r := do(t, w, upsert(1))
			var refused *bulk.StatusError
			if !errors.As(r.Err, &refused) || refused.Status != tt.status || refused.SubStatus != tt.sub || r.Status != tt.status || r.SubStatus != tt.sub || r.Attempts != 1 || r.Unclear {
				t.Errorf("result %+v, want %d/%d after one attempt", r, tt.status, tt.sub)
			}
		})
	}
}

// Faults of the store hold what is waiting, and show.
func TestStoreFaultsHold(t *testing.T) {
	for _, tt := range []struct {
		on          cosmos.Op
		status, sub int
	}{
		{cosmos.BulkRequest, 401, 0}, {cosmos.BulkRequest, 403, 0}, {cosmos.BulkRequest, 404, 1003}, {cosmos.BulkRequest, 503, 0},
		{cosmos.UpsertOperation, 401, 0}, {cosmos.UpsertOperation, 403, 0}, {cosmos.UpsertOperation, 404, 0},
	} {
		t.Run(fmt.Sprint(tt.on, " ", tt.status, "/", tt.sub), func(t *testing.T) {
			server := newServer(t)
			w := newWriter(t, server, testConfig())
			remove := server.Control(tt.on, cosmos.Always(cosmos.Answer(tt.status, tt.sub)))
			got := newCollector()
			op := upsert(1)
			op.Done = got.done
			submit(t, w, &op)
			eventually(t, "a fault in Health", func() bool {
				var fault *bulk.StatusError
				return errors.As(w.Health(), &fault) && fault.Status == tt.status
			})
			if w.Pending() != 1 {
				t.Fatalf("%d operations are pending, want the one that is held", w.Pending())
			}
			remove()
			flush(t, w)
			if r := got.one(t, 1); r.Err != nil || r.Attempts < 2 {
				t.Errorf("result %+v after the fault has gone", r)
			}
			eventually(t, "good health", func() bool { return w.Health() == nil })
		})
	}
}

func eventually(t testing.TB, what string, holds func() bool) {
	t.Helper()
	for deadline := time.Now().Add(10 * time.Second); time.Now().Before(deadline); time.Sleep(2 * time.Millisecond) {
		if holds() {
			return
		}
	}
	t.Fatalf("waited in vain for %s", what)
}

// A request that is too large is sent in halves.
func TestTooLargeRequestIsHalved(t *testing.T) {
	server := newServer(t)
	config := testConfig()
	var sizes recorder
	config.Observer = &sizes
	config.Linger = 50 * time.Millisecond
	w := newWriter(t, server, config)
	saturate(t, w)
	sizes.reset()

	server.Control(cosmos.BulkRequest, cosmos.Once(cosmos.Answer(http.StatusRequestEntityTooLarge, 0)))
	got := newCollector()
	for i := range 8 {
		op := upsert(i)
		op.Done = got.done
		submit(t, w, &op)
	}
	flush(t, w)
	for i := range 8 {
		if r := got.one(t, i); r.Err != nil {
			t.Errorf("result %d: %+v", i, r)
		}
	}
	counts := sizes.operations()
	if counts[0] != 8 || slices.Max(counts[1:]) > 4 {
		t.Errorf("requests of %v operations, want 8 and then no more than halves", counts)
	}
}

func TestOneOperationTooLargeForARequest(t *testing.T) {
	server := newServer(t)
	w := newWriter(t, server, testConfig())
	remove := server.Control(cosmos.BulkRequest, cosmos.Always(cosmos.Answer(http.StatusRequestEntityTooLarge, 0)))
	if r := do(t, w, upsert(1)); r.Status != http.StatusRequestEntityTooLarge || r.Err == nil {
		t.Errorf("result %+v, want 413", r)
	}
	remove()
	body := []byte(fmt.Sprintf(`{"id":"big","deviceId":"big","text":%q}`, strings.Repeat("x", 600_000)))
	if r := do(t, w, bulk.Operation{Key: bulk.StringKey("big"), ID: "big", Body: body}); r.Status != 201 {
		t.Errorf("a document larger than a request's usual size: %+v", r)
	}
}

// A body that is not JSON spoils its request: it is found, and the others are
// written.
func TestPoisonIsFoundByHalving(t *testing.T) {
	const n, poison = 40, 17
	server := newServer(t)
	config := testConfig()
	config.Linger = 50 * time.Millisecond
	w := newWriter(t, server, config)
	saturate(t, w)
	got := newCollector()
	for i := range n {
		op := upsert(i)
		if i == poison {
			op.Body = []byte(`{"id":"` + device(i) + `","deviceId":`)
		}
		op.Done = got.done
		submit(t, w, &op)
	}
	flush(t, w)
	for i := range n {
		if r := got.one(t, i); (r.Status == 400) != (i == poison) || r.Err != nil && i != poison {
			t.Errorf("result %d: %+v", i, r)
		}
	}
}

// saturate lets the writer learn that it may send large requests.
func saturate(t testing.TB, w *bulk.Writer) {
	t.Helper()
	got := newCollector()
	for i := range 2000 {
		op := upsert(i + 100_000)
		op.Done = got.done
		submit(t, w, &op)
	}
	flush(t, w)
}

// recorder is an observer that keeps what it hears.
type recorder struct {
	mu        sync.Mutex
	requests  []bulk.Request
	paused    map[string]time.Duration
	refreshed []error
}

func (r *recorder) Requested(q *bulk.Request) {
	r.mu.Lock()
	defer r.mu.Unlock()
	kept := *q
	kept.Tally = append([]bulk.Tally(nil), q.Tally...)
	r.requests = append(r.requests, kept)
}

func (r *recorder) Paused(id string, d time.Duration) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.paused == nil {
		r.paused = make(map[string]time.Duration)
	}
	r.paused[id] += d
}

func (r *recorder) Refreshed(err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.refreshed = append(r.refreshed, err)
}

func (r *recorder) reset() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.requests, r.paused, r.refreshed = nil, nil, nil
}

func (r *recorder) operations() []int {
	r.mu.Lock()
	defer r.mu.Unlock()
	var out []int
	for _, q := range r.requests {
		out = append(out, q.Operations)
	}
	return out
}

func TestObserver(t *testing.T) {
	server := newServer(t, cosmos.WithRanges(2))
	config := testConfig()
	var heard recorder
	config.Observer = &heard
	config.MaxRUPerSecond = 1e6 // one refusal is not to set the pace
	w := newWriter(t, server, config)
	server.Control(cosmos.UpsertOperation, cosmos.Once(cosmos.Throttle(20*time.Millisecond)))
	server.Control(cosmos.BulkRequest, cosmos.Once(cosmos.Answer(410, 1002)))
	const n = 300
	got := newCollector()
	for i := range n {
		op := upsert(i)
		op.Done = got.done
		submit(t, w, &op)
	}
	flush(t, w)
	w.Close()

	charged := 0.0
	for i := range n {
		charged += got.one(t, i).RequestCharge
	}
	var byStatus [600]int
	var throttled, bytes int
	var units, tallied float64
	for _, q := range heard.requests {
		if q.Range != "0" && q.Range != "1" || q.Duration <= 0 {
			t.Errorf("request %+v", q)
		}
		throttled += q.Throttled
		units += q.Charge
		bytes += q.Bytes
		sum := 0
		for _, y := range q.Tally {
			byStatus[y.Status] += y.Operations
			tallied += y.Charge
			sum += y.Operations
		}
		if sum != q.Operations {
			t.Errorf("request of %d operations with a tally of %d", q.Operations, sum)
		}
	}
	if byStatus[201] != n || byStatus[429] != 1 || byStatus[410] == 0 || throttled != 1 || bytes < n*400 {
		t.Errorf("%d written, %d throttled (%d), %d moved, %d bytes", byStatus[201], byStatus[429], throttled, byStatus[410], bytes)
	}
	if diff := tallied - charged; diff > 0.01 || diff < -0.01 || units < charged-1 || units > charged+1 {
		t.Errorf("requests %.2f RU, tallies %.2f RU, results %.2f RU: want the same", units, tallied, charged)
	}
	var pause time.Duration
	for _, d := range heard.paused {
		pause += d
	}
	if pause < 10*time.Millisecond || pause > 20*time.Millisecond {
		t.Errorf("paused for %v, want 20ms", pause)
	}
	if len(heard.refreshed) == 0 || heard.refreshed[0] != nil {
		t.Errorf("refreshes %v, want at least one", heard.refreshed)
	}
}

func TestAdmitIsAskedBeforeEveryRequest(t *testing.T) {
	server := newServer(t)
	config := testConfig()
	var asked atomic.Int64
	config.Admit = func(*bulk.Operation) bool { return asked.Add(1) < 4 }
	w := newWriter(t, server, config)
	server.Control(cosmos.UpsertOperation, cosmos.Always(cosmos.Answer(503, 0)))
	r := do(t, w, upsert(1))
	if !errors.Is(r.Err, bulk.ErrNotAdmitted) || r.Status != 0 || r.Attempts != 3 || !r.Unclear || asked.Load() != 4 {
		t.Errorf("result %+v after %d questions, want it not admitted after 3 attempts", r, asked.Load())
	}
	if n := len(server.Journal(database, container)); n != 0 {
		t.Errorf("%d writes, want none", n)
	}
}

// What Revise makes of an operation goes ahead of what waits for the document.
func TestReviseKeepsItsPlace(t *testing.T) {
	server := newServer(t)
	config := testConfig()
	config.Revise = func(op *bulk.Operation, r bulk.Result) bool {
		switch {
		case op.Kind == bulk.Create && r.Status == 409:
			op.Kind, op.Body = bulk.Read, nil
			return true
		case op.Kind == bulk.Read && r.Status == 200:
			op.Kind, op.IfMatch, op.Body = bulk.Replace, r.ETag, document(device(1), op.Index)
			return true
		}
		return false
	}
	w := newWriter(t, server, config)
	got := newCollector()
	const n = 20
	for i := range n {
		op := &bulk.Operation{Kind: bulk.Create, Key: bulk.StringKey(device(1)), ID: device(1), Body: document(device(1), i), Index: i, Done: got.done}
		submit(t, w, op)
	}
	flush(t, w)
	for i := range n {
		if r := got.one(t, i); r.Err != nil || (r.Status == 201) != (i == 0) {
			t.Errorf("result %d: %+v", i, r)
		}
	}
	checkJournal(t, server.Journal(database, container), n)
}

// The answer to a Create is lost: the caller is told that the conflict may be
// its own doing.
func TestLostAnswerToCreateIsUnclear(t *testing.T) {
	server := newServer(t)
	w := newWriter(t, server, testConfig())
	server.Control(cosmos.BulkRequest, cosmos.Once(cosmos.Fault{Reset: true, Applied: true}))
	op := upsert(1)
	op.Kind = bulk.Create
	if r := do(t, w, op); r.Status != 409 || !r.Unclear || r.Attempts != 2 {
		t.Errorf("result %+v, want an unclear 409", r)
	}
}

func TestPatch(t *testing.T) {
	server := newServer(t)
	w := newWriter(t, server, testConfig())
	do(t, w, upsert(1))
	body, err := bulk.PatchBody("from c where c.n < 5", bulk.PatchStep{Op: bulk.PatchSet, Path: "/n", Value: []byte("5")}, bulk.PatchStep{Op: bulk.PatchRemove, Path: "/deliveryId"})
	if err != nil {
		t.Fatal(err)
	}
	op := bulk.Operation{Kind: bulk.Patch, Key: bulk.StringKey(device(1)), ID: device(1), Body: body}
	if r := do(t, w, op); r.Status != 200 || r.Err != nil {
		t.Errorf("patch: %+v", r)
	}
	if r := do(t, w, op); r.Status != 412 {
		t.Errorf("patch whose condition does not hold: %+v", r)
	}
	read := do(t, w, bulk.Operation{Kind: bulk.Read, Key: op.Key, ID: op.ID})
	if s := string(read.Body); !strings.Contains(s, `"n":5`) || strings.Contains(s, "deliveryId") {
		t.Errorf("after the patch: %s", s)
	}
}

func TestHardContextEndsEverything(t *testing.T) {
	server := newServer(t, cosmos.WithRanges(3))
	hard, end := context.WithCancelCause(context.Background())
	config := testConfig()
	config.MaxPending = 500
	config.RequestTimeout = time.Minute
	w := startWriter(t, hard, targetOf(t, server), config)
	server.Control(cosmos.BulkRequest, cosmos.Always(cosmos.Fault{Delay: time.Minute}))
	got := newCollector()
	blocked := make(chan error, 1)
	for i := range 500 {
		op := upsert(i)
		op.Done = got.done
		submit(t, w, &op)
	}
	go func() {
		op := upsert(500)
		op.Done = got.done
		blocked <- w.Submit(context.Background(), &op)
	}()
	time.Sleep(30 * time.Millisecond)
	cause := errors.New("enough")
	began := time.Now()
	end(cause)
	w.Close()
	if d := time.Since(began); d > 2*time.Second {
		t.Errorf("closing took %v", d)
	}
	sent := 0
	for i := range 500 {
		r := got.one(t, i)
		if !errors.Is(r.Err, cause) || r.Status != 0 || r.Unclear != (r.Attempts == 1) {
			t.Fatalf("result %d: %+v, want the cause", i, r)
		}
		sent += r.Attempts
	}
	if sent == 0 || sent == 500 {
		t.Errorf("%d of 500 operations were under way, want some", sent)
	}
	if err := <-blocked; err == nil {
		if r := got.one(t, 500); !errors.Is(r.Err, cause) {
			t.Errorf("result of the blocked one: %+v", r)
		}
	}
	if err := w.Health(); !errors.Is(err, cause) {
		t.Errorf("health %v, want the cause", err)
	}
}
