package bulk_test

import (
	"context"
	"fmt"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"warmpath/internal/emulator/cosmos"
	"warmpath/sink/bulk"
)

// keysByRange finds n devices for every range of a container with evenly
// divided ranges, by asking the writer's own routing through the journal.
func keysByRange(t *testing.T, server *cosmos.Server, w *bulk.Writer, n int) map[string][]int {
	t.Helper()
	got := newCollector()
	for i := range 200 * len(w.Ranges()) {
		op := upsert(i)
		op.Done = got.done
		submit(t, w, &op)
	}
	flush(t, w)
	keys := map[string][]int{}
	for i, write := range server.Journal(database, container) {
		var d int
		if _, err := fmt.Sscanf(write.ID, "drone-%d", &d); err != nil {
			t.Fatal(i, err)
		}
		if len(keys[write.Range]) < n {
			keys[write.Range] = append(keys[write.Range], d)
		}
	}
	return keys
}

// pump submits operations on some keys from a goroutine of its own until the
// context ends, and counts those that succeed.
func pump(ctx context.Context, wait *sync.WaitGroup, w *bulk.Writer, keys []int, written *atomic.Int64) {
	done := func(_ *bulk.Operation, r bulk.Result) {
		if r.Err == nil {
			written.Add(1)
		}
	}
	wait.Go(func() {
		for n := 0; ctx.Err() == nil; n++ {
			op := upsert(keys[n%len(keys)])
			op.Done = done
			if w.Submit(ctx, &op) != nil {
				return
			}
		}
	})
}

// rates measures what each group of keys gets written in a while.
func rates(t *testing.T, w *bulk.Writer, groups map[string][]int, during time.Duration) map[string]float64 {
	t.Helper()
	ctx, stop := context.WithTimeout(context.Background(), during)
	defer stop()
	var wait sync.WaitGroup
	written := map[string]*atomic.Int64{}
	for name, keys := range groups {
		written[name] = new(atomic.Int64)
		pump(ctx, &wait, w, keys, written[name])
	}
	<-ctx.Done()
	out := map[string]float64{}
	for name, n := range written {
		out[name] = float64(n.Load()) / during.Seconds()
	}
	wait.Wait()
	flush(t, w)
	return out
}

// With nine tenths of the load on one key, the other ranges are written as fast
// as without it.
func TestHotKeyLeavesOtherRangesAlone(t *testing.T) {
	t.Parallel()
	server := newServer(t, cosmos.WithRanges(4))
	config := testConfig()
	config.Queue, config.MaxOperations = 20, 5
	w := newWriter(t, server, config)
	keys := keysByRange(t, server, w, 50)
	server.SetLatency(50 * time.Millisecond) // bounds the rate of each range, at little cost for the machine

	cold := map[string][]int{"1": keys["1"], "2": keys["2"], "3": keys["3"]}
	without := rates(t, w, cold, time.Second)
	hot := map[string][]int{"1": keys["1"], "2": keys["2"], "3": keys["3"]}
	for i := range 27 {
		hot[fmt.Sprint("hot ", i)] = keys["0"][:1]
	}
	with := rates(t, w, hot, time.Second)
	ratio := (with["1"] + with["2"] + with["3"]) / (without["1"] + without["2"] + without["3"])
	t.Logf("documents a second, without the hot key %v, with it %v: ratio %.2f", without, with, ratio)
	if ratio < 0.8 {
		t.Errorf("the other ranges kept %.2f of their rate beside a hot key", ratio)
	}
}

