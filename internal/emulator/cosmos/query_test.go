package cosmos_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore"
	"github.com/Azure/azure-sdk-for-go/sdk/data/azcosmos"

	"warmpath/internal/emulator/cosmos"
)

// query drains a query and returns its rows and how many pages they took.
func query(t testing.TB, coll *azcosmos.ContainerClient, text string, pk azcosmos.PartitionKey, o *azcosmos.QueryOptions) (rows []string, pages int) {
	t.Helper()
	pager := coll.NewQueryItemsPager(text, pk, o)
	for pager.More() {
		page, err := pager.NextPage(context.Background())
		if err != nil {
			t.Fatalf("%s: %v", text, err)
		}
		pages++
		for _, item := range page.Items {
			rows = append(rows, string(item))
		}
	}
	return rows, pages
}

func queryError(coll *azcosmos.ContainerClient, text string, pk azcosmos.PartitionKey, o *azcosmos.QueryOptions) error {
	_, err := coll.NewQueryItemsPager(text, pk, o).NextPage(context.Background())
	return err
}

var everyKey = azcosmos.NewPartitionKey()

// fleet writes n documents for each of some drones, at places along a meridian.
func fleet(t testing.TB, coll *azcosmos.ContainerClient, drones, n int) {
	t.Helper()
	for d := range drones {
		for i := range n {
			device := fmt.Sprintf("d%d", d)
			doc := fmt.Appendf(nil, `{"id":"%d","deviceId":%q,"n":%d,"geometry":{"type":"Point","coordinates":[10,%d]}}`, i, device, i, d)
			if _, err := coll.UpsertItem(context.Background(), key(device), doc, nil); err != nil {
				t.Fatal(err)
			}
		}
	}
}

func TestCrossPartitionQueries(t *testing.T) {
	s := newServer(t, cosmos.WithRanges(4))
	coll := newContainer(t, s, cosmos.Container{})
	fleet(t, coll, 20, 3)
	tests := []struct {
		name  string
		query string
		o     azcosmos.QueryOptions
		want  int
	}{
		{"all", `SELECT * FROM c`, azcosmos.QueryOptions{}, 60},
		{"small pages", `SELECT * FROM c`, azcosmos.QueryOptions{PageSizeHint: 2}, 60},
		{"filter", `SELECT * FROM c WHERE c.n = 1`, azcosmos.QueryOptions{}, 20},
		{"nothing", `SELECT * FROM c WHERE c.n = 99`, azcosmos.QueryOptions{}, 0},
		{"projection", `SELECT VALUE c.deviceId FROM c WHERE c.n IN (0, 2)`, azcosmos.QueryOptions{PageSizeHint: 7}, 40},
		{"parameters", `SELECT c.id FROM c WHERE STARTSWITH(c.deviceId, @p) AND c.n >= @n`,
			azcosmos.QueryOptions{QueryParameters: []azcosmos.QueryParameter{{Name: "@p", Value: "d1"}, {Name: "@n", Value: 2}}}, 11},
		{"distance", `SELECT * FROM c WHERE ST_DISTANCE(c.geometry, {"type":"Point","coordinates":[10,0]}) < 250000`, azcosmos.QueryOptions{}, 9},
		{"within", `SELECT * FROM c WHERE ST_WITHIN(c.geometry, @area)`, azcosmos.QueryOptions{QueryParameters: []azcosmos.QueryParameter{{
			Name: "@area", Value: json.RawMessage(`{"type":"Polygon","coordinates":[[[9,4.5],[11,4.5],[11,8.5],[9,8.5],[9,4.5]]]}`)}}}, 12},
		{"system properties", `SELECT c._etag, c._ts FROM c WHERE c._ts > 0 AND IS_STRING(c._rid)`, azcosmos.QueryOptions{}, 60},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			rows, pages := query(t, coll, tt.query, everyKey, &tt.o)
			if len(rows) != tt.want {
				t.Errorf("%d rows, want %d", len(rows), tt.want)
			}
			if pages < 4 {
				t.Errorf("%d pages over 4 ranges, want one for each at least", pages)
			}
			if tt.name == "all" || tt.name == "small pages" {
				seen := make(map[string]bool)
				for _, row := range rows {
					doc := decode(t, []byte(row))
					seen[fmt.Sprint(doc["deviceId"], "/", doc["id"])] = true
				}
				if len(seen) != tt.want {
					t.Errorf("%d different documents of %d", len(seen), tt.want)
				}
			}
		})
	}
}

