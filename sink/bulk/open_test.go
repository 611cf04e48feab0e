package bulk_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore"
	"github.com/Azure/azure-sdk-for-go/sdk/azcore/policy"

	"warmpath/internal/emulator/cosmos"
	"warmpath/sink/bulk"
)

// open opens a writer that is closed when the test ends, if it opens.
func open(t testing.TB, ctx context.Context, target bulk.Target, config bulk.Config, log *slog.Logger) (*bulk.Writer, error) { //nolint:revive // the test comes first, as everywhere
	t.Helper()
	w, err := bulk.Open(ctx, target, config, log, time.Now)
	if err == nil {
		t.Cleanup(w.Close)
	}
	return w, err
}

func quiet() *slog.Logger { return slog.New(slog.DiscardHandler) }

// A bootstrap that fails is repeated until the store is there.
func TestOpenWaitsForTheStore(t *testing.T) {
	for _, on := range []cosmos.Op{cosmos.AccountRequest, cosmos.MetadataRequest, cosmos.RangesRequest, cosmos.BulkRequest} {
		for _, fault := range []cosmos.Fault{cosmos.Answer(503, 0), cosmos.Answer(401, 0), cosmos.Throttle(time.Millisecond), {Reset: true}, {Truncate: true}} {
			server := newServer(t)
			left := int64(3)
			server.Control(on, func(cosmos.Call) *cosmos.Fault {
				if atomic.AddInt64(&left, -1) < 0 {
					return nil
				}
				f := fault
				f.Keep = true
				return &f
			})
			w := newWriter(t, server, testConfig())
			if r := do(t, w, upsert(1)); r.Err != nil {
				t.Errorf("%v on %v: %+v", fault, on, r)
			}
			if atomic.LoadInt64(&left) > 0 {
				t.Errorf("%v on %v: opened without asking", fault, on)
			}
		}
	}
}

func TestOpenEndsWithItsContext(t *testing.T) {
	server := newEmptyServer(t)
	var text bytes.Buffer
	ctx, cancel := context.WithTimeoutCause(context.Background(), 200*time.Millisecond, errors.New("no more patience"))
	defer cancel()
	_, err := open(t, ctx, targetOf(t, server), testConfig(), slog.New(slog.NewTextHandler(&text, nil)))
	var missing *bulk.StatusError
	if err == nil || !strings.Contains(err.Error(), "no more patience") || !errors.As(err, &missing) || missing.Status != 404 {
		t.Errorf("error %v, want the context's cause and 404", err)
	}
	if n := strings.Count(text.String(), "waiting for Cosmos DB"); n != 1 {
		t.Errorf("%d lines about waiting, want 1:\n%s", n, text.String())
	}
	if strings.Contains(text.String()+err.Error(), server.Key()) {
		t.Error("the account key has got out")
	}
}

func TestNotSupported(t *testing.T) {
	t.Run("hash version 1", func(t *testing.T) {
		server := newEmptyServer(t)
		if err := server.CreateContainer(database, cosmos.Container{ID: container, PartitionKey: cosmos.PartitionKey{Paths: []string{"/deviceId"}, Kind: "Hash", Version: 1}}); err != nil {
			t.Fatal(err)
		}
		if _, err := open(t, context.Background(), targetOf(t, server), testConfig(), quiet()); !errors.Is(err, bulk.ErrNotSupported) {
			t.Errorf("error %v, want ErrNotSupported", err)
		}
	})
	for _, status := range []int{400, 405, 501} {
		t.Run(http.StatusText(status), func(t *testing.T) {
			server := newServer(t)
			server.Control(cosmos.BulkRequest, cosmos.Always(cosmos.Answer(status, 0)))
			if _, err := open(t, context.Background(), targetOf(t, server), testConfig(), quiet()); !errors.Is(err, bulk.ErrNotSupported) {
				t.Errorf("error %v, want ErrNotSupported", err)
			}
		})
	}
	t.Run("later", func(t *testing.T) {
		server := newServer(t)
		w := newWriter(t, server, testConfig())
		server.Control(cosmos.BulkRequest, cosmos.Always(cosmos.Answer(400, 0)))
		if r := do(t, w, upsert(1)); !errors.Is(r.Err, bulk.ErrNotSupported) {
			t.Errorf("result %+v, want ErrNotSupported", r)
		}
		op := upsert(2)
		op.Done = func(*bulk.Operation, bulk.Result) {}
		if err := w.Submit(context.Background(), &op); !errors.Is(err, bulk.ErrNotSupported) {
			t.Errorf("submit: %v, want ErrNotSupported", err)
		}
		if err := w.Health(); !errors.Is(err, bulk.ErrNotSupported) {
			t.Errorf("health: %v, want ErrNotSupported", err)
		}
	})
}

