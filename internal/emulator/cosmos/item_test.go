package cosmos_test

import (
	"bytes"
	"context"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore"
	"github.com/Azure/azure-sdk-for-go/sdk/data/azcosmos"

	"warmpath/internal/emulator/cosmos"
)

func TestUpsertCreatesThenReplaces(t *testing.T) {
	coll := newContainer(t, newServer(t), cosmos.Container{})
	first := upsert(t, coll, "d1", "a", 1)
	second := upsert(t, coll, "d1", "a", 2)
	if got := first.RawResponse.StatusCode; got != http.StatusCreated {
		t.Errorf("first upsert: status %d, want 201", got)
	}
	if got := second.RawResponse.StatusCode; got != http.StatusOK {
		t.Errorf("second upsert: status %d, want 200", got)
	}
	if len(first.Value) != 0 {
		t.Errorf("Prefer: return=minimal was answered with a body: %s", first.Value)
	}
	for _, etag := range []azcore.ETag{first.ETag, second.ETag} {
		if !strings.HasPrefix(string(etag), `"`) || !strings.HasSuffix(string(etag), `"`) {
			t.Errorf("etag %s is not quoted", etag)
		}
	}
	if first.ETag == second.ETag {
		t.Errorf("the etag did not change: %s", first.ETag)
	}
	if ratio := second.RequestCharge / first.RequestCharge; ratio < 1.99 || ratio > 2.01 {
		t.Errorf("replacing costs %.2f times inserting, want 2", ratio)
	}
	if first.SessionToken == nil || first.ActivityID == "" {
		t.Errorf("session token %v, activity id %q: want both", first.SessionToken, first.ActivityID)
	}
}

func TestReadServesSystemProperties(t *testing.T) {
	coll := newContainer(t, newServer(t), cosmos.Container{})
	created, err := coll.CreateItem(context.Background(), key("d1"), position("d1", "a", 1), &azcosmos.ItemOptions{EnableContentResponseOnWrite: true})
	if err != nil {
		t.Fatal(err)
	}
	doc := decode(t, created.Value)
	if doc["_etag"] != string(created.ETag) {
		t.Errorf("_etag %v, etag header %s", doc["_etag"], created.ETag)
	}
	for _, name := range []string{"_rid", "_self", "_attachments", "_ts"} {
		if doc[name] == nil {
			t.Errorf("%s is missing in %s", name, created.Value)
		}
	}

	// What was read can be written back: the system properties are the
	// service's, whatever is sent, and identity survives a replace.
	replaced, err := coll.ReplaceItem(context.Background(), key("d1"), "a", created.Value, nil)
	if err != nil {
		t.Fatal(err)
	}
	read, err := coll.ReadItem(context.Background(), key("d1"), "a", nil)
	if err != nil {
		t.Fatal(err)
	}
	again := decode(t, read.Value)
	if bytes.Count(read.Value, []byte(`"_etag"`)) != 1 || again["_etag"] != string(replaced.ETag) {
		t.Errorf("after a replace: %s, want one _etag %s", read.Value, replaced.ETag)
	}
	if again["_rid"] != doc["_rid"] || again["_self"] != doc["_self"] {
		t.Errorf("a replace changed _rid or _self: %v to %v", doc, again)
	}
	if read.RequestCharge != 1 {
		t.Errorf("point read charged %v RU, want 1", read.RequestCharge)
	}
}

func TestSameIDUnderTwoKeys(t *testing.T) {
	s := newServer(t, cosmos.WithRanges(4))
	coll := newContainer(t, s, cosmos.Container{})
	upsert(t, coll, "d1", "same", 1)
	upsert(t, coll, "d2", "same", 2)
	for device, want := range map[string]float64{"d1": 1, "d2": 2} {
		res, err := coll.ReadItem(context.Background(), key(device), "same", nil)
		if err != nil {
			t.Fatal(err)
		}
		if got := decode(t, res.Value)["n"]; got != want {
			t.Errorf("document of %s has n=%v, want %v", device, got, want)
		}
	}
	_, err := coll.ReadItem(context.Background(), key("d3"), "same", nil)
	wantStatus(t, err, http.StatusNotFound, 0)
}

