package cosmos_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore"
	"github.com/Azure/azure-sdk-for-go/sdk/data/azcosmos"

	"warmpath/internal/emulator/cosmos"
)

// entra admits every token, for requests that tests make by hand.
func entra() cosmos.Option { return cosmos.WithTokenCheck(func(string) bool { return true }) }

// bulkOp is an operation as the JavaScript SDK sends it.
type bulkOp struct {
	Type         string          `json:"operationType"`
	PartitionKey string          `json:"partitionKey,omitempty"`
	ID           string          `json:"id,omitempty"`
	IfMatch      string          `json:"ifMatch,omitempty"`
	Body         json.RawMessage `json:"resourceBody,omitempty"`
}

type opResult struct {
	Status     int             `json:"statusCode"`
	SubStatus  int             `json:"subStatusCode"`
	Charge     float64         `json:"requestCharge"`
	ETag       string          `json:"eTag"`
	RetryAfter float64         `json:"retryAfterMilliseconds"`
	Message    string          `json:"message"`
	Body       json.RawMessage `json:"resourceBody"`
}

// upsertOp is an upsert of a position.
func upsertOp(device, id string, n int) bulkOp {
	return bulkOp{Type: "Upsert", PartitionKey: fmt.Sprintf(`["%s"]`, device), Body: position(device, id, n)}
}

// bulkHeader holds the headers that the JavaScript SDK sends with a bulk
// request.
func bulkHeader(rangeID string) map[string]string {
	return map[string]string{
		"Authorization":                       "type%3Daad%26ver%3D1.0%26sig%3Dx",
		"Content-Type":                        "application/json",
		"x-ms-version":                        "2020-07-15",
		"x-ms-cosmos-is-batch-request":        "true",
		"x-ms-cosmos-batch-atomic":            "false",
		"x-ms-cosmos-batch-continue-on-error": "true",
		"x-ms-documentdb-partitionkeyrangeid": rangeID,
		"Prefer":                              "return=minimal",
	}
}

func sendBulk(t *testing.T, s *cosmos.Server, header map[string]string, ops ...bulkOp) (*http.Response, []opResult) {
	t.Helper()
	body, err := json.Marshal(ops)
	if err != nil {
		t.Fatal(err)
	}
	res, text := send(t, s, http.MethodPost, "dbs/"+testDB+"/colls/"+testColl+"/docs", header, string(body))
	var results []opResult
	if res.StatusCode < 300 {
		if err := json.Unmarshal([]byte(text), &results); err != nil {
			t.Fatalf("answer %s: %v", text, err)
		}
	}
	return res, results
}

func statuses(results []opResult) string {
	var out []string
	for _, r := range results {
		if r.SubStatus != 0 {
			out = append(out, fmt.Sprintf("%d/%d", r.Status, r.SubStatus))
		} else {
			out = append(out, fmt.Sprint(r.Status))
		}
	}
	return strings.Join(out, " ")
}

