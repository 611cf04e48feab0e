package cosmos_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"net/http"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore"

	"warmpath/internal/emulator/cosmos"
)

func TestControllersAnswerInOrder(t *testing.T) {
	s := newServer(t)
	coll := newContainer(t, s, cosmos.Container{})
	upsert(t, coll, "d1", "a", 0)
	s.Control(cosmos.UpsertOperation, cosmos.Once(cosmos.Answer(449, 0)))
	s.Control(cosmos.AnyOperation, cosmos.Once(cosmos.Throttle(time.Millisecond)))
	s.Control(cosmos.ReadOperation, cosmos.Once(cosmos.Answer(400, 0)))
	remove := s.Control(cosmos.UpsertOperation, cosmos.Always(cosmos.Answer(503, 0)))
	for _, want := range []int{449, 429, 503, 503} {
		_, err := coll.UpsertItem(context.Background(), key("d1"), position("d1", "a", 1), nil)
		var re *azcore.ResponseError
		if !errors.As(err, &re) || re.StatusCode != want {
			t.Errorf("error %v, want status %d", err, want)
		}
	}
	remove()
	upsert(t, coll, "d1", "a", 2)
	_, err := coll.ReadItem(context.Background(), key("d1"), "a", nil)
	wantStatus(t, err, 400, 0)
}

func TestFaultsOfOneOperation(t *testing.T) {
	s := newServer(t)
	coll := newContainer(t, s, cosmos.Container{})
	upsert(t, coll, "d1", "warm", 1)
	ctx := context.Background()
	write := func() error {
		_, err := coll.UpsertItem(ctx, key("d1"), position("d1", "a", 1), nil)
		return err
	}
	tests := []struct {
		name    string
		op      cosmos.Op
		fault   cosmos.Fault
		check   func(t *testing.T, err error)
		written int // writes that took effect
	}{
		{"retry with", cosmos.UpsertOperation, cosmos.Answer(449, 0), status(449, 0), 0},
		{"throttled", cosmos.AnyOperation, cosmos.Throttle(25 * time.Millisecond), func(t *testing.T, err error) {
			re := wantStatus(t, err, 429, 3200)
			if ms, charge := re.RawResponse.Header.Get("x-ms-retry-after-ms"), re.RawResponse.Header.Get("x-ms-request-charge"); ms != "25" || charge != "0.76" {
				t.Errorf("retry after %q ms, charge %q; want 25 and 0.76", ms, charge)
			}
		}, 0},
		{"gone", cosmos.PointRequest, cosmos.Answer(410, 1002), status(410, 1002), 0},
		{"role removed", cosmos.AnyRequest, cosmos.Answer(403, 5300), status(403, 5300), 0},
		{"unavailable after it took effect", cosmos.UpsertOperation, cosmos.Fault{Status: 503, Applied: true}, status(503, 0), 1},
		{"request unavailable after it took effect", cosmos.PointRequest, cosmos.Fault{Status: 503, Applied: true}, status(503, 0), 1},
		{"connection reset", cosmos.PointRequest, cosmos.Fault{Reset: true}, broken, 0},
		{"connection reset by an operation", cosmos.UpsertOperation, cosmos.Fault{Reset: true}, broken, 0},
		{"connection reset after it took effect", cosmos.UpsertOperation, cosmos.Fault{Reset: true, Applied: true}, broken, 1},
		{"answer cut off", cosmos.UpsertOperation, cosmos.Fault{Truncate: true}, broken, 1},
		{"other operations are not concerned", cosmos.ReadOperation, cosmos.Answer(503, 0), passes, 1},
		{"other requests are not concerned", cosmos.BulkRequest, cosmos.Answer(503, 0), passes, 1},
		{"own words", cosmos.UpsertOperation, cosmos.Fault{Status: 400, Message: `no "entry"`}, func(t *testing.T, err error) {
			if re := wantStatus(t, err, 400, 0); !strings.Contains(re.Error(), "entry") {
				t.Errorf("message %v", re)
			}
		}, 0},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			before := len(s.Journal(testDB, testColl))
			remove := s.Control(tt.op, cosmos.Once(tt.fault))
			tt.check(t, write())
			if got := len(s.Journal(testDB, testColl)) - before; got != tt.written {
				t.Errorf("%d writes took effect, want %d", got, tt.written)
			}
			remove()
			if err := write(); err != nil {
				t.Errorf("the fault stayed: %v", err)
			}
		})
	}
}