// A range that does not answer holds up nobody else.
func TestStuckRangeLeavesOthersAlone(t *testing.T) {
	t.Parallel()
	server := newServer(t, cosmos.WithRanges(3))
	config := testConfig()
	config.Queue = 20
	w := newWriter(t, server, config)
	keys := keysByRange(t, server, w, 20)
	remove := server.Control(cosmos.BulkRequest, cosmos.OnRange("1", cosmos.Always(cosmos.Fault{Delay: 300 * time.Millisecond})))
	got := rates(t, w, keys, 500*time.Millisecond)
	remove()
	if got["0"] < 1000 || got["2"] < 1000 || got["1"] > got["0"]/2 {
		t.Errorf("documents a second by range %v, want the stuck one to be slow and no other", got)
	}
}

// While the store refuses everything, memory does not grow; afterwards all is
// written.
func TestOutageCostsNoMemory(t *testing.T) {
	server := newServer(t, cosmos.WithRanges(2))
	config := testConfig()
	config.MaxPending = 2000
	w := newWriter(t, server, config)
	saturate(t, w)
	remove := server.Control(cosmos.AnyRequest, cosmos.Always(cosmos.Fault{Reset: true}))
	ctx, stop := context.WithCancel(context.Background())
	var wait sync.WaitGroup
	var written, submitted atomic.Int64
	for s := range 8 {
		wait.Go(func() {
			for i := s; ctx.Err() == nil; i += 8 {
				op := upsert(i)
				op.Done = func(_ *bulk.Operation, r bulk.Result) {
					if r.Err == nil {
						written.Add(1)
					}
				}
				if w.Submit(ctx, &op) != nil {
					return
				}
				submitted.Add(1)
			}
		})
	}
	eventually(t, "a full writer", func() bool { return w.Pending() == 2000 })
	before := heap()
	time.Sleep(1500 * time.Millisecond)
	if w.Pending() != 2000 {
		t.Errorf("%d operations are held, want 2000", w.Pending())
	}
	if grown := heap() - before; grown > 4<<20 {
		t.Errorf("the heap grew by %d bytes during the outage", grown)
	}
	if w.Health() == nil {
		t.Error("an outage does not show in Health")
	}
	remove()
	time.Sleep(100 * time.Millisecond)
	stop()
	wait.Wait()
	flush(t, w)
	if written.Load() != submitted.Load() {
		t.Errorf("%d written of %d submitted", written.Load(), submitted.Load())
	}
}

func heap() int64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}

// Submit blocks when the writer is full, and its context frees it.
func TestBackPressure(t *testing.T) {
	server := newServer(t)
	config := testConfig()
	config.MaxPending = 10
	w := newWriter(t, server, config)
	remove := server.Control(cosmos.BulkRequest, cosmos.Always(cosmos.Answer(503, 0)))
	got := newCollector()
	for i := range 10 {
		op := upsert(i)
		op.Done = got.done
		submit(t, w, &op)
	}
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Millisecond)
	defer cancel()
	op := upsert(10)
	op.Done = got.done
	if err := w.Submit(ctx, &op); err == nil {
		t.Error("the eleventh operation found room")
	}
	if err := w.Flush(ctx); err == nil {
		t.Error("flush returned although nothing was written")
	}
	remove()
	submit(t, w, &op)
	flush(t, w)
	for i := range 11 {
		if r := got.one(t, i); r.Err != nil {
			t.Errorf("result %d: %+v", i, r)
		}
	}
}

// A lane that is full blocks its own keys only.
func TestFullLaneBlocksItsOwnKeysOnly(t *testing.T) {
	server := newServer(t, cosmos.WithRanges(2))
	config := testConfig()
	config.Queue = 5
	w := newWriter(t, server, config)
	keys := keysByRange(t, server, w, 1)
	remove := server.Control(cosmos.BulkRequest, cosmos.OnRange("0", cosmos.Always(cosmos.Answer(503, 0))))
	ctx, cancel := context.WithTimeout(context.Background(), 50*time.Millisecond)
	defer cancel()
	taken := 0
	for ; taken < 100; taken++ {
		op := upsert(keys["0"][0])
		op.Done = func(*bulk.Operation, bulk.Result) {}
		if w.Submit(ctx, &op) != nil {
			break
		}
	}
	if taken < 5 || taken > 7 {
		t.Errorf("%d operations were taken, want a queue of 5 and what is under way", taken)
	}
	if r := do(t, w, upsert(keys["1"][0])); r.Err != nil {
		t.Errorf("the other range: %+v", r)
	}
	remove()
}