func TestBulk(t *testing.T) {
	s := newServer(t, entra())
	newContainer(t, s, cosmos.Container{})
	res, results := sendBulk(t, s, bulkHeader("0"), upsertOp("d1", "a", 1), upsertOp("d2", "a", 1), upsertOp("d1", "a", 2))
	if res.StatusCode != http.StatusOK || statuses(results) != "201 201 200" {
		t.Fatalf("status %d, results %s; want 200 and 201 201 200", res.StatusCode, statuses(results))
	}
	sum := 0.0
	for i, r := range results {
		sum += r.Charge
		if !strings.HasPrefix(r.ETag, `"`) || r.Charge <= 0 || r.Body != nil {
			t.Errorf("result %d: %+v; want a quoted etag, a charge and no body", i, r)
		}
	}
	if got := res.Header.Get("x-ms-request-charge"); got != strings.TrimRight(fmt.Sprintf("%.2f", sum), "0") {
		t.Errorf("charge %s, want the sum %.2f", got, sum)
	}
	if res.Header.Get("x-ms-session-token") == "" {
		t.Error("no session token")
	}

	// Every kind of operation, and failures that stay their own.
	res, results = sendBulk(t, s, bulkHeader("0"),
		bulkOp{Type: "Create", PartitionKey: `["d1"]`, Body: position("d1", "a", 3)},
		bulkOp{Type: "Create", PartitionKey: `["d1"]`, Body: position("d1", "b", 3)},
		bulkOp{Type: "Replace", PartitionKey: `["d1"]`, ID: "a", IfMatch: results[2].ETag, Body: position("d1", "a", 4)},
		bulkOp{Type: "Replace", PartitionKey: `["d1"]`, ID: "a", IfMatch: results[2].ETag, Body: position("d1", "a", 5)},
		bulkOp{Type: "Upsert", PartitionKey: `["d1"]`, IfMatch: `"stale"`, Body: position("d1", "a", 5)},
		bulkOp{Type: "Upsert", PartitionKey: `["d1"]`, IfMatch: `"stale"`, Body: position("d1", "new", 5)},
		bulkOp{Type: "Read", PartitionKey: `["d1"]`, ID: "a"},
		bulkOp{Type: "Read", PartitionKey: `["d2"]`, ID: "b"},
		bulkOp{Type: "Patch", PartitionKey: `["d2"]`, ID: "a", Body: []byte(`{"operations":[{"op":"incr","path":"/n","value":41}]}`)},
		bulkOp{Type: "Delete", PartitionKey: `["d2"]`, ID: "a"},
		bulkOp{Type: "Delete", PartitionKey: `["d2"]`, ID: "a"},
		bulkOp{Type: "Upsert", PartitionKey: `["d2"]`, Body: position("d1", "a", 5)},
		bulkOp{Type: "Upsert", PartitionKey: `["d1","x"]`, Body: position("d1", "a", 5)},
		bulkOp{Type: "Upsert", Body: position("d1", "a", 5)},
		bulkOp{Type: "Upsert", PartitionKey: `["d1"]`, Body: []byte(`{"deviceId":"d1"}`)},
		bulkOp{Type: "Upsert", PartitionKey: `["d1"]`, Body: []byte(`7`)},
		bulkOp{Type: "Explode", PartitionKey: `["d1"]`},
	)
	if res.StatusCode != http.StatusMultiStatus {
		t.Errorf("status %d, want 207", res.StatusCode)
	}
	want := "409 201 200 412 412 201 200 404 200 204 404 400/1001 400/1001 400 400 400 400"
	if got := statuses(results); got != want {
		t.Errorf("results\n%s, want\n%s", got, want)
	}
	if doc := decode(t, results[6].Body); doc["n"] != 4.0 || doc["_etag"] != results[6].ETag {
		t.Errorf("read %s, want n=4 and etag %s", results[6].Body, results[6].ETag)
	}
	if results[3].Message == "" || results[3].Charge <= 0 {
		t.Errorf("a failed operation has message %q and charge %v", results[3].Message, results[3].Charge)
	}
}

func TestBulkRequestsRefused(t *testing.T) {
	s := newServer(t, entra(), cosmos.WithRanges(4))
	newContainer(t, s, cosmos.Container{})
	ops := make([]bulkOp, 101)
	for i := range ops {
		ops[i] = upsertOp("d1", fmt.Sprint(i), 1)
	}
	big := upsertOp("d1", "big", 1)
	big.Body = bytes.Replace(big.Body, []byte("Feature"), bytes.Repeat([]byte("x"), 1<<20), 1)
	tests := []struct {
		name   string
		change func(h map[string]string)
		ops    []bulkOp
		status int
		sub    string
	}{
		{"101 operations", nil, ops, http.StatusBadRequest, ""},
		{"no operations", nil, []bulkOp{}, http.StatusBadRequest, ""},
		{"no range", func(h map[string]string) { delete(h, "x-ms-documentdb-partitionkeyrangeid") }, ops[:1], http.StatusBadRequest, ""},
		{"unknown range", func(h map[string]string) { h["x-ms-documentdb-partitionkeyrangeid"] = "9" }, ops[:1], http.StatusGone, "1002"},
		{"more than 2 MiB", nil, []bulkOp{big, big, big}, http.StatusRequestEntityTooLarge, ""},
		{"wrong token", func(h map[string]string) { h["Authorization"] = "type%3Dmaster%26ver%3D1.0%26sig%3Dx" }, ops[:1], http.StatusUnauthorized, ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			h := bulkHeader("0")
			if tt.change != nil {
				tt.change(h)
			}
			res, _ := sendBulk(t, s, h, tt.ops...)
			if got := res.Header.Get("x-ms-substatus"); res.StatusCode != tt.status || got != tt.sub {
				t.Errorf("status %d/%s, want %d/%s", res.StatusCode, got, tt.status, tt.sub)
			}
		})
	}
	for _, body := range []string{``, `{}`, `[`, `[7]`, `[{}`, `[{}] x`} {
		if res, text := send(t, s, http.MethodPost, "dbs/"+testDB+"/colls/"+testColl+"/docs", bulkHeader("0"), body); res.StatusCode != http.StatusBadRequest {
			t.Errorf("body %q: status %d, want 400: %s", body, res.StatusCode, text)
		}
	}
	if got := s.Journal(testDB, testColl); len(got) != 0 {
		t.Errorf("refused requests wrote %+v", got)
	}
}