func status(code, sub int) func(*testing.T, error) {
	return func(t *testing.T, err error) {
		t.Helper()
		wantStatus(t, err, code, sub)
	}
}

func broken(t *testing.T, err error) {
	t.Helper()
	var re *azcore.ResponseError
	if err == nil || errors.As(err, &re) || !errors.Is(err, syscall.ECONNRESET) && !errors.Is(err, io.EOF) && !errors.Is(err, io.ErrUnexpectedEOF) {
		t.Errorf("error %v, want a broken connection", err)
	}
}

func passes(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Errorf("error %v, want none", err)
	}
}

func TestDelays(t *testing.T) {
	s := newServer(t, entra(), cosmos.WithRanges(2))
	newContainer(t, s, cosmos.Container{})
	defer s.Control(cosmos.AnyOperation, cosmos.OnRange("1", cosmos.Always(cosmos.Fault{Delay: 150 * time.Millisecond, DelayAnswer: 50 * time.Millisecond})))()
	took := func(rangeID string, ops ...bulkOp) time.Duration {
		start := time.Now()
		if _, results := sendBulk(t, s, bulkHeader(rangeID), ops...); results[0].Status != 201 {
			t.Fatalf("results %s", statuses(results))
		}
		return time.Since(start)
	}
	if d := took("0", upsertOp("drone-000123", "a", 1)); d > 150*time.Millisecond {
		t.Errorf("the other range took %v", d)
	}
	// The delays of operations in one request do not add up.
	if d := took("1", upsertOp("drone-1", "a", 1), upsertOp("drone-1", "b", 1), upsertOp("drone-1", "c", 1)); d < 200*time.Millisecond || d > 350*time.Millisecond {
		t.Errorf("the slow range took %v, want 200ms", d)
	}
}

func TestBulkFaults(t *testing.T) {
	s := newServer(t, entra())
	newContainer(t, s, cosmos.Container{})
	ops := []bulkOp{upsertOp("d1", "a", 1), upsertOp("d2", "a", 1), upsertOp("d3", "a", 1)}
	byKey := func(key string, f cosmos.Fault) cosmos.Controller {
		return func(c cosmos.Call) *cosmos.Fault {
			if c.Key != key || c.ID != "a" || c.Range != "0" || c.Op != cosmos.UpsertOperation || c.Container != testColl {
				return nil
			}
			return &f
		}
	}
	s.Control(cosmos.AnyOperation, byKey(`["d2"]`, cosmos.Answer(449, 0)))
	if _, results := sendBulk(t, s, bulkHeader("0"), ops...); statuses(results) != "201 449 201" {
		t.Errorf("results %s, want the second to be 449", statuses(results))
	}
	if _, results := sendBulk(t, s, bulkHeader("0"), ops...); statuses(results) != "200 201 200" {
		t.Errorf("results %s, want the fault to be used up", statuses(results))
	}
	s.Control(cosmos.BulkRequest, cosmos.Once(cosmos.Fault{Results: -1}))
	if _, results := sendBulk(t, s, bulkHeader("0"), ops...); len(results) != 2 {
		t.Errorf("%d results, want 2", len(results))
	}
	s.Control(cosmos.BulkRequest, cosmos.Once(cosmos.Fault{Results: 1}))
	if _, results := sendBulk(t, s, bulkHeader("0"), ops...); len(results) != 4 {
		t.Errorf("%d results, want 4", len(results))
	}
	s.Control(cosmos.BulkRequest, cosmos.OnRange("0", cosmos.Once(cosmos.Answer(413, 0))))
	if res, _ := sendBulk(t, s, bulkHeader("0"), ops...); res.StatusCode != http.StatusRequestEntityTooLarge {
		t.Errorf("status %d, want 413", res.StatusCode)
	}
	// A controller may split the range under the request's feet, before the
	// range has been looked up or after.
	split := func(c cosmos.Call) *cosmos.Fault {
		if err := s.SplitRange(testDB, testColl, c.Range); err != nil {
			t.Error(err)
		}
		return &cosmos.Fault{}
	}
	for _, op := range []cosmos.Op{cosmos.BulkRequest, cosmos.UpsertOperation} {
		s.Control(op, split)
		target := s.Ranges(testDB, testColl)[0].ID
		before := len(s.Journal(testDB, testColl))
		if res, _ := sendBulk(t, s, bulkHeader(target), ops...); res.StatusCode != http.StatusGone {
			t.Errorf("status %d, want 410", res.StatusCode)
		}
		if got := len(s.Journal(testDB, testColl)); got != before {
			t.Errorf("%d writes took effect on a range that is gone", got-before)
		}
		ops = []bulkOp{upsertOp("drone-000123", "a", 1)} // on the first range all the time
	}
}

