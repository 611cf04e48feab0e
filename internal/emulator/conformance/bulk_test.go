package conformance

import (
	"context"
	"crypto/sha256"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/data/azcosmos"

	"warmpath/sink/bulk"
)

const (
	bulkDocuments = 1000
	bulkConflicts = 10
)

// bulkDocument is the n-th document, and its key.
func bulkDocument(n int) (device, id string, body []byte) {
	device, id = fmt.Sprintf("drone-%d", n%200), fmt.Sprintf("doc-%d", n)
	return device, id, fmt.Appendf(nil, `{"id":%q,"deviceId":%q,"n":%d,"name":"Dröne \"%d\" 🛰"}`, id, device, n, n)
}

// writeInBulk writes many documents by the bulk protocol. azcosmos does not
// speak it; this project's own writer does.
func writeInBulk(ctx context.Context, a *account) (any, error) {
	statuses, err := a.bulk(ctx)
	if err != nil {
		return nil, err
	}
	rows, _, err := a.query(ctx, azcosmos.NewPartitionKey(), `SELECT c.id, c.deviceId, c.n, c.name FROM c`, nil)
	return object{"statuses": statuses, "stored": len(rows), "sha256": fmt.Sprintf("%x", sha256.Sum256([]byte(digest(rows))))}, err
}

// bulk upserts all documents, creates some a second time, and counts the
// statuses.
func (a *account) bulk(ctx context.Context) (map[int]int, error) {
	endpoint, credential, err := bulk.ParseConnectionString(a.connection)
	if err != nil {
		return nil, err
	}
	w, err := bulk.Open(ctx, bulk.Target{Endpoint: endpoint, Database: a.database, Container: "items", Credential: credential},
		bulk.DefaultConfig(), slog.New(slog.DiscardHandler), time.Now)
	if err != nil {
		return nil, err
	}
	defer w.Close()
	w.Start(ctx)
	var mu sync.Mutex // covers statuses
	statuses := make(map[int]int)
	submit := func(kind bulk.Kind, n int) error {
		device, id, body := bulkDocument(n)
		return w.Submit(ctx, &bulk.Operation{Kind: kind, Key: bulk.StringKey(device), ID: id, Body: body,
			Done: func(_ *bulk.Operation, r bulk.Result) {
				mu.Lock()
				defer mu.Unlock()
				statuses[r.Status]++
			}})
	}
	for n := range bulkDocuments {
		if err := submit(bulk.Upsert, n); err != nil {
			return nil, err
		}
	}
	if err := w.Flush(ctx); err != nil {
		return nil, err
	}
	for n := range bulkConflicts {
		if err := submit(bulk.Create, n); err != nil {
			return nil, err
		}
	}
	if err := w.Flush(ctx); err != nil {
		return nil, err
	}
	mu.Lock()
	defer mu.Unlock()
	return statuses, nil
}