// An operation submitted while its range splits does not overtake one that is
// still under way to the old range.
func TestSplitKeepsOrderOfWhatIsUnderWay(t *testing.T) {
	server := newServer(t)
	w := newWriter(t, server, testConfig())
	saturate(t, w)
	// The first request of each key is held back and then answered as from a
	// range that is gone; meanwhile a whole-range refusal makes the writer learn
	// of the split.
	var held atomic.Int64
	server.Control(cosmos.UpsertOperation, func(call cosmos.Call) *cosmos.Fault {
		if call.ID == device(1) && held.Add(1) == 1 {
			return &cosmos.Fault{Delay: 400 * time.Millisecond, Status: 503, Keep: true}
		}
		return nil
	})
	got := newCollector()
	const versions = 30
	for v := range versions {
		op := bulk.Operation{Key: bulk.StringKey(device(1)), ID: device(1), Body: document(device(1), v), Index: v, Done: got.done}
		submit(t, w, &op)
		if v == 0 {
			time.Sleep(50 * time.Millisecond) // under way now
			if err := server.SplitRange(database, container, "0"); err != nil {
				t.Fatal(err)
			}
			others := newCollector()
			for i := range 40 {
				other := upsert(500_000 + i)
				other.Done = others.done
				submit(t, w, &other)
			}
			eventually(t, "the writer to know of the split", func() bool { return len(w.Ranges()) == 2 })
		}
	}
	flush(t, w)
	var mine []cosmos.Write
	for _, write := range server.Journal(database, container) {
		if write.ID == device(1) {
			mine = append(mine, write)
		}
	}
	checkJournal(t, mine, versions)
}

// A partial request does not wait for longer than it should, and a full one not
// at all.
func TestLinger(t *testing.T) {
	server := newServer(t)
	config := testConfig()
	config.Linger = time.Second
	w := newWriter(t, server, config)
	saturate(t, w)
	got := newCollector()
	began := time.Now()
	for i := range 400 {
		op := upsert(i)
		op.Done = got.done
		submit(t, w, &op)
	}
	eventually(t, "three full requests", func() bool { return w.Pending() <= 100 })
	if d := time.Since(began); d > 900*time.Millisecond {
		t.Errorf("full requests took %v", d)
	}
	flush(t, w) // does not linger
	if d := time.Since(began); d > 950*time.Millisecond {
		t.Errorf("the flush came after %v", d)
	}
	began = time.Now()
	do(t, w, upsert(1))
	if d := time.Since(began); d < 900*time.Millisecond || d > 5*time.Second {
		t.Errorf("a lone operation took %v, want the linger of one second", d)
	}
}

func TestMaxRUPerSecond(t *testing.T) {
	t.Parallel()
	server := newServer(t, cosmos.WithRanges(2))
	config := testConfig()
	config.MaxRUPerSecond, config.Queue = 2000, 10
	w := newWriter(t, server, config)
	before := server.Ranges(database, container)[0].RequestUnits
	keys := map[string][]int{"all": {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16}}
	ctx, stop := context.WithTimeout(context.Background(), time.Second)
	defer stop()
	var wait sync.WaitGroup
	var written atomic.Int64
	pump(ctx, &wait, w, keys["all"], &written)
	wait.Wait()
	used := server.Ranges(database, container)[0].RequestUnits - before
	if used > 1250 || used < 700 {
		t.Errorf("one of two ranges used %.0f RU in a second, want about 1000", used)
	}
	if b := w.Ranges()[0].Budget; b != 1000 {
		t.Errorf("budget %v, want 1000", b)
	}
}
