// Command guard measures what keeping older versions from replacing newer ones
// costs: request units and client CPU per document, for every way there is, on
// the same documents in one run. The emulator is a process of its own; request
// units are those of its model, which internal/emulator/cosmos/DESIGN.md
// explains.
package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"runtime"
	"slices"
	"sync"
	"time"

	"github.com/alecthomas/kong"

	"warmpath/bench/process"
	"warmpath/geo"
	"warmpath/internal/emulator/cosmos"
	"warmpath/sink"
	"warmpath/sink/bulk"
	"warmpath/telemetry"
)

type settings struct {
	Documents int  `help:"Documents." default:"10000"`
	Rounds    int  `help:"Times that each is overwritten, per run." default:"4"`
	Runs      int  `help:"Runs of every way, interleaved." default:"5"`
	Store     bool `hidden:""`
}

func main() {
	var s settings
	kong.Parse(&s, kong.Name("guard"), kong.Description("Measures the ways to keep older versions from replacing newer ones."))
	run := s.measure
	if s.Store {
		run = store
	}
	if err := run(context.Background()); err != nil {
		fmt.Fprintln(os.Stderr, "guard:", err)
		os.Exit(1)
	}
}

// ways are the rows of the table. Each writes one round of newer versions.
var ways = []struct {
	name string
	make func(context.Context, string) (way, error)
}{
	{"none: upsert", func(ctx context.Context, key string) (way, error) { return openSink(ctx, key, false, false) }},
	{"etag, warm: replace", func(ctx context.Context, key string) (way, error) { return openSink(ctx, key, true, false) }},
	{"etag, cold: create, read, replace", func(ctx context.Context, key string) (way, error) { return openSink(ctx, key, true, true) }},
	{"patch with a condition", openPatch},
}

// way writes one version of every document and waits for all of them.
type way interface {
	write(ctx context.Context, version int64, documents int) error
	close()
}

func (s *settings) measure(ctx context.Context) error {
	fmt.Printf("go run ./bench/guard --documents %d --rounds %d --runs %d\n%s, %d cores; Cosmos DB is this repository's emulator in a process of its own\n\n",
		s.Documents, s.Rounds, s.Runs, runtime.Version(), runtime.NumCPU())
	cpu, units := make([][]float64, len(ways)), make([][]float64, len(ways))
	for range s.Runs {
		for i, w := range ways {
			c, u, err := s.once(ctx, w.make)
			if err != nil {
				return fmt.Errorf("%s: %w", w.name, err)
			}
			cpu[i], units[i] = append(cpu[i], c), append(units[i], u)
		}
	}
	fmt.Printf("%-36s %28s %28s\n", "", "RU per document", "client CPU per document, us")
	for i, w := range ways {
		fmt.Printf("%-36s %28s %28s\n", w.name, spread(units[i]), spread(cpu[i]))
	}
	return nil
}

func spread(v []float64) string {
	slices.Sort(v)
	return fmt.Sprintf("%.2f [%.2f..%.2f]", v[len(v)/2], v[0], v[len(v)-1])
}

// once gives a way a store of its own, lets it insert every document unmeasured,
// and measures the overwriting.
func (s *settings) once(ctx context.Context, open func(context.Context, string) (way, error)) (cpu, units float64, err error) {
	child, err := process.Start(ctx, "--store")
	if err != nil {
		return 0, 0, err
	}
	defer func() { err = errors.Join(err, child.Close()) }()
	var key string
	if err := child.Receive(&key); err != nil {
		return 0, 0, err
	}
	charged := func() (units float64, err error) {
		if err := child.Send("units"); err != nil {
			return 0, err
		}
		return units, child.Receive(&units)
	}
	w, err := open(ctx, key)
	if err != nil {
		return 0, 0, err
	}
	defer w.close()
	if err := w.write(ctx, 1, s.Documents); err != nil {
		return 0, 0, err
	}
	unitsBefore, err := charged()
	if err != nil {
		return 0, 0, err
	}
	cpuBefore := process.CPUTime()
	for round := range s.Rounds {
		if err := w.write(ctx, int64(2+round), s.Documents); err != nil {
			return 0, 0, err
		}
	}
	spent := process.CPUTime() - cpuBefore
	unitsAfter, err := charged()
	if err != nil {
		return 0, 0, err
	}
	n := float64(s.Documents * s.Rounds)
	return float64(spent) / float64(time.Microsecond) / n, (unitsAfter - unitsBefore) / n, nil
}

// body builds the document that the service writes.
func body(dst []byte, device string, version int64) []byte {
	p := geo.Position{DeviceID: device, DeliveryID: "d-4711", Altitude: 93.98, Speed: 12.2, Heading: 83, Battery: 0.71, Time: time.UnixMilli(1_796_000_000_000 + version)}
	p.Point[0], p.Point[1] = -121.989734, 47.757084
	return geo.AppendDocument(dst, device, &p, &geo.Source{Enqueued: time.UnixMilli(1_796_000_000_000 + version), Partition: "3", Sequence: version}, 0)
}

// viaSink is the service's own writer.
type viaSink struct {
	*sink.Bulk
	open func() (*sink.Bulk, error)
	cold bool
}