func TestContainer(t *testing.T) {
	server := newEmptyServer(t)
	if err := server.CreateContainer(database, cosmos.Container{
		ID:           container,
		PartitionKey: cosmos.PartitionKey{Paths: []string{"/fleet", "/deviceId", "/day"}, Kind: "MultiHash", Version: 2},
		DefaultTTL:   -1,
	}); err != nil {
		t.Fatal(err)
	}
	w := newWriter(t, server, testConfig())
	c := w.Container()
	if !c.Hierarchical || len(c.KeyPaths) != 3 || c.KeyPaths[2] != "/day" || c.KeyVersion != 2 || c.DefaultTTL == nil || *c.DefaultTTL != -time.Second {
		t.Errorf("container %+v", c)
	}
	again, err := w.ReadContainer(context.Background())
	if err != nil || len(again.KeyPaths) != 3 {
		t.Errorf("read again: %+v, %v", again, err)
	}
	op := bulk.Operation{
		Key:  bulk.NewKey(bulk.String("north"), bulk.String("drone-1"), bulk.Number(7)),
		ID:   "a",
		Body: []byte(`{"id":"a","fleet":"north","deviceId":"drone-1","day":7}`),
	}
	if r := do(t, w, op); r.Status != 201 {
		t.Errorf("a hierarchical key: %+v", r)
	}
	op.Key, op.Done = bulk.StringKey("north"), func(*bulk.Operation, bulk.Result) {}
	if err := w.Submit(context.Background(), &op); !errors.Is(err, bulk.ErrInvalid) {
		t.Errorf("a key with too few components: %v, want ErrInvalid", err)
	}
}

// Splitting a container with a hierarchical key finds the right child.
func TestHierarchicalSplit(t *testing.T) {
	server := newEmptyServer(t)
	if err := server.CreateContainer(database, cosmos.Container{
		ID:           container,
		PartitionKey: cosmos.PartitionKey{Paths: []string{"/fleet", "/deviceId"}, Kind: "MultiHash", Version: 2},
	}); err != nil {
		t.Fatal(err)
	}
	w := newWriter(t, server, testConfig())
	got := newCollector()
	const n = 500
	for i := range n {
		submit(t, w, &bulk.Operation{
			Key:   bulk.NewKey(bulk.String(device(i%7)), bulk.String(device(i))),
			ID:    device(i),
			Body:  []byte(`{"id":"` + device(i) + `","fleet":"` + device(i%7) + `","deviceId":"` + device(i) + `"}`),
			Index: i, Done: got.done,
		})
		if i == n/2 {
			if err := server.SplitRange(database, container, "0"); err != nil {
				t.Fatal(err)
			}
		}
	}
	flush(t, w)
	for i := range n {
		if r := got.one(t, i); r.Err != nil {
			t.Errorf("result %d: %+v", i, r)
		}
	}
}

// identity hands out tokens that can be refused.
type identity struct {
	asked   atomic.Int64
	current atomic.Value // the token that the service accepts, a string
	life    time.Duration
	scope   atomic.Value
	broken  atomic.Bool
}

func (i *identity) GetToken(_ context.Context, o policy.TokenRequestOptions) (azcore.AccessToken, error) {
	i.asked.Add(1)
	if i.broken.Load() {
		return azcore.AccessToken{}, errors.New("no identity here")
	}
	i.scope.Store(strings.Join(o.Scopes, " "))
	return azcore.AccessToken{Token: i.current.Load().(string), ExpiresOn: time.Now().Add(i.life)}, nil
}