func TestShareIsOfTheCalls(t *testing.T) {
	s := newServer(t, entra())
	newContainer(t, s, cosmos.Container{})
	run := func(seed uint64) string {
		remove := s.Control(cosmos.UpsertOperation, cosmos.Share(0.3, seed, cosmos.Throttle(time.Millisecond)))
		defer remove()
		var all []string
		for range 10 {
			var ops []bulkOp
			for i := range 100 {
				ops = append(ops, upsertOp("d1", fmt.Sprint(i), 1))
			}
			_, results := sendBulk(t, s, bulkHeader("0"), ops...)
			for _, r := range results {
				if r.Status == 429 {
					all = append(all, "x")
				} else {
					all = append(all, ".")
				}
			}
		}
		return strings.Join(all, "")
	}
	a, again, other := run(1), run(1), run(2)
	if share := float64(strings.Count(a, "x")) / float64(len(a)); math.Abs(share-0.3) > 0.05 {
		t.Errorf("%.2f of the operations were refused, want 0.3", share)
	}
	if a != again || a == other {
		t.Errorf("the same seed gives the same faults: %v; another seed others: %v", a == again, a != other)
	}
}

func TestFaultUndoesATransaction(t *testing.T) {
	s := newServer(t)
	coll := newContainer(t, s, cosmos.Container{})
	b := coll.NewTransactionalBatch(key("d1"))
	b.UpsertItem(position("d1", "a", 1), nil)
	b.UpsertItem(position("d1", "b", 1), nil)
	s.Control(cosmos.AnyOperation, func(c cosmos.Call) *cosmos.Fault {
		if c.ID != "b" {
			return nil
		}
		return &cosmos.Fault{Status: 449}
	})
	res, err := coll.ExecuteTransactionalBatch(context.Background(), b, nil)
	if err != nil || res.Success || res.OperationResults[0].StatusCode != http.StatusFailedDependency || res.OperationResults[1].StatusCode != 449 {
		t.Errorf("results %+v (%v), want 424 and 449", res.OperationResults, err)
	}
	if got := len(s.Journal(testDB, testColl)); got != 0 {
		t.Errorf("%d writes stayed", got)
	}
}

// A client that is told 403/3 asks the account where writes are taken now.
func TestFailover(t *testing.T) {
	old, next := newServer(t), newServer(t)
	newContainer(t, next, cosmos.Container{})
	coll := newContainer(t, old, cosmos.Container{})
	upsert(t, coll, "d1", "a", 1)
	old.Control(cosmos.AnyOperation, cosmos.Always(cosmos.Answer(http.StatusForbidden, 3)))
	old.Advertise(next.Endpoint())
	upsert(t, coll, "d1", "a", 2)
	if got, want := len(old.Journal(testDB, testColl)), 1; got != want {
		t.Errorf("the old server took %d writes, want %d", got, want)
	}
	if got, want := len(next.Journal(testDB, testColl)), 1; got != want {
		t.Errorf("the new server took %d writes, want %d", got, want)
	}
}