func openSink(ctx context.Context, key string, guard, cold bool) (way, error) {
	open := func() (*sink.Bulk, error) {
		tel, err := telemetry.New(telemetry.Options{Now: time.Now})
		if err != nil {
			return nil, err
		}
		where := sink.ContainerConfig{ConnectionString: func() (string, error) { return key, nil }, Database: "fleet", Container: "positions", RequestTimeout: 10 * time.Second}
		return sink.OpenBulk(ctx, ctx, where, sink.BulkConfig{Writer: bulk.DefaultConfig(), Guard: guard, Remember: 1 << 20}, tel, slog.New(slog.DiscardHandler), time.Now)
	}
	b, err := open()
	return &viaSink{b, open, cold}, err
}

func (v *viaSink) write(ctx context.Context, version int64, documents int) error {
	if v.cold { // as after a restart: nothing is known of any document
		v.Close()
		b, err := v.open()
		if err != nil {
			return err
		}
		v.Bulk = b
	}
	var barrier sync.WaitGroup
	var mu sync.Mutex
	var failed error
	done := func(_ *sink.Document, r sink.Result) {
		if r.Outcome != sink.Written {
			mu.Lock()
			failed = fmt.Errorf("%v: %w", r.Outcome, r.Err)
			mu.Unlock()
		}
		barrier.Done()
	}
	for i := range documents {
		id := fmt.Sprintf("drone-%06d", i)
		barrier.Add(1)
		d := &sink.Document{Key: id, ID: id, Body: body(nil, id, version), Order: geo.Order{Enqueued: 1_796_000_000_000 + version, Sequence: version}, Done: done}
		if err := v.Submit(ctx, d); err != nil {
			return err
		}
	}
	barrier.Wait()
	return failed
}

func (v *viaSink) close() { v.Close() }

// viaPatch changes documents where a stored order key is older, and creates
// those that are missing.
type viaPatch struct{ w *bulk.Writer }

func openPatch(ctx context.Context, key string) (way, error) {
	endpoint, credential, err := bulk.ParseConnectionString(key)
	if err != nil {
		return nil, err
	}
	v := &viaPatch{}
	config := bulk.DefaultConfig()
	config.Revise = func(op *bulk.Operation, r bulk.Result) bool {
		if r.Status != 404 {
			return false
		}
		op.Kind, op.Body = bulk.Create, body(nil, op.ID, 1)
		return true
	}
	v.w, err = bulk.Open(ctx, bulk.Target{Endpoint: endpoint, Database: "fleet", Container: "positions", Credential: credential}, config, slog.New(slog.DiscardHandler), time.Now)
	if err != nil {
		return nil, err
	}
	v.w.Start(ctx)
	return v, nil
}

func (v *viaPatch) write(ctx context.Context, version int64, documents int) error {
	var barrier sync.WaitGroup
	var mu sync.Mutex
	var failed error
	for i := range documents {
		id := fmt.Sprintf("drone-%06d", i)
		barrier.Add(1)
		err := v.w.Submit(ctx, &bulk.Operation{Kind: bulk.Patch, Key: bulk.StringKey(id), ID: id, Body: patch(body(nil, id, version), version), Done: func(_ *bulk.Operation, r bulk.Result) {
			if r.Err != nil {
				mu.Lock()
				failed = r.Err
				mu.Unlock()
			}
			barrier.Done()
		}})
		if err != nil {
			return err
		}
	}
	barrier.Wait()
	return failed
}

// patch makes a document into one operation for each member that can change,
// carried out only where an older version stands.
func patch(document []byte, version int64) []byte {
	dst := fmt.Appendf(nil, `{"condition":"FROM c WHERE c.source.sequenceNumber < %d","operations":[`, version)
	members := []string{"deliveryId", "geometry", "properties", "source"}
	for i, name := range members {
		_, value, _ := bytes.Cut(document, []byte(`"`+name+`":`))
		end := bytes.LastIndexByte(value, '}') // of the document, for the last member
		if i+1 < len(members) {
			next := `,"` + members[i+1] + `":`
			if name == "deliveryId" {
				next = `,"type":`
			}
			end = bytes.Index(value, []byte(next))
			dst = fmt.Appendf(dst, `{"op":"set","path":"/%s","value":%s},`, name, value[:end])
			continue
		}
		dst = fmt.Appendf(dst, `{"op":"set","path":"/%s","value":%s}`, name, value[:end])
	}
	return append(dst, "]}"...)
}

func (v *viaPatch) close() { v.w.Close() }

// store is the child: an emulator that tells its request units when asked.
func store(context.Context) error {
	s, err := cosmos.Start(cosmos.WithRanges(5), cosmos.WithoutJournal())
	if err != nil {
		return err
	}
	if err := s.CreateDatabase("fleet"); err != nil {
		return err
	}
	if err := s.CreateContainer("fleet", cosmos.Container{
		ID: "positions", PartitionKey: cosmos.PartitionKey{Paths: []string{"/deviceId"}, Kind: "Hash", Version: 2},
		IndexingPolicy: json.RawMessage(`{"includedPaths":[{"path":"/deviceId/?"},{"path":"/deliveryId/?"},{"path":"/properties/timestamp/?"}],"excludedPaths":[{"path":"/*"}],"spatialIndexes":[{"path":"/geometry/*","types":["Point"]}]}`),
	}); err != nil {
		return err
	}
	parent := process.NewParent()
	if err := parent.Say(s.ConnectionString()); err != nil {
		return err
	}
	for question := ""; parent.Hear(&question) == nil; {
		units := 0.0
		for _, r := range s.Ranges("fleet", "positions") {
			units += r.RequestUnits
		}
		if err := parent.Say(units); err != nil {
			return err
		}
	}
	return s.Close()
}
