package bulk_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"sync/atomic"
	"time"

	"warmpath/internal/emulator/cosmos"
	"warmpath/sink/bulk"
)

// exampleStore stands for an account in Azure: it is the emulator.
func exampleStore() (connectionString string, stop func()) {
	server, err := cosmos.Start()
	if err != nil {
		panic(err)
	}
	err = server.CreateContainer("shop", cosmos.Container{
		ID:           "orders",
		PartitionKey: cosmos.PartitionKey{Paths: []string{"/customer"}, Kind: "Hash", Version: 2},
	})
	if err != nil {
		panic(err)
	}
	return server.ConnectionString(), func() { _ = server.Close() }
}

func Example() {
	connectionString, stop := exampleStore()
	defer stop()

	endpoint, credential, err := bulk.ParseConnectionString(connectionString)
	if err != nil {
		fmt.Println(err)
		return
	}
	target := bulk.Target{Endpoint: endpoint, Database: "shop", Container: "orders", Credential: credential}
	ctx := context.Background()
	w, err := bulk.Open(ctx, target, bulk.DefaultConfig(), slog.New(slog.DiscardHandler), time.Now)
	if err != nil {
		fmt.Println(err)
		return
	}
	w.Start(ctx)
	defer w.Close()

	var written atomic.Int64
	done := func(op *bulk.Operation, r bulk.Result) {
		if r.Err != nil {
			fmt.Println(op.ID, r.Err)
			return
		}
		written.Add(1)
	}
	for i := range 1000 {
		customer, id := fmt.Sprint("customer-", i%50), fmt.Sprint("order-", i)
		op := &bulk.Operation{
			Kind: bulk.Create,
			Key:  bulk.StringKey(customer),
			ID:   id,
			Body: fmt.Appendf(nil, `{"id":%q,"customer":%q}`, id, customer),
			Done: done,
		}
		if err := w.Submit(ctx, op); err != nil {
			fmt.Println(err)
			return
		}
	}
	if err := w.Flush(ctx); err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(written.Load(), "orders")
	// Output: 1000 orders
}

// A document is written only if nobody else has changed it: Revise reads it when
// the etag is not the current one, and writes again, ahead of what waits for the
// same document.
func ExampleConfig_revise() {
	connectionString, stop := exampleStore()
	defer stop()
	endpoint, credential, err := bulk.ParseConnectionString(connectionString)
	if err != nil {
		fmt.Println(err)
		return
	}
	body := []byte(`{"id":"order-1","customer":"c","state":"paid"}`)
	config := bulk.DefaultConfig()
	config.Revise = func(op *bulk.Operation, r bulk.Result) bool {
		switch {
		case op.Kind == bulk.Create && r.Status == http.StatusConflict:
			op.Kind, op.Body = bulk.Read, nil
		case op.Kind == bulk.Read && r.Err == nil:
			op.Kind, op.Body, op.IfMatch = bulk.Replace, body, r.ETag // after a look at r.Body
		default:
			return false
		}
		return true
	}
	target := bulk.Target{Endpoint: endpoint, Database: "shop", Container: "orders", Credential: credential}
	ctx := context.Background()
	w, err := bulk.Open(ctx, target, config, slog.New(slog.DiscardHandler), time.Now)
	if err != nil {
		fmt.Println(err)
		return
	}
	w.Start(ctx)
	for range 2 {
		op := &bulk.Operation{Kind: bulk.Create, Key: bulk.StringKey("c"), ID: "order-1", Body: body}
		op.Done = func(op *bulk.Operation, r bulk.Result) { fmt.Println(op.Kind, r.Status) }
		if err := w.Submit(ctx, op); err != nil {
			fmt.Println(err)
		}
	}
	w.Close()
	// Output:
	// Create 201
	// Replace 200
}

func ExamplePatchBody() {
	body, err := bulk.PatchBody("from c where c.version < 7",
		bulk.PatchStep{Op: bulk.PatchSet, Path: "/version", Value: []byte("7")},
		bulk.PatchStep{Op: bulk.PatchRemove, Path: "/draft"})
	fmt.Println(string(body), err)
	// Output: {"condition":"from c where c.version < 7","operations":[{"op":"set","path":"/version","value":7},{"op":"remove","path":"/draft"}]} <nil>
}

// A hierarchical key has a component for every path of the container.
func ExampleNewKey() {
	key := bulk.NewKey(bulk.String("north"), bulk.String("drone-7"), bulk.Number(2026))
	op := bulk.Operation{Kind: bulk.Read, Key: key, ID: "a"}
	fmt.Println(op.Kind, op.ID)
	// Output: Read a
}

// Refusals are told apart by status; what the writer gave up, by sentinel.
func ExampleResult() {
	explain := func(r bulk.Result) string {
		var refused *bulk.StatusError
		switch {
		case r.Err == nil:
			return "written"
		case errors.Is(r.Err, bulk.ErrNotAdmitted):
			return "not sent in time"
		case errors.As(r.Err, &refused) && refused.Status == http.StatusPreconditionFailed:
			return "changed by somebody else"
		}
		return r.Err.Error()
	}
	fmt.Println(explain(bulk.Result{Status: 201}))
	fmt.Println(explain(bulk.Result{Err: bulk.ErrNotAdmitted}))
	fmt.Println(explain(bulk.Result{Status: 412, Err: &bulk.StatusError{Status: 412}}))
	// Output:
	// written
	// not sent in time
	// changed by somebody else
}