func TestTokens(t *testing.T) {
	id := &identity{life: time.Hour}
	id.current.Store("first")
	server := newServer(t, cosmos.WithTokenCheck(func(token string) bool { return token == id.current.Load() }))
	target := targetOf(t, server)
	target.Credential = bulk.NewTokenCredential(id)
	w := startWriter(t, context.Background(), target, testConfig())
	for i := range 20 {
		if r := do(t, w, upsert(i)); r.Err != nil {
			t.Fatalf("result %+v", r)
		}
	}
	if n := id.asked.Load(); n != 1 {
		t.Errorf("asked for a token %d times, want once", n)
	}
	if s := id.scope.Load(); s != "http://127.0.0.1/.default" {
		t.Errorf("scope %q", s)
	}
	// A token that the service takes no more is replaced.
	id.current.Store("second")
	if r := do(t, w, upsert(1)); r.Err != nil || r.Attempts != 2 {
		t.Errorf("after the token was revoked: %+v", r)
	}
	if n := id.asked.Load(); n != 2 {
		t.Errorf("asked for a token %d times, want twice", n)
	}
}

// Without a token nothing is sent, and nothing is in doubt.
func TestIdentityThatFails(t *testing.T) {
	id := &identity{life: time.Hour}
	id.current.Store("first")
	server := newServer(t, cosmos.WithTokenCheck(func(token string) bool { return token == id.current.Load() }))
	target := targetOf(t, server)
	target.Credential = bulk.NewTokenCredential(id)
	w := startWriter(t, context.Background(), target, testConfig())
	id.broken.Store(true)
	id.current.Store("second")
	got := newCollector()
	op := upsert(1)
	op.Done = got.done
	submit(t, w, &op)
	eventually(t, "Health to say so", func() bool {
		err := w.Health()
		return err != nil && strings.Contains(err.Error(), "no identity here")
	})
	id.broken.Store(false)
	flush(t, w)
	if r := got.one(t, 1); r.Err != nil || r.Unclear {
		t.Errorf("result %+v, want it written and clear", r)
	}
}

// A token that ends within minutes is replaced before it does.
func TestTokensAreRenewedInTime(t *testing.T) {
	id := &identity{life: time.Minute}
	id.current.Store("t")
	server := newServer(t, cosmos.WithTokenCheck(func(string) bool { return true }))
	target := targetOf(t, server)
	target.Credential = bulk.NewTokenCredential(id)
	w := startWriter(t, context.Background(), target, testConfig())
	before := id.asked.Load()
	do(t, w, upsert(1))
	if id.asked.Load() == before {
		t.Error("a token with one minute left was used without asking for another")
	}
}

func TestKeyRotation(t *testing.T) {
	const other = "b3RoZXIga2V5IG9mIHRoZSBhY2NvdW50"
	server := newServer(t, cosmos.WithKey(other))
	target := targetOf(t, server)
	key := target.Credential.(*bulk.KeyCredential)
	w := startWriter(t, context.Background(), target, testConfig())
	if r := do(t, w, upsert(1)); r.Err != nil {
		t.Fatalf("result %+v", r)
	}
	if err := key.Update("bm90IHRoZSByaWdodCBrZXk="); err != nil {
		t.Fatal(err)
	}
	got := newCollector()
	op := upsert(2)
	op.Done = got.done
	submit(t, w, &op)
	eventually(t, "a fault in Health", func() bool { return w.Health() != nil })
	if err := key.Update("not base64!"); err == nil {
		t.Error("a key that is not base64 was taken")
	}
	if err := key.Update(other); err != nil {
		t.Fatal(err)
	}
	flush(t, w)
	if r := got.one(t, 2); r.Err != nil {
		t.Errorf("after the key was put right: %+v", r)
	}
}

// After a failover the account names another endpoint, and the old one refuses
// writes.
func TestFailover(t *testing.T) {
	t.Parallel()
	here, there := newServer(t), newServer(t)
	w := newWriter(t, here, testConfig())
	if r := do(t, w, upsert(1)); r.Err != nil {
		t.Fatalf("result %+v", r)
	}
	here.Advertise(there.Endpoint())
	here.Control(cosmos.BulkRequest, cosmos.Always(cosmos.Answer(403, 3)))
	if r := do(t, w, upsert(2)); r.Err != nil {
		t.Errorf("after the failover: %+v", r)
	}
	if n := len(there.Journal(database, container)); n != 1 {
		t.Errorf("%d writes at the new place, want 1", n)
	}
}