func TestRefusals(t *testing.T) {
	ctx := context.Background()
	stale := &azcosmos.ItemOptions{IfMatchEtag: ptr(azcore.ETag(`"0000-stale"`))}
	big := bytes.Replace(position("d1", "big", 1), []byte("Feature"), bytes.Repeat([]byte("x"), 2<<20), 1)
	tests := []struct {
		name   string
		call   func(c *azcosmos.ContainerClient) error
		status int
		sub    int
	}{
		{"create of an existing document", func(c *azcosmos.ContainerClient) error {
			_, err := c.CreateItem(ctx, key("d1"), position("d1", "a", 2), nil)
			return err
		}, http.StatusConflict, 0},
		{"upsert with a stale etag", func(c *azcosmos.ContainerClient) error {
			_, err := c.UpsertItem(ctx, key("d1"), position("d1", "a", 2), stale)
			return err
		}, http.StatusPreconditionFailed, 0},
		{"replace with a stale etag", func(c *azcosmos.ContainerClient) error {
			_, err := c.ReplaceItem(ctx, key("d1"), "a", position("d1", "a", 2), stale)
			return err
		}, http.StatusPreconditionFailed, 0},
		{"delete with a stale etag", func(c *azcosmos.ContainerClient) error {
			_, err := c.DeleteItem(ctx, key("d1"), "a", stale)
			return err
		}, http.StatusPreconditionFailed, 0},
		{"replace of a missing document", func(c *azcosmos.ContainerClient) error {
			_, err := c.ReplaceItem(ctx, key("d1"), "b", position("d1", "b", 2), nil)
			return err
		}, http.StatusNotFound, 0},
		{"replace with a stale etag of a missing document", func(c *azcosmos.ContainerClient) error {
			_, err := c.ReplaceItem(ctx, key("d1"), "b", position("d1", "b", 2), stale)
			return err
		}, http.StatusNotFound, 0},
		{"replace under another id", func(c *azcosmos.ContainerClient) error {
			_, err := c.ReplaceItem(ctx, key("d1"), "a", position("d1", "b", 2), nil)
			return err
		}, http.StatusBadRequest, 0},
		{"delete of a missing document", func(c *azcosmos.ContainerClient) error {
			_, err := c.DeleteItem(ctx, key("d2"), "a", nil)
			return err
		}, http.StatusNotFound, 0},
		{"read under the wrong key", func(c *azcosmos.ContainerClient) error {
			_, err := c.ReadItem(ctx, key("d2"), "a", nil)
			return err
		}, http.StatusNotFound, 0},
		{"document of another key than the header", func(c *azcosmos.ContainerClient) error {
			_, err := c.UpsertItem(ctx, key("d2"), position("d1", "a", 2), nil)
			return err
		}, http.StatusBadRequest, 1001},
		{"document without the key", func(c *azcosmos.ContainerClient) error {
			_, err := c.UpsertItem(ctx, key("d1"), []byte(`{"id":"a"}`), nil)
			return err
		}, http.StatusBadRequest, 1001},
		{"no key header", func(c *azcosmos.ContainerClient) error {
			_, err := c.UpsertItem(ctx, azcosmos.NewPartitionKey(), position("d1", "a", 2), nil)
			return err
		}, http.StatusBadRequest, 0},
		{"key with two components", func(c *azcosmos.ContainerClient) error {
			_, err := c.UpsertItem(ctx, key("d1").AppendString("x"), position("d1", "a", 2), nil)
			return err
		}, http.StatusBadRequest, 1001},
		{"no id", func(c *azcosmos.ContainerClient) error {
			_, err := c.UpsertItem(ctx, key("d1"), []byte(`{"deviceId":"d1"}`), nil)
			return err
		}, http.StatusBadRequest, 0},
		{"id that is no string", func(c *azcosmos.ContainerClient) error {
			_, err := c.UpsertItem(ctx, key("d1"), []byte(`{"id":7,"deviceId":"d1"}`), nil)
			return err
		}, http.StatusBadRequest, 0},
		{"id with a slash", func(c *azcosmos.ContainerClient) error {
			_, err := c.UpsertItem(ctx, key("d1"), position("d1", "a/b", 2), nil)
			return err
		}, http.StatusBadRequest, 0},
		{"id of 1024 bytes", func(c *azcosmos.ContainerClient) error {
			_, err := c.UpsertItem(ctx, key("d1"), position("d1", strings.Repeat("a", 1024), 2), nil)
			return err
		}, http.StatusBadRequest, 0},
		{"key of 2049 bytes", func(c *azcosmos.ContainerClient) error {
			d := strings.Repeat("d", 2049)
			_, err := c.UpsertItem(ctx, key(d), position(d, "a", 2), nil)
			return err
		}, http.StatusBadRequest, 0},
		{"body that is no object", func(c *azcosmos.ContainerClient) error {
			_, err := c.UpsertItem(ctx, key("d1"), []byte(`[1]`), nil)
			return err
		}, http.StatusBadRequest, 0},
		{"body cut short", func(c *azcosmos.ContainerClient) error {
			_, err := c.UpsertItem(ctx, key("d1"), []byte(`{"id":"a","deviceId":"d1"`), nil)
			return err
		}, http.StatusBadRequest, 0},
		{"ttl of zero", func(c *azcosmos.ContainerClient) error {
			_, err := c.UpsertItem(ctx, key("d1"), []byte(`{"id":"a","deviceId":"d1","ttl":0}`), nil)
			return err
		}, http.StatusBadRequest, 0},
		{"document of more than 2 MiB", func(c *azcosmos.ContainerClient) error {
			_, err := c.UpsertItem(ctx, key("d1"), big, nil)
			return err
		}, http.StatusRequestEntityTooLarge, 0},
	}
	s := newServer(t, cosmos.WithRanges(3))
	coll := newContainer(t, s, cosmos.Container{})
	upsert(t, coll, "d1", "a", 1)
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			re := wantStatus(t, tt.call(coll), tt.status, tt.sub)
			if re.RawResponse.Header.Get("x-ms-activity-id") == "" {
				t.Error("no activity id")
			}
		})
	}
	if got := s.Journal(testDB, testColl); len(got) != 1 {
		t.Errorf("journal after refusals: %+v, want the one write", got)
	}
}

