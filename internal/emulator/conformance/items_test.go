package conformance

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore"
	"github.com/Azure/azure-sdk-for-go/sdk/azcore/policy"
	"github.com/Azure/azure-sdk-for-go/sdk/data/azcosmos"
)

func upsert(ctx context.Context, a *account) (any, error) {
	var s statuses
	first := s.add(a.UpsertItem(ctx, key("d1"), position("d1", "a", 1), nil))
	second := s.add(a.UpsertItem(ctx, key("d1"), position("d1", "a", 2), nil))
	if s.err != nil {
		return nil, s.err
	}
	document, err := a.stored(ctx, "d1", "a")
	return object{"statuses": s.all, "document": document, "newEtag": first.ETag != second.ETag,
		"charged": first.RequestCharge > 0 && second.RequestCharge > 0}, err
}

func createConflict(ctx context.Context, a *account) (any, error) {
	var s statuses
	s.add(a.CreateItem(ctx, key("d1"), position("d1", "a", 1), nil))
	s.add(a.CreateItem(ctx, key("d1"), position("d1", "a", 2), nil))
	s.add(a.CreateItem(ctx, key("d2"), position("d2", "a", 3), nil)) // ids are unique per key only
	if s.err != nil {
		return nil, s.err
	}
	document, err := a.stored(ctx, "d1", "a")
	return object{"statuses": s.all, "document": document}, err
}

// awkward is a document whose id and key must be escaped somewhere on their way,
// and whose values lose something in careless hands.
func awkward() (device, id string, document []byte) {
	return "dröne 1 \"+%", "läng id%20+&='", []byte(`{"id":"läng id%20+&='","deviceId":"dröne 1 \"+%","text":"\u0001<\ud83d\udef0>\u2028","list":[1,-0.5,1e21,true,null,{}],"n":9007199254740991}`)
}

func read(ctx context.Context, a *account) (any, error) {
	var s statuses
	device, id, body := awkward()
	s.add(a.CreateItem(ctx, key(device), body, nil))
	res := s.add(a.ReadItem(ctx, key(device), id, nil))
	if s.err != nil {
		return nil, s.err
	}
	document, added, err := own(res.Value)
	if err != nil {
		return nil, err
	}
	s.add(a.ReadItem(ctx, key(device), "missing", nil))
	return object{"statuses": s.all, "document": document, "added": added}, s.err
}

func wrongKey(ctx context.Context, a *account) (any, error) {
	var s statuses
	s.add(a.CreateItem(ctx, key("d1"), position("d1", "a", 1), nil))
	s.add(a.ReadItem(ctx, key("d2"), "a", nil))
	s.add(a.ReplaceItem(ctx, key("d1"), "a", position("d2", "a", 2), nil)) // the key of the request is not the document's
	s.add(a.DeleteItem(ctx, key("d2"), "a", nil))
	if s.err != nil {
		return nil, s.err
	}
	document, err := a.stored(ctx, "d1", "a")
	return object{"statuses": s.all, "document": document}, err
}

func etag(ctx context.Context, a *account) (any, error) {
	match := func(tag azcore.ETag) *azcosmos.ItemOptions { return &azcosmos.ItemOptions{IfMatchEtag: &tag} }
	var s statuses
	first := s.add(a.CreateItem(ctx, key("d1"), position("d1", "a", 1), nil))
	second := s.add(a.ReplaceItem(ctx, key("d1"), "a", position("d1", "a", 2), match(first.ETag)))
	s.add(a.ReplaceItem(ctx, key("d1"), "a", position("d1", "a", 3), match(first.ETag)))
	s.add(a.UpsertItem(ctx, key("d1"), position("d1", "a", 4), match(first.ETag)))
	s.add(a.DeleteItem(ctx, key("d1"), "a", match(first.ETag)))
	if s.err != nil {
		return nil, s.err
	}
	document, err := a.stored(ctx, "d1", "a")
	if err != nil {
		return nil, err
	}
	for _, tag := range []azcore.ETag{first.ETag, second.ETag} {
		unless := policy.WithHTTPHeader(ctx, http.Header{"If-None-Match": {string(tag)}}) // azcosmos has no option for it
		s.add(a.ReadItem(unless, key("d1"), "a", nil))
	}
	s.add(a.DeleteItem(ctx, key("d1"), "a", match(second.ETag)))
	return object{"statuses": s.all, "document": document, "quoted": strings.HasPrefix(string(first.ETag), `"`)}, s.err
}

func replace(ctx context.Context, a *account) (any, error) {
	var s statuses
	s.add(a.ReplaceItem(ctx, key("d1"), "a", position("d1", "a", 1), nil))
	s.add(a.CreateItem(ctx, key("d1"), position("d1", "a", 1), nil))
	s.add(a.ReplaceItem(ctx, key("d1"), "a", []byte(`{"id":"a","deviceId":"d1","m":2}`), nil))
	if s.err != nil {
		return nil, s.err
	}
	document, err := a.stored(ctx, "d1", "a")
	return object{"statuses": s.all, "document": document}, err
}

func remove(ctx context.Context, a *account) (any, error) {
	var s statuses
	s.add(a.CreateItem(ctx, key("d1"), position("d1", "a", 1), nil))
	s.add(a.DeleteItem(ctx, key("d1"), "a", nil))
	s.add(a.ReadItem(ctx, key("d1"), "a", nil))
	s.add(a.DeleteItem(ctx, key("d1"), "a", nil))
	s.add(a.CreateItem(ctx, key("d1"), position("d1", "a", 2), nil))
	return object{"statuses": s.all}, s.err
}

