package main

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/data/azcosmos"

	"warmpath/sink/bulk"
)

const devices = 2000

// documents are the same for every writer, about 430 bytes each.
func documents() (names []string, bodies [][]byte) {
	for i := range devices {
		name := fmt.Sprintf("drone-%06d", i)
		names = append(names, name)
		bodies = append(bodies, fmt.Appendf(nil, `{"id":%q,"deviceId":%q,"deliveryId":"d-4711","type":"Feature","geometry":{"type":"Point","coordinates":[-121.989734,47.757084,93.98]},"properties":{"timestamp":"2026-11-30T12:00:00.123Z","speed":12.2,"heading":83,"battery":0.71,"flightStatus":"InFlight","acceleration":0.25},"source":{"enqueuedTime":"2026-11-30T12:00:00.456Z","partition":"3","sequenceNumber":123456789,"index":0},"n":123456}`, name, name))
	}
	return names, bodies
}

// work is what a writer has done: documents written, by so many requests.
type work struct{ documents, requests int64 }

// writePoints writes one document at a time, by 64 goroutines, until the context
// ends.
func writePoints(ctx context.Context, connection string) (work, error) {
	client, err := azcosmos.NewClientFromConnectionString(connection, nil)
	if err != nil {
		return work{}, err
	}
	defer client.Close()
	items, err := client.NewContainer(database, container)
	if err != nil {
		return work{}, err
	}
	names, bodies := documents()
	var written, next atomic.Int64
	var failed atomic.Pointer[error]
	var workers sync.WaitGroup
	for range 64 {
		workers.Go(func() {
			for ctx.Err() == nil {
				i := int(next.Add(1)) % devices
				if _, err := items.UpsertItem(context.WithoutCancel(ctx), azcosmos.NewPartitionKeyString(names[i]), bodies[i], nil); err != nil {
					failed.Store(&err)
					return
				}
				written.Add(1)
			}
		})
	}
	workers.Wait()
	if err := failed.Load(); err != nil {
		return work{}, *err
	}
	return work{written.Load(), written.Load()}, nil
}

// writeBulk writes the same documents by the bulk writer.
func writeBulk(ctx context.Context, connection string) (work, error) {
	var requests requestCounter
	config := bulk.DefaultConfig()
	config.Observer = &requests
	w, err := open(ctx, connection, config)
	if err != nil {
		return work{}, err
	}
	w.Start(context.WithoutCancel(ctx))
	defer w.Close()
	names, bodies := documents()
	var written atomic.Int64
	var failed atomic.Pointer[error]
	done := func(_ *bulk.Operation, r bulk.Result) {
		if r.Err != nil {
			failed.Store(&r.Err)
			return
		}
		written.Add(1)
	}
	const submitters = 4
	var workers sync.WaitGroup
	for s := range submitters {
		workers.Go(func() {
			for i := s; ctx.Err() == nil; i = (i + submitters) % devices {
				op := &bulk.Operation{Key: bulk.StringKey(names[i]), ID: names[i], Body: bodies[i], Done: done}
				if w.Submit(ctx, op) != nil {
					return
				}
			}
		})
	}
	workers.Wait()
	if err := w.Flush(context.WithoutCancel(ctx)); err != nil {
		return work{}, err
	}
	if err := failed.Load(); err != nil {
		return work{}, *err
	}
	return work{written.Load(), requests.Load()}, nil
}

// requestCounter is an observer that counts requests.
type requestCounter struct{ atomic.Int64 }

func (c *requestCounter) Requested(*bulk.Request)      { c.Add(1) }
func (c *requestCounter) Paused(string, time.Duration) {}
func (c *requestCounter) Refreshed(error)              {}