func TestUpsertWithEtagCreatesMissingDocument(t *testing.T) {
	coll := newContainer(t, newServer(t), cosmos.Container{})
	res, err := coll.UpsertItem(context.Background(), key("d1"), position("d1", "a", 1),
		&azcosmos.ItemOptions{IfMatchEtag: ptr(azcore.ETag(`"gone"`))})
	if err != nil {
		t.Fatal(err)
	}
	if got := res.RawResponse.StatusCode; got != http.StatusCreated {
		t.Errorf("status %d, want 201", got)
	}
}

func TestDeleteThenCreate(t *testing.T) {
	coll := newContainer(t, newServer(t), cosmos.Container{})
	ctx := context.Background()
	first := upsert(t, coll, "d1", "a", 1)
	res, err := coll.DeleteItem(ctx, key("d1"), "a", &azcosmos.ItemOptions{IfMatchEtag: &first.ETag})
	if err != nil {
		t.Fatal(err)
	}
	if got := res.RawResponse.StatusCode; got != http.StatusNoContent {
		t.Errorf("delete: status %d, want 204", got)
	}
	_, err = coll.ReadItem(ctx, key("d1"), "a", nil)
	wantStatus(t, err, http.StatusNotFound, 0)
	if _, err := coll.CreateItem(ctx, key("d1"), position("d1", "a", 2), nil); err != nil {
		t.Errorf("create after delete: %v", err)
	}
}

