package bulk_test

import (
	"context"
	"testing"

	"warmpath/internal/emulator/cosmos"
	"warmpath/sink/bulk"
)

func TestEveryOperationIsFinishedOnceAndStored(t *testing.T) {
	const n = 5000
	server := newServer(t, cosmos.WithRanges(5))
	w := newWriter(t, server, testConfig())
	got := newCollector()
	for i := range n {
		submit(t, w, &bulk.Operation{Key: bulk.StringKey(device(i)), ID: device(i), Body: document(device(i), i), Index: i, Done: got.done})
	}
	flush(t, w)
	for i := range n {
		if r := got.one(t, i); r.Err != nil || r.Status != 201 || r.ETag == "" || r.RequestCharge <= 0 || r.Attempts != 1 || r.Unclear {
			t.Fatalf("result %d: %+v", i, r)
		}
	}
	if got := len(server.Journal(database, container)); got != n {
		t.Errorf("%d writes, want %d", got, n)
	}
	if w.Pending() != 0 {
		t.Errorf("%d operations are pending after a flush", w.Pending())
	}
}

func TestKindsOfOperations(t *testing.T) {
	server := newServer(t)
	w := newWriter(t, server, testConfig())
	key, id := bulk.StringKey("a"), "a"
	created := do(t, w, bulk.Operation{Kind: bulk.Create, Key: key, ID: id, Body: document("a", 1)})
	if created.Status != 201 || created.Err != nil {
		t.Fatalf("create: %+v", created)
	}
	if r := do(t, w, bulk.Operation{Kind: bulk.Create, Key: key, ID: id, Body: document("a", 2)}); r.Status != 409 || r.Err == nil {
		t.Errorf("create again: %+v", r)
	}
	replaced := do(t, w, bulk.Operation{Kind: bulk.Replace, Key: key, ID: id, Body: document("a", 3), IfMatch: created.ETag})
	if replaced.Status != 200 || replaced.ETag == created.ETag {
		t.Errorf("replace: %+v", replaced)
	}
	if r := do(t, w, bulk.Operation{Kind: bulk.Replace, Key: key, ID: id, Body: document("a", 4), IfMatch: created.ETag}); r.Status != 412 {
		t.Errorf("replace with an old etag: %+v", r)
	}
	if r := do(t, w, bulk.Operation{Kind: bulk.Upsert, Key: key, ID: id, Body: document("a", 5)}); r.Status != 200 {
		t.Errorf("upsert: %+v", r)
	}
	read := do(t, w, bulk.Operation{Kind: bulk.Read, Key: key, ID: id})
	if read.Status != 200 || len(read.Body) == 0 || read.ETag == "" {
		t.Errorf("read: %+v", read)
	}
	if r := do(t, w, bulk.Operation{Kind: bulk.Delete, Key: key, ID: id, IfMatch: read.ETag}); r.Status != 204 || r.Err != nil {
		t.Errorf("delete: %+v", r)
	}
	for _, op := range []bulk.Operation{
		{Kind: bulk.Read, Key: key, ID: id},
		{Kind: bulk.Delete, Key: key, ID: id},
		{Kind: bulk.Replace, Key: key, ID: id, Body: document("a", 6)},
	} {
		if r := do(t, w, op); r.Status != 404 || r.Err == nil {
			t.Errorf("%s of a missing document: %+v", op.Kind, r)
		}
	}
}

func TestSubmitAfterClose(t *testing.T) {
	w := newWriter(t, newServer(t), testConfig())
	w.Close()
	err := w.Submit(context.Background(), &bulk.Operation{Kind: bulk.Read, Key: bulk.StringKey("a"), ID: "a", Done: func(*bulk.Operation, bulk.Result) {}})
	if err == nil {
		t.Error("submit after close succeeded")
	}
	w.Close() // again is harmless
}