func TestBulkOnTheWrongRange(t *testing.T) {
	s := newServer(t, entra(), cosmos.WithRanges(2))
	newContainer(t, s, cosmos.Container{})
	// "drone-1" hashes to 31C9..., "drone-000123" to 0C0E....
	_, results := sendBulk(t, s, bulkHeader("0"), upsertOp("drone-1", "a", 1), upsertOp("drone-000123", "a", 1))
	if got, want := statuses(results), "400/1001 201"; got != want {
		t.Errorf("results %s, want %s", got, want)
	}
}

func TestBulkStopsWithoutContinueOnError(t *testing.T) {
	s := newServer(t, entra())
	newContainer(t, s, cosmos.Container{})
	h := bulkHeader("0")
	delete(h, "x-ms-cosmos-batch-continue-on-error")
	_, results := sendBulk(t, s, h, upsertOp("d1", "a", 1), bulkOp{Type: "Create", PartitionKey: `["d1"]`, Body: position("d1", "a", 1)}, upsertOp("d1", "b", 1))
	if got, want := statuses(results), "201 409 424"; got != want {
		t.Errorf("results %s, want %s", got, want)
	}
}

func TestBulkIsThrottledPerOperation(t *testing.T) {
	clock := newClock()
	s := newServer(t, entra(), cosmos.WithRUPerRange(100), cosmos.WithClock(clock.now))
	newContainer(t, s, cosmos.Container{})
	var ops []bulkOp
	for i := range 100 {
		ops = append(ops, upsertOp("d1", fmt.Sprint(i), 1))
	}
	res, results := sendBulk(t, s, bulkHeader("0"), ops...)
	accepted, used := 0, 0.0
	for i, r := range results {
		switch {
		case r.Status == http.StatusCreated:
			accepted++
			used += r.Charge
			if i != accepted-1 {
				t.Errorf("operation %d was accepted after one was refused", i)
			}
		case r.Status != http.StatusTooManyRequests || r.SubStatus != 3200 || r.RetryAfter != 1000 || r.Charge != 0.76:
			t.Errorf("operation %d: %+v; want 429/3200, 1000 ms and 0.76 RU", i, r)
		}
	}
	if res.StatusCode != http.StatusMultiStatus || used < 100 || used > 110 {
		t.Errorf("status %d with %d accepted for %.1f RU of 100", res.StatusCode, accepted, used)
	}
	clock.advance(2e9)
	if _, results = sendBulk(t, s, bulkHeader("0"), ops[accepted]); statuses(results) != "201" {
		t.Errorf("after the wait: %s", statuses(results))
	}
}