// Guarantee 2: of many writers that hold the same etag, one succeeds.
func TestOneWinnerPerEtag(t *testing.T) {
	coll := newContainer(t, newServer(t), cosmos.Container{})
	etag := upsert(t, coll, "d1", "a", 0).ETag
	for round := range 20 {
		var winners atomic.Int32
		var next atomic.Value
		var wg sync.WaitGroup
		for i := range 16 {
			wg.Go(func() {
				res, err := coll.ReplaceItem(context.Background(), key("d1"), "a", position("d1", "a", 100*round+i), &azcosmos.ItemOptions{IfMatchEtag: &etag})
				if err == nil {
					winners.Add(1)
					next.Store(res.ETag)
					return
				}
				wantStatus(t, err, http.StatusPreconditionFailed, 0)
			})
		}
		wg.Wait()
		if got := winners.Load(); got != 1 {
			t.Fatalf("round %d: %d writers succeeded, want 1", round, got)
		}
		etag = next.Load().(azcore.ETag)
	}
}

// Guarantee 3: what clients are told and what the journal holds agree.
func TestJournalIsTheOrderOfCommits(t *testing.T) {
	s := newServer(t, cosmos.WithRanges(3))
	coll := newContainer(t, s, cosmos.Container{})
	const devices, writes = 8, 25
	etags := make([][]azcore.ETag, devices)
	var wg sync.WaitGroup
	for d := range devices {
		wg.Go(func() {
			for n := range writes {
				device := fmt.Sprintf("d%d", d)
				etags[d] = append(etags[d], upsert(t, coll, device, "a", n).ETag)
			}
		})
	}
	wg.Wait()

	journal := s.Journal(testDB, testColl)
	if len(journal) != devices*writes {
		t.Fatalf("journal has %d writes, want %d", len(journal), devices*writes)
	}
	seen := make([]int, devices)
	var last uint64
	for _, w := range journal {
		if w.Sequence <= last {
			t.Fatalf("sequence %d after %d", w.Sequence, last)
		}
		last = w.Sequence
		var d int
		if _, err := fmt.Sscanf(w.Key, `["d%d"]`, &d); err != nil {
			t.Fatalf("key %s: %v", w.Key, err)
		}
		n := seen[d]
		seen[d]++
		if got, want := decode(t, w.Body)["n"], float64(n); got != want {
			t.Errorf("write %d of d%d has n=%v", n, d, got)
		}
		if w.ETag != string(etags[d][n]) {
			t.Errorf("write %d of d%d: etag %s, client was told %s", n, d, w.ETag, etags[d][n])
		}
		if w.Op != "Upsert" || w.ID != "a" || w.Range == "" || w.Time.IsZero() {
			t.Errorf("incomplete entry %+v", w)
		}
	}
}

func TestKeyKinds(t *testing.T) {
	s := newServer(t, cosmos.WithRanges(5))
	coll := newContainer(t, s, cosmos.Container{})
	tests := []struct {
		name string
		key  azcosmos.PartitionKey
		doc  string
	}{
		{"string", key("x"), `{"id":"a","deviceId":"x"}`},
		{"string with escapes", key("\"\\\n é"), `{"id":"a","deviceId":"\"\\\n \u00e9"}`},
		{"number", azcosmos.NewPartitionKeyNumber(1.5), `{"id":"a","deviceId":15e-1}`},
		{"true", azcosmos.NewPartitionKeyBool(true), `{"id":"a","deviceId":true}`},
		{"false", azcosmos.NewPartitionKeyBool(false), `{"id":"a","deviceId":false}`},
		{"null", azcosmos.NullPartitionKey, `{"id":"a","deviceId":null}`},
		{"longest", key(strings.Repeat("d", 2048)), `{"id":"a","deviceId":"` + strings.Repeat("d", 2048) + `"}`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if _, err := coll.CreateItem(context.Background(), tt.key, []byte(tt.doc), nil); err != nil {
				t.Fatal(err)
			}
			if _, err := coll.ReadItem(context.Background(), tt.key, "a", nil); err != nil {
				t.Fatal(err)
			}
		})
	}
	total := 0
	for _, r := range s.Ranges(testDB, testColl) {
		total += r.Documents
	}
	if total != len(tests) {
		t.Errorf("%d documents, want %d: two keys were taken for one", total, len(tests))
	}
}