// An account that names an address which cannot be reached from here is used at
// the one that was configured.
func TestUnreachableAdvertisedEndpoint(t *testing.T) {
	server := newServer(t)
	server.Advertise("http://127.0.0.1:1/")
	w := newWriter(t, server, testConfig())
	if r := do(t, w, upsert(1)); r.Err != nil {
		t.Errorf("result %+v", r)
	}
}

// A container that was made anew with another key is not written to.
func TestContainerWithAnotherKey(t *testing.T) {
	server := newServer(t)
	hard, end := context.WithCancel(context.Background())
	w := startWriter(t, hard, targetOf(t, server), testConfig())
	server.DeleteContainer(database, container)
	if err := server.CreateContainer(database, cosmos.Container{ID: container, PartitionKey: cosmos.PartitionKey{Paths: []string{"/deliveryId"}, Kind: "Hash", Version: 2}}); err != nil {
		t.Fatal(err)
	}
	server.Control(cosmos.BulkRequest, cosmos.Once(cosmos.Answer(410, 1000)))
	got := newCollector()
	op := upsert(1)
	op.Done = got.done
	submit(t, w, &op)
	eventually(t, "Health to say so", func() bool {
		err := w.Health()
		return err != nil && strings.Contains(err.Error(), "/deliveryId")
	})
	end()
	w.Close()
	if r := got.one(t, 1); !errors.Is(r.Err, context.Canceled) {
		t.Errorf("result %+v, want it unsettled", r)
	}
	if n := len(server.Journal(database, container)); n != 0 {
		t.Errorf("%d writes to the wrong place", n)
	}
}

func TestValidate(t *testing.T) {
	credential, err := bulk.NewKeyCredential("a2V5")
	if err != nil {
		t.Fatal(err)
	}
	good := bulk.Target{Endpoint: "https://a.documents.azure.com:443/", Database: "d", Container: "c", Credential: credential}
	token := bulk.NewTokenCredential(new(identity))
	for _, tt := range []struct {
		change func(*bulk.Target)
		want   string
	}{
		{func(*bulk.Target) {}, ""},
		{func(t *bulk.Target) { t.Endpoint = "a.documents.azure.com" }, `endpoint is "a.documents.azure.com"`},
		{func(t *bulk.Target) { t.Endpoint = "ftp://a" }, "endpoint"},
		{func(t *bulk.Target) { t.Database = "" }, "database"},
		{func(t *bulk.Target) { t.Container = "" }, "container"},
		{func(t *bulk.Target) { t.Credential = nil }, "credential"},
		{func(t *bulk.Target) { t.Credential = token }, ""},
		{func(t *bulk.Target) { t.Endpoint, t.Credential = "http://a.example:8081", token }, "clear text"},
		{func(t *bulk.Target) { t.Endpoint, t.Credential = "http://127.0.0.1:8081", token }, ""},
	} {
		target := good
		tt.change(&target)
		err := target.Validate()
		if (err == nil) != (tt.want == "") || err != nil && !strings.Contains(err.Error(), tt.want) {
			t.Errorf("target %+v: %v, want %q", target, err, tt.want)
		}
	}
	for _, tt := range []struct {
		change func(*bulk.Config)
		want   string
	}{
		{func(*bulk.Config) {}, ""},
		{func(c *bulk.Config) { c.MaxOperations = 101 }, "max operations is 101, allowed are 1 to 100"},
		{func(c *bulk.Config) { c.MaxBytes = 3 << 20 }, "max bytes"},
		{func(c *bulk.Config) { c.Linger = -1 }, "linger is -1ns, allowed are 0s to 1s"},
		{func(c *bulk.Config) { c.Lanes = 0 }, "lanes"},
		{func(c *bulk.Config) { c.Queue = 0 }, "queue"},
		{func(c *bulk.Config) { c.MaxPending = 0 }, "max pending"},
		{func(c *bulk.Config) { c.MaxRUPerSecond = -1 }, "max RU per second"},
		{func(c *bulk.Config) { c.RequestTimeout = 0 }, "request timeout"},
		{func(c *bulk.Config) { c.RetryFirst = 0 }, "retry first"},
		{func(c *bulk.Config) { c.RetryMost = 0 }, "retry most"},
		{func(c *bulk.Config) { c.PriorityLevel = "Medium" }, `priority level is "Medium"`},
		{func(c *bulk.Config) { c.ThroughputBucket = 6 }, "throughput bucket"},
	} {
		config := bulk.DefaultConfig()
		tt.change(&config)
		err := config.Validate()
		if (err == nil) != (tt.want == "") || err != nil && !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%v, want %q", err, tt.want)
		}
	}
}