func TestBulkAnswersStayBelowFourMegabytes(t *testing.T) {
	s := newServer(t, entra())
	newContainer(t, s, cosmos.Container{})
	for i := range 4 {
		op := upsertOp("d1", fmt.Sprint(i), 1)
		op.Body = bytes.Replace(op.Body, []byte("Feature"), bytes.Repeat([]byte("x"), 1_500_000), 1)
		if _, results := sendBulk(t, s, bulkHeader("0"), op); statuses(results) != "201" {
			t.Fatal(statuses(results))
		}
	}
	read := func(i int) bulkOp { return bulkOp{Type: "Read", PartitionKey: `["d1"]`, ID: fmt.Sprint(i)} }
	h := bulkHeader("0")
	delete(h, "Prefer")
	_, results := sendBulk(t, s, h, read(0), read(1), read(2), read(3))
	if got, want := statuses(results), "200 200 413/3402 413/3402"; got != want {
		t.Errorf("results %s, want %s", got, want)
	}
	h["x-ms-cosmos-batch-atomic"], h["x-ms-documentdb-partitionkey"] = "true", `["d1"]`
	_, results = sendBulk(t, s, h, read(0), read(1), read(2), read(3))
	if got, want := statuses(results), "424 424 413/3402 424"; got != want {
		t.Errorf("transaction: results %s, want %s", got, want)
	}
}

func TestTransactionThroughTheSDK(t *testing.T) {
	s := newServer(t, cosmos.WithRanges(3))
	coll := newContainer(t, s, cosmos.Container{})
	ctx := context.Background()
	upsert(t, coll, "d1", "old", 1)
	before := upsert(t, coll, "d1", "gone", 1)

	b := coll.NewTransactionalBatch(key("d1"))
	b.CreateItem(position("d1", "a", 1), nil)
	b.UpsertItem(position("d1", "b", 2), nil)
	b.ReplaceItem("old", position("d1", "old", 2), nil)
	b.ReadItem("old", nil)
	var p azcosmos.PatchOperations
	p.AppendIncrement("/n", 40)
	b.PatchItem("old", p, nil)
	b.DeleteItem("gone", &azcosmos.TransactionalBatchItemOptions{IfMatchETag: &before.ETag})
	res, err := coll.ExecuteTransactionalBatch(ctx, b, nil)
	if err != nil {
		t.Fatal(err)
	}
	var got []int32
	for _, r := range res.OperationResults {
		got = append(got, r.StatusCode)
		if r.StatusCode != http.StatusNoContent && r.ETag == "" || r.RequestCharge <= 0 {
			t.Errorf("result without etag or charge: %+v", r)
		}
	}
	if want := []int32{201, 201, 200, 200, 200, 204}; !res.Success || fmt.Sprint(got) != fmt.Sprint(want) {
		t.Fatalf("success %v, results %v, want %v", res.Success, got, want)
	}
	if doc := decode(t, res.OperationResults[3].ResourceBody); doc["n"] != 2.0 {
		t.Errorf("read inside the transaction: %v, want n=2", doc)
	}
	read, err := coll.ReadItem(ctx, key("d1"), "old", nil)
	if err != nil || decode(t, read.Value)["n"] != 42.0 {
		t.Errorf("after the transaction: %s (%v), want n=42", read.Value, err)
	}
	if got := len(s.Journal(testDB, testColl)); got != 7 {
		t.Errorf("journal has %d writes, want 7", got)
	}
}

func TestTransactionIsUndone(t *testing.T) {
	s := newServer(t)
	coll := newContainer(t, s, cosmos.Container{})
	ctx := context.Background()
	for i := range 5 {
		upsert(t, coll, "d1", fmt.Sprint(i), i)
	}
	contents := func() string {
		rows, _ := query(t, coll, "SELECT c.id, c.n, c._etag FROM c", key("d1"), nil)
		all, _ := query(t, coll, "SELECT c.id, c.n, c._etag FROM c", everyKey, nil)
		if fmt.Sprint(rows) != fmt.Sprint(all) {
			t.Errorf("the key has %v, the container %v", rows, all)
		}
		return strings.Join(rows, "\n")
	}
	before, journal := contents(), len(s.Journal(testDB, testColl))

	b := coll.NewTransactionalBatch(key("d1"))
	b.DeleteItem("1", nil)
	b.DeleteItem("2", nil)
	b.DeleteItem("0", nil)
	b.CreateItem(position("d1", "1", 100), nil)
	b.DeleteItem("1", nil)
	b.UpsertItem(position("d1", "3", 100), nil)
	b.DeleteItem("4", nil)
	b.DeleteItem("3", nil)
	b.CreateItem(position("d1", "9", 100), nil)
	b.CreateItem(position("d1", "9", 100), nil) // fails
	b.CreateItem(position("d1", "8", 100), nil)
	res, err := coll.ExecuteTransactionalBatch(ctx, b, nil)
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, r := range res.OperationResults {
		got = append(got, fmt.Sprint(r.StatusCode))
	}
	if want := strings.Repeat("424 ", 9) + "409 424"; res.Success || strings.Join(got, " ") != want {
		t.Errorf("success %v, results %s, want %s", res.Success, got, want)
	}
	if after := contents(); after != before {
		t.Errorf("after the undone transaction:\n%s\nwant\n%s", after, before)
	}
	if got := len(s.Journal(testDB, testColl)); got != journal {
		t.Errorf("journal has %d writes, want %d", got, journal)
	}
	// What was undone can be done.
	if _, err := coll.DeleteItem(ctx, key("d1"), "2", nil); err != nil {
		t.Error(err)
	}
	upsert(t, coll, "d1", "9", 1)
	upsert(t, coll, "d1", "0", 1)
	rows, _ := query(t, coll, "SELECT VALUE c.id FROM c", key("d1"), nil)
	if got := strings.Join(rows, " "); got != `"0" "1" "3" "4" "9"` {
		t.Errorf("documents %s", got)
	}
}