func TestQueriesOfOneKey(t *testing.T) {
	s := newServer(t, cosmos.WithRanges(4))
	coll := newContainer(t, s, cosmos.Container{})
	fleet(t, coll, 5, 30)
	tests := []struct {
		query string
		size  int32
		want  string
	}{
		{`SELECT VALUE COUNT(1) FROM c`, 0, `30`},
		{`SELECT VALUE COUNT(1) FROM c WHERE c.n < 10`, 0, `10`},
		{`SELECT VALUE COUNT(c.missing) FROM c`, 0, `0`},
		{`SELECT VALUE c.n FROM c WHERE c.n < 5`, 2, `0 1 2 3 4`},
		{`SELECT VALUE c.n FROM c WHERE c.n < 5 ORDER BY c.n DESC`, 2, `4 3 2 1 0`},
		{`SELECT TOP 3 VALUE c.n FROM c ORDER BY c.n DESC`, 0, `29 28 27`},
		{`SELECT TOP @n VALUE c.n FROM c`, 0, `0 1`},
		{`SELECT VALUE c.n FROM c ORDER BY c._ts, c.n OFFSET 10 LIMIT 3`, 2, `10 11 12`},
	}
	for _, tt := range tests {
		t.Run(tt.query, func(t *testing.T) {
			rows, _ := query(t, coll, tt.query, key("d3"), &azcosmos.QueryOptions{PageSizeHint: tt.size,
				QueryParameters: []azcosmos.QueryParameter{{Name: "@n", Value: 2}}})
			if got := strings.Join(rows, " "); got != tt.want {
				t.Errorf("rows %s, want %s", got, tt.want)
			}
		})
	}
}

func TestQueriesRefused(t *testing.T) {
	coll := newContainer(t, newServer(t, cosmos.WithRanges(2)), cosmos.Container{})
	fleet(t, coll, 2, 2)
	tests := []struct {
		query string
		o     *azcosmos.QueryOptions
		sub   int
	}{
		{`SELECT VALUE COUNT(1) FROM c`, nil, 1004},
		{`SELECT * FROM c ORDER BY c.n`, nil, 1004},
		{`SELECT TOP 1 * FROM c`, nil, 1004},
		{`SELECT * FROM c OFFSET 0 LIMIT 1`, nil, 1004},
		{`SELECT DISTINCT c.n FROM c`, nil, 0},
		{`SELECT c.n FROM c GROUP BY c.n`, nil, 0},
		{`SELECT * FROM c JOIN l IN c.list`, nil, 0},
		{`SELECT * FROM c WHERE`, nil, 0},
		{`SELECT * FROM c WHERE c.n = @missing`, nil, 0},
		{`SELECT * FROM c WHERE ST_WITHIN({'type':'LineString','coordinates':[[0,0],[1,1]]}, c.geometry)`, nil, 0},
		{`SELECT * FROM c`, &azcosmos.QueryOptions{EnableCrossPartitionQuery: ptr(false)}, 0},
		{`SELECT * FROM c`, &azcosmos.QueryOptions{ContinuationToken: ptr("nonsense")}, 0},
		{`SELECT * FROM c`, &azcosmos.QueryOptions{ContinuationToken: ptr(`{"stretches":[{"min":"FF","max":""}]}`)}, 0},
	}
	for _, tt := range tests {
		t.Run(tt.query, func(t *testing.T) {
			wantStatus(t, queryError(coll, tt.query, everyKey, tt.o), http.StatusBadRequest, tt.sub)
		})
	}
}

