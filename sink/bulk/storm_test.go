package bulk_test

import (
	"bytes"
	"net/http"
	"strconv"
	"sync"
	"testing"
	"time"

	"warmpath/internal/emulator/cosmos"
	"warmpath/sink/bulk"
)

// stormFault answers three in ten operations with something that must be tried
// again, and refuses for good those that are marked.
func stormFault(seed uint64) cosmos.Controller {
	draw := seeded(seed)
	return func(call cosmos.Call) *cosmos.Fault {
		f := cosmos.Fault{Keep: true}
		switch call.ID[len(call.ID)-4:] {
		case "0400":
			f.Status = http.StatusBadRequest
			return &f
		case "0413":
			f.Status = http.StatusRequestEntityTooLarge
			return &f
		}
		switch p := draw.Float64(); {
		case p < 0.10:
			f.Status, f.SubStatus, f.RetryAfter = http.StatusTooManyRequests, 3200, time.Millisecond
		case p < 0.17:
			f.Status = 449
		case p < 0.24:
			f.Status = http.StatusServiceUnavailable
		case p < 0.30:
			f.Status, f.SubStatus = http.StatusGone, 1002
		default:
			return nil
		}
		return &f
	}
}

// Every operation ends exactly once, in the order of its document, none is lost
// and none is written twice, whatever the weather and although a range splits.
func TestStorm(t *testing.T) {
	const submitters, versions = 8, 10
	documents := 20_000
	if raceEnabled {
		documents = 2500
	}
	operations := documents * versions
	server := newServer(t, cosmos.WithRanges(5))
	server.Control(cosmos.AnyOperation, stormFault(1))
	config := testConfig()
	config.MaxRUPerSecond = 5e6 // known from the start: this is not about finding it
	w := newWriter(t, server, config)

	type heard struct {
		times  int
		status int
	}
	results := make([]heard, operations)
	order := make([]int, documents) // the last version that was finished
	var wrongOrder, moved sync.Once
	done := func(op *bulk.Operation, r bulk.Result) {
		results[op.Index].times++ // one document is with one goroutine at a time
		results[op.Index].status = r.Status
		doc, version := op.Index%documents, op.Index/documents
		if version != order[doc] {
			wrongOrder.Do(func() { t.Errorf("document %d: version %d finished after %d others", doc, version, order[doc]) })
		}
		order[doc]++
		if op.Index == operations/2 {
			moved.Do(func() {
				for _, id := range []string{"1", "3"} {
					if err := server.SplitRange(database, container, id); err != nil {
						t.Error(err)
					}
				}
			})
		}
	}
	var submitting sync.WaitGroup
	for s := range submitters {
		submitting.Go(func() {
			for i := range operations {
				if doc := i % documents; doc%submitters == s {
					submit(t, w, &bulk.Operation{Key: bulk.StringKey(device(doc)), ID: device(doc), Body: document(device(doc), i/documents), Index: i, Done: done})
				}
			}
		})
	}
	submitting.Wait()
	flush(t, w)

	count := map[int]int{}
	for i := range results {
		if results[i].times != 1 {
			t.Fatalf("operation %d was finished %d times", i, results[i].times)
		}
		count[results[i].status]++
	}
	bad := (documents + 9999) / 10_000 // documents that are always refused, of either kind
	refused, good := versions*bad, documents-2*bad
	for status, want := range map[int]int{201: good, 200: (versions - 1) * good, 400: refused, 413: refused} {
		if count[status] != want {
			t.Errorf("%d operations ended with %d, want %d", count[status], status, want)
		}
	}
	checkJournal(t, server.Journal(database, container), operations-2*refused)
	if n := len(w.Ranges()); n != 7 {
		t.Errorf("the writer knows %d ranges, want 7", n)
	}
	eventually(t, "good health", func() bool { return w.Health() == nil })
}

// checkJournal follows every document: its versions were written one after the
// other, each once.
func checkJournal(t *testing.T, journal []cosmos.Write, want int) {
	t.Helper()
	if len(journal) != want {
		t.Errorf("%d writes, want %d", len(journal), want)
	}
	next := map[string]int{}
	for _, write := range journal {
		n := versionOf(t, write.Body)
		if n != next[write.ID] {
			t.Fatalf("%s: version %d was written after %d others", write.ID, n, next[write.ID])
		}
		next[write.ID]++
	}
}

// versionOf reads the number at the end of a document.
func versionOf(t *testing.T, body []byte) int {
	t.Helper()
	from := bytes.LastIndex(body, []byte(`"n":`)) + len(`"n":`)
	n, err := strconv.Atoi(string(body[from : len(body)-1]))
	if err != nil {
		t.Fatalf("document %s: %v", body, err)
	}
	return n
}