// The documents that a transaction deletes are many enough to be compacted
// away, and must not be before it is known that it stays.
func TestLargeTransactionIsUndone(t *testing.T) {
	s := newServer(t)
	coll := newContainer(t, s, cosmos.Container{})
	b := coll.NewTransactionalBatch(key("d1"))
	for i := range 99 {
		upsert(t, coll, "d1", fmt.Sprint(i), i)
		b.DeleteItem(fmt.Sprint(i), nil)
	}
	before, _ := query(t, coll, "SELECT * FROM c", everyKey, nil)
	b.DeleteItem("missing", nil)
	res, err := coll.ExecuteTransactionalBatch(context.Background(), b, nil)
	if err != nil || res.Success {
		t.Fatalf("success %v, error %v; want neither", res.Success, err)
	}
	if after, _ := query(t, coll, "SELECT * FROM c", everyKey, nil); len(before) != 99 || fmt.Sprint(after) != fmt.Sprint(before) {
		t.Errorf("%d documents after the undone transaction, want the %d before", len(after), len(before))
	}
}

func TestTransactionsRefused(t *testing.T) {
	s := newServer(t)
	coll := newContainer(t, s, cosmos.Container{})
	ctx := context.Background()
	b := coll.NewTransactionalBatch(key("d1"))
	for i := range 101 {
		b.UpsertItem(position("d1", fmt.Sprint(i), 1), nil)
	}
	_, err := coll.ExecuteTransactionalBatch(ctx, b, nil)
	wantStatus(t, err, http.StatusBadRequest, 0)

	b = coll.NewTransactionalBatch(key("d1"))
	b.UpsertItem(position("d2", "a", 1), nil)
	b.UpsertItem(position("d1", "a", 1), nil)
	res, err := coll.ExecuteTransactionalBatch(ctx, b, nil)
	if err != nil || res.Success || res.OperationResults[0].StatusCode != http.StatusBadRequest || res.OperationResults[1].StatusCode != http.StatusFailedDependency {
		t.Errorf("document of another key: %+v (%v), want 400 and 424", res.OperationResults, err)
	}

	s.SetRUPerRange(1)
	b = coll.NewTransactionalBatch(key("d1"))
	b.UpsertItem(position("d1", "a", 1), nil)
	if _, err := coll.ExecuteTransactionalBatch(ctx, b, nil); err != nil {
		t.Fatal(err)
	}
	_, err = coll.ExecuteTransactionalBatch(ctx, b, nil)
	wantStatus(t, err, http.StatusTooManyRequests, 3200)
}