func TestReadManyItems(t *testing.T) {
	s := newServer(t, cosmos.WithRanges(5))
	coll := newContainer(t, s, cosmos.Container{})
	fleet(t, coll, 300, 1)
	var items []azcosmos.ItemIdentity
	want := make(map[string]bool)
	for d := range 300 {
		device := fmt.Sprintf("d%d", d)
		items = append(items, azcosmos.ItemIdentity{ID: "0", PartitionKey: key(device)})
		want[device] = true
	}
	items = append(items, azcosmos.ItemIdentity{ID: "none", PartitionKey: key("d1")}, azcosmos.ItemIdentity{ID: "0", PartitionKey: key("nobody")}, items[0])
	res, err := coll.ReadManyItems(context.Background(), items, nil)
	if err != nil {
		t.Fatal(err)
	}
	got := make(map[string]bool)
	for _, item := range res.Items {
		doc := decode(t, item)
		if doc["_etag"] == nil {
			t.Fatalf("no _etag in %s", item)
		}
		got[doc["deviceId"].(string)] = true
	}
	if len(res.Items) != len(want) || !maps.Equal(got, want) {
		t.Errorf("%d items of %d drones, want %d", len(res.Items), len(got), len(want))
	}
	if res.RequestCharge <= 0 {
		t.Errorf("charge %v", res.RequestCharge)
	}

	// Several documents of one key are asked for in another form.
	one, err := coll.ReadManyItems(context.Background(), []azcosmos.ItemIdentity{
		{ID: "0", PartitionKey: key("d7")}, {ID: "1", PartitionKey: key("d7")}}, nil)
	if err != nil || len(one.Items) != 1 {
		t.Errorf("%d items of one key (error %v), want 1", len(one.Items), err)
	}
}

func TestHierarchicalKeys(t *testing.T) {
	s := newServer(t, cosmos.WithRanges(8))
	coll := newContainer(t, s, cosmos.Container{PartitionKey: cosmos.PartitionKey{
		Kind: "MultiHash", Version: 2, Paths: []string{"/tenant", "/site/name", "/deviceId"}}})
	ctx := context.Background()
	for tenant := range 3 {
		for site := range 3 {
			for device := range 4 {
				pk := azcosmos.NewPartitionKeyString(fmt.Sprint("t", tenant)).AppendString(fmt.Sprint("s", site)).AppendNumber(float64(device))
				doc := fmt.Appendf(nil, `{"id":"a","tenant":"t%d","site":{"name":"s%d"},"deviceId":%d}`, tenant, site, device)
				if _, err := coll.CreateItem(ctx, pk, doc, nil); err != nil {
					t.Fatal(err)
				}
				if _, err := coll.ReadItem(ctx, pk, "a", nil); err != nil {
					t.Fatal(err)
				}
			}
		}
	}
	t1 := azcosmos.NewPartitionKeyString("t1")
	for _, tt := range []struct {
		name string
		pk   azcosmos.PartitionKey
		want int
	}{
		{"all", everyKey, 36},
		{"one tenant", t1, 12},
		{"one site", t1.AppendString("s2"), 4},
		{"one key", t1.AppendString("s2").AppendNumber(3), 1},
	} {
		if rows, _ := query(t, coll, "SELECT * FROM c", tt.pk, &azcosmos.QueryOptions{PageSizeHint: 3}); len(rows) != tt.want {
			t.Errorf("%s: %d rows, want %d", tt.name, len(rows), tt.want)
		}
	}
	_, err := coll.ReadItem(ctx, t1, "a", nil)
	wantStatus(t, err, http.StatusBadRequest, 1001)
	many, err := coll.ReadManyItems(ctx, []azcosmos.ItemIdentity{
		{ID: "a", PartitionKey: t1.AppendString("s0").AppendNumber(0)},
		{ID: "a", PartitionKey: azcosmos.NewPartitionKeyString("t2").AppendString("s1").AppendNumber(3)},
	}, nil)
	if err != nil || len(many.Items) != 2 {
		t.Errorf("%d items (error %v), want 2", len(many.Items), err)
	}
	// A tenant's documents share its part of the hash space.
	for _, w := range s.Journal(testDB, testColl)[:1] {
		if w.Key != `["t0","s0",0]` {
			t.Errorf("key %s", w.Key)
		}
	}
}