func TestParseConnectionString(t *testing.T) {
	endpoint, _, err := bulk.ParseConnectionString("AccountEndpoint=https://a.documents.azure.com:443/;AccountKey=c2VjcmV0LWtleQ==;")
	if err != nil || endpoint != "https://a.documents.azure.com:443/" {
		t.Errorf("%q, %v", endpoint, err)
	}
	for _, s := range []string{"", "AccountEndpoint=https://a/", "AccountKey=c2VjcmV0", "AccountEndpoint=https://a/;AccountKey=secret!!"} {
		if _, _, err := bulk.ParseConnectionString(s); err == nil || strings.Contains(err.Error(), "secret") {
			t.Errorf("%q: %v, want an error without the key", s, err)
		}
	}
}

// The request is the one that the official SDKs send.
func TestRequestOnTheWire(t *testing.T) {
	server := newServer(t)
	config := testConfig()
	tap := &tap{}
	config.Client.Transport = tap
	config.Client.Telemetry.ApplicationID = "tests"
	config.PriorityLevel, config.ThroughputBucket = "Low", 3
	w := newWriter(t, server, config)
	do(t, w, upsert(1))
	w.Close()
	tap.client.CloseIdleConnections()
	want := map[string]string{
		"Content-Type": "application/json", "Accept": "application/json", "Prefer": "return=minimal",
		"X-Ms-Version":                        "2020-11-05",
		"X-Ms-Cosmos-Is-Batch-Request":        "true",
		"X-Ms-Cosmos-Batch-Atomic":            "false",
		"X-Ms-Cosmos-Batch-Continue-On-Error": "true",
		"X-Ms-Documentdb-Partitionkeyrangeid": "0",
		"X-Ms-Cosmos-Priority-Level":          "Low",
		"X-Ms-Cosmos-Throughput-Bucket":       "3",
	}
	for name, value := range want {
		if got := tap.last.Get(name); got != value {
			t.Errorf("%s: %q, want %q", name, got, value)
		}
	}
	for _, name := range []string{"X-Ms-Documentdb-Partitionkey", "X-Ms-Cosmos-Batch-Ordered"} {
		if got, there := tap.last[name]; there {
			t.Errorf("%s: %q, want none", name, got)
		}
	}
	for _, name := range []string{"X-Ms-Date", "X-Ms-Activity-Id", "Authorization"} {
		if tap.last.Get(name) == "" {
			t.Errorf("%s is missing", name)
		}
	}
	if agent := tap.last.Get("User-Agent"); !strings.HasPrefix(agent, "tests cosmos-bulk-go/1 (") {
		t.Errorf("user agent %q", agent)
	}
	if want := `[{"operationType":"Upsert","partitionKey":"[\"drone-000001\"]","resourceBody":` + string(document(device(1), 1)) + `}]`; tap.body != want {
		t.Errorf("body %s\nwant %s", tap.body, want)
	}
}

// tap is a transport that keeps the last bulk request.
type tap struct {
	client http.Client
	last   http.Header
	body   string
}

func (t *tap) Do(r *http.Request) (*http.Response, error) {
	if r.Method == http.MethodPost {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			return nil, err
		}
		t.last, t.body = r.Header.Clone(), string(body)
		_ = r.Body.Close()
		r.Body = io.NopCloser(bytes.NewReader(body))
	}
	return t.client.Do(r)
}