func TestPatchThroughTheSDK(t *testing.T) {
	const doc = `{"id":"a","deviceId":"d1","n":1,"o":{"p":[1,2,3],"q":null},"keep":"me"}`
	tests := []struct {
		name  string
		patch func(p *azcosmos.PatchOperations)
		want  string // "" for a refusal with status
		code  int
	}{
		{"set and add", func(p *azcosmos.PatchOperations) { p.AppendSet("/n", 2); p.AppendAdd("/new", "x") },
			`{"id":"a","deviceId":"d1","n":2,"o":{"p":[1,2,3],"q":null},"keep":"me","new":"x"}`, 0},
		{"nested", func(p *azcosmos.PatchOperations) { p.AppendReplace("/o/q", 7); p.AppendSet("/o/r", true) },
			`{"id":"a","deviceId":"d1","n":1,"o":{"p":[1,2,3],"q":7,"r":true},"keep":"me"}`, 0},
		{"arrays", func(p *azcosmos.PatchOperations) {
			p.AppendAdd("/o/p/-", 4)
			p.AppendAdd("/o/p/0", 0)
			p.AppendSet("/o/p/1", 10)
			p.AppendRemove("/o/p/2")
		}, `{"id":"a","deviceId":"d1","n":1,"o":{"p":[0,10,3,4],"q":null},"keep":"me"}`, 0},
		{"remove", func(p *azcosmos.PatchOperations) { p.AppendRemove("/o") }, `{"id":"a","deviceId":"d1","n":1,"keep":"me"}`, 0},
		{"increment", func(p *azcosmos.PatchOperations) { p.AppendIncrement("/n", -3); p.AppendIncrement("/count", 5) },
			`{"id":"a","deviceId":"d1","n":-2,"o":{"p":[1,2,3],"q":null},"keep":"me","count":5}`, 0},
		{"condition that holds", func(p *azcosmos.PatchOperations) {
			p.SetCondition("from c where c.n < 2")
			p.AppendSet("/n", 2)
		},
			`{"id":"a","deviceId":"d1","n":2,"o":{"p":[1,2,3],"q":null},"keep":"me"}`, 0},
		{"condition that fails", func(p *azcosmos.PatchOperations) {
			p.SetCondition("from c where c.n > 1")
			p.AppendSet("/n", 2)
		}, "", http.StatusPreconditionFailed},
		{"condition that is no query", func(p *azcosmos.PatchOperations) { p.SetCondition("c.n = 1"); p.AppendSet("/n", 2) }, "", http.StatusBadRequest},
		{"replace of nothing", func(p *azcosmos.PatchOperations) { p.AppendReplace("/none", 1) }, "", http.StatusBadRequest},
		{"remove of nothing", func(p *azcosmos.PatchOperations) { p.AppendRemove("/o/none") }, "", http.StatusBadRequest},
		{"through a number", func(p *azcosmos.PatchOperations) { p.AppendSet("/n/x", 1) }, "", http.StatusBadRequest},
		{"index beyond the end", func(p *azcosmos.PatchOperations) { p.AppendSet("/o/p/4", 1) }, "", http.StatusBadRequest},
		{"increment of a string", func(p *azcosmos.PatchOperations) { p.AppendIncrement("/keep", 1) }, "", http.StatusBadRequest},
		{"the id", func(p *azcosmos.PatchOperations) { p.AppendSet("/id", "b") }, "", http.StatusBadRequest},
		{"a system property", func(p *azcosmos.PatchOperations) { p.AppendSet("/_etag", "b") }, "", http.StatusBadRequest},
		{"the partition key", func(p *azcosmos.PatchOperations) { p.AppendSet("/deviceId", "d2") }, "", http.StatusBadRequest},
		{"eleven operations", func(p *azcosmos.PatchOperations) {
			for range 11 {
				p.AppendIncrement("/n", 1)
			}
		}, "", http.StatusBadRequest},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			s := newServer(t)
			coll := newContainer(t, s, cosmos.Container{})
			ctx := context.Background()
			if _, err := coll.CreateItem(ctx, key("d1"), []byte(doc), nil); err != nil {
				t.Fatal(err)
			}
			var p azcosmos.PatchOperations
			tt.patch(&p)
			_, err := coll.PatchItem(ctx, key("d1"), "a", p, nil)
			want := tt.want
			if want == "" {
				want = doc
				var re *azcore.ResponseError
				if !errors.As(err, &re) || re.StatusCode != tt.code {
					t.Errorf("error %v, want status %d", err, tt.code)
				}
			} else if err != nil {
				t.Fatal(err)
			}
			for d := range s.Documents(testDB, testColl) {
				if string(d.Body) != want {
					t.Errorf("document %s, want %s", d.Body, want)
				}
			}
		})
	}
}