func TestDatabasesAndContainersAreListed(t *testing.T) {
	s := newServer(t)
	for _, id := range []string{"a", "b"} {
		if err := s.CreateContainer("db-"+id, cosmos.Container{ID: id, PartitionKey: cosmos.PartitionKey{Paths: []string{"/k"}, Version: 2}}); err != nil {
			t.Fatal(err)
		}
	}
	client := newClient(t, s)
	var got []string
	for pager := client.NewQueryDatabasesPager("SELECT * FROM d WHERE d.id != 'db-a'", nil); pager.More(); {
		page, err := pager.NextPage(context.Background())
		if err != nil {
			t.Fatal(err)
		}
		for _, d := range page.Databases {
			got = append(got, d.ID)
		}
	}
	db, err := client.NewDatabase("db-a")
	if err != nil {
		t.Fatal(err)
	}
	for pager := db.NewQueryContainersPager("SELECT * FROM c", nil); pager.More(); {
		page, err := pager.NextPage(context.Background())
		if err != nil {
			t.Fatal(err)
		}
		for _, c := range page.Containers {
			got = append(got, c.ID)
		}
	}
	if want := []string{"db-b", "a"}; !slices.Equal(got, want) {
		t.Errorf("listed %v, want %v", got, want)
	}
}

func TestSessionAheadOfTheRange(t *testing.T) {
	s := newServer(t)
	coll := newContainer(t, s, cosmos.Container{})
	token := upsert(t, coll, "d1", "a", 1).SessionToken
	if _, err := coll.ReadItem(context.Background(), key("d1"), "a", &azcosmos.ItemOptions{SessionToken: token}); err != nil {
		t.Errorf("read with the token of the write: %v", err)
	}
	_, err := coll.ReadItem(context.Background(), key("d1"), "a", &azcosmos.ItemOptions{SessionToken: ptr("0:-1#999")})
	wantStatus(t, err, http.StatusNotFound, 1002)
	err = queryError(coll, "SELECT * FROM c", key("d1"), &azcosmos.QueryOptions{SessionToken: ptr("7:-1#1,0:-1#999")})
	wantStatus(t, err, http.StatusNotFound, 1002)
}

func TestQueriesAreThrottledAndCharged(t *testing.T) {
	s := newServer(t, cosmos.WithRanges(2))
	coll := newContainer(t, s, cosmos.Container{})
	fleet(t, coll, 10, 2)
	before := s.Ranges(testDB, testColl)
	page, err := coll.NewQueryItemsPager("SELECT * FROM c", everyKey, nil).NextPage(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	after := s.Ranges(testDB, testColl)
	if used := after[0].RequestUnits - before[0].RequestUnits; used < 2.3 || float32(used)-page.RequestCharge > 0.01 {
		t.Errorf("range 0 used %.2f RU for a page charged %.2f", used, page.RequestCharge)
	}
	if after[1].RequestUnits != before[1].RequestUnits {
		t.Error("a page of range 0 was charged to range 1")
	}
	s.SetRUPerRange(0.5)
	_ = queryError(coll, "SELECT * FROM c", everyKey, nil) // leaves a debt
	err = queryError(coll, "SELECT * FROM c", everyKey, nil)
	re := wantStatus(t, err, http.StatusTooManyRequests, 3200)
	if re.RawResponse.Header.Get("x-ms-retry-after-ms") == "" {
		t.Error("no x-ms-retry-after-ms")
	}
}

func TestConcurrentWritesDoNotDisturbPaging(t *testing.T) {
	s := newServer(t, cosmos.WithRanges(3))
	coll := newContainer(t, s, cosmos.Container{})
	fleet(t, coll, 30, 4)
	pager := coll.NewQueryItemsPager("SELECT * FROM c", everyKey, &azcosmos.QueryOptions{PageSizeHint: 5})
	seen := make(map[string]int)
	for n := 0; pager.More(); n++ {
		page, err := pager.NextPage(context.Background())
		if err != nil {
			t.Fatal(err)
		}
		for _, item := range page.Items {
			doc := decode(t, item)
			seen[fmt.Sprint(doc["deviceId"], "/", doc["id"])]++
		}
		// Replaces keep a document's place; deleted ones leave no gap.
		upsert(t, coll, fmt.Sprintf("d%d", n), "0", 100)
		if _, err := coll.DeleteItem(context.Background(), key(fmt.Sprintf("d%d", n)), "3", nil); err != nil {
			var re *azcore.ResponseError
			if !errors.As(err, &re) || re.StatusCode != http.StatusNotFound {
				t.Fatal(err)
			}
		}
	}
	for d := range 30 {
		for i := range 3 {
			if k := fmt.Sprintf("d%d/%d", d, i); seen[k] != 1 {
				t.Errorf("%s was seen %d times, want once", k, seen[k])
			}
		}
	}
}