func patch(ctx context.Context, a *account) (any, error) {
	var s statuses
	s.add(a.CreateItem(ctx, key("d1"), []byte(`{"id":"a","deviceId":"d1","n":1,"list":[1,2],"old":true}`), nil))
	var p azcosmos.PatchOperations
	p.AppendIncrement("/n", 4)
	p.AppendSet("/name", "x")
	p.AppendAdd("/list/-", 3)
	p.AppendReplace("/list/0", 0)
	p.AppendRemove("/old")
	s.add(a.PatchItem(ctx, key("d1"), "a", p, nil))
	p.SetCondition("FROM c WHERE c.n > 100")
	s.add(a.PatchItem(ctx, key("d1"), "a", p, nil))
	if s.err != nil {
		return nil, s.err
	}
	document, err := a.stored(ctx, "d1", "a")
	return object{"statuses": s.all, "document": document}, err
}

func hierarchicalKey(ctx context.Context, a *account) (any, error) {
	of := func(tenant, device string) azcosmos.PartitionKey {
		return azcosmos.NewPartitionKeyString(tenant).AppendString(device)
	}
	var s statuses
	body := []byte(`{"id":"a","tenant":"t1","deviceId":"d1"}`)
	s.add(a.CreateItem(ctx, of("t1", "d1"), body, nil))
	s.add(a.ReadItem(ctx, of("t1", "d1"), "a", nil))
	s.add(a.ReadItem(ctx, of("t2", "d1"), "a", nil))
	s.add(a.ReadItem(ctx, of("d1", "t1"), "a", nil))
	return object{"statuses": s.all}, s.err
}

func batch(ctx context.Context, a *account) (any, error) {
	b := a.NewTransactionalBatch(key("d1"))
	b.CreateItem(position("d1", "a", 1), nil)
	b.UpsertItem(position("d1", "b", 2), nil)
	b.ReplaceItem("a", position("d1", "a", 3), nil)
	b.ReadItem("b", nil)
	b.DeleteItem("b", nil)
	return a.execute(ctx, b)
}

func batchRollback(ctx context.Context, a *account) (any, error) {
	if _, err := a.CreateItem(ctx, key("d1"), position("d1", "a", 1), nil); err != nil {
		return nil, err
	}
	b := a.NewTransactionalBatch(key("d1"))
	b.UpsertItem(position("d1", "a", 2), nil)
	b.CreateItem(position("d1", "b", 2), nil)
	b.CreateItem(position("d1", "a", 3), nil)
	b.DeleteItem("a", nil)
	return a.execute(ctx, b)
}

// execute runs a batch and tells what came of it, and of the documents a and b.
func (a *account) execute(ctx context.Context, b azcosmos.TransactionalBatch) (any, error) {
	res, err := a.ExecuteTransactionalBatch(ctx, b, nil)
	if err != nil {
		return nil, err
	}
	results := []int{}
	for _, r := range res.OperationResults {
		results = append(results, int(r.StatusCode))
	}
	document, err := a.stored(ctx, "d1", "a")
	if err != nil {
		return nil, err
	}
	other, err := a.readStatus(ctx, "d1", "b")
	return object{"status": res.RawResponse.StatusCode, "results": results, "a": document, "b": other}, err
}

// readStatus is the status of a document's being read.
func (a *account) readStatus(ctx context.Context, device, id string) (int, error) {
	res, err := a.ReadItem(ctx, key(device), id, nil)
	return status(res.Response, err)
}

// throttled writes more at once than the container has for a second. The client
// is refused, waits and tries again, and its user sees nothing of that.
func throttled(ctx context.Context, a *account) (any, error) {
	const documents = 10
	text := strings.Repeat("x", 100_000)
	results := make([]error, documents)
	var writers sync.WaitGroup
	for n := range documents {
		writers.Go(func() {
			body := fmt.Appendf(nil, `{"id":"%d","deviceId":"d1","text":%q}`, n, text)
			_, results[n] = a.CreateItem(ctx, key("d1"), body, nil)
		})
	}
	writers.Wait()
	written := 0
	for _, err := range results {
		if err != nil {
			return nil, err
		}
		written++
	}
	return object{"written": written, "refused": a.answers.count(http.StatusTooManyRequests) > 0}, nil
}

// timeToLive writes documents that live for a second, and for ever.
func timeToLive(ctx context.Context, a *account) (any, error) {
	for _, body := range []string{`{"id":"brief","deviceId":"d1","ttl":1}`, `{"id":"lasting","deviceId":"d1"}`} {
		if _, err := a.CreateItem(ctx, key("d1"), []byte(body), nil); err != nil {
			return nil, err
		}
	}
	for {
		code, err := a.readStatus(ctx, "d1", "brief")
		if err != nil {
			return nil, err
		}
		if code == http.StatusNotFound {
			break
		}
		time.Sleep(50 * time.Millisecond)
	}
	lasting, err := a.readStatus(ctx, "d1", "lasting")
	if err != nil {
		return nil, err
	}
	ids, _, err := a.query(ctx, azcosmos.NewPartitionKey(), `SELECT VALUE c.id FROM c`, nil)
	return object{"brief": http.StatusNotFound, "lasting": lasting, "listed": ids}, err
}
