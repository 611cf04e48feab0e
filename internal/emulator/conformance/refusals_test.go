package conformance

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/Azure/go-amqp"

	"warmpath/internal/emulator/cosmos"
	"warmpath/internal/emulator/eventhubs"
)

// What the Cosmos emulator does not do is refused by an error that says what.
func TestCosmosSaysWhatItDoesNotDo(t *testing.T) {
	s := startCosmos(t, cosmos.WithRanges(2), cosmos.WithTokenCheck(func(string) bool { return true }))
	if err := s.CreateContainer("db", cosmos.Container{ID: "c", PartitionKey: cosmos.PartitionKey{Paths: []string{"/k"}, Kind: "Hash", Version: 2}}); err != nil {
		t.Fatal(err)
	}
	const docs = "POST dbs/db/colls/c/docs"
	one := map[string]string{"x-ms-documentdb-partitionkey": `["k"]`}
	all := map[string]string{"x-ms-documentdb-query-enablecrosspartition": "true"}
	plan := map[string]string{"x-ms-cosmos-is-query-plan-request": "True"}
	tests := []struct {
		feature string
		request string // method and path
		headers map[string]string
		body    string // of a request, or the text of a query
		status  int
		says    string
	}{
		{"stored procedures", "POST dbs/db/colls/c/sprocs", nil, `{"id":"p","body":""}`, 501, "not supported"},
		{"triggers", "GET dbs/db/colls/c/triggers", nil, ``, 501, "not supported"},
		{"user-defined functions", "GET dbs/db/colls/c/udfs", nil, ``, 501, "not supported"},
		{"conflicts", "GET dbs/db/colls/c/conflicts", nil, ``, 501, "not supported"},
		{"users", "GET dbs/db/users", nil, ``, 501, "not supported"},
		{"change feed", "GET dbs/db/colls/c/docs", map[string]string{"A-IM": "Incremental feed"}, ``, 501, "not supported"},
		{"trigger of a write", docs, map[string]string{"x-ms-documentdb-partitionkey": `["k"]`, "x-ms-documentdb-pre-trigger-include": "t"},
			`{"id":"a","k":"k"}`, 400, "Triggers"},
		{"unique keys", "POST dbs/db/colls", nil,
			`{"id":"u","partitionKey":{"paths":["/k"],"kind":"Hash","version":2},"uniqueKeyPolicy":{"uniqueKeys":[{"paths":["/n"]}]}}`, 400, "unique keys"},
		{"query plans", docs, plan, `SELECT * FROM c`, 400, "Query plans"},
		{"JOIN", docs, one, `SELECT * FROM c JOIN l IN c.list`, 400, "JOIN"},
		{"GROUP BY", docs, one, `SELECT c.n FROM c GROUP BY c.n`, 400, "GROUP"},
		{"DISTINCT", docs, one, `SELECT DISTINCT c.n FROM c`, 400, "DISTINCT"},
		{"aggregates", docs, one, `SELECT VALUE SUM(c.n) FROM c`, 400, "SUM"},
		{"subqueries", docs, one, `SELECT * FROM c WHERE EXISTS (SELECT VALUE 1 FROM c)`, 400, "EXISTS"},
		{"LIKE", docs, one, `SELECT * FROM c WHERE c.id LIKE 'a%'`, 400, "LIKE"},
		{"functions", docs, one, `SELECT VALUE REGEXMATCH(c.id, 'a') FROM c`, 400, "REGEXMATCH"},
		{"order over partitions", docs, all, `SELECT * FROM c ORDER BY c.n`, 400, "cross partition"},
	}
	client := &http.Client{Transport: &http.Transport{}}
	t.Cleanup(client.CloseIdleConnections)
	for _, tt := range tests {
		t.Run(tt.feature, func(t *testing.T) {
			method, path, _ := strings.Cut(tt.request, " ")
			body := tt.body
			query := strings.HasPrefix(body, "SELECT")
			if query {
				body = fmt.Sprintf(`{"query":%q}`, body)
			}
			req, err := http.NewRequestWithContext(t.Context(), method, s.Endpoint()+path, strings.NewReader(body))
			if err != nil {
				t.Fatal(err)
			}
			req.Header.Set("Authorization", "type=aad&ver=1.0&sig=x")
			req.Header.Set("x-ms-date", time.Now().UTC().Format(http.TimeFormat))
			req.Header.Set("x-ms-version", "2020-11-05")
			if query {
				req.Header.Set("Content-Type", "application/query+json")
				req.Header.Set("x-ms-documentdb-isquery", "True")
			}
			for name, value := range tt.headers {
				req.Header.Set(name, value)
			}
			res, err := client.Do(req)
			if err != nil {
				t.Fatal(err)
			}
			defer func() { _ = res.Body.Close() }()
			text, err := io.ReadAll(res.Body)
			if err != nil {
				t.Fatal(err)
			}
			if res.StatusCode != tt.status || !strings.Contains(strings.ToLower(string(text)), strings.ToLower(tt.says)) {
				t.Errorf("answer %d %s, want %d and a text with %q", res.StatusCode, text, tt.status, tt.says)
			}
		})
	}
}

// What the Event Hubs emulator does not do is refused by an error that says what.
func TestEventHubsSaysWhatItDoesNotDo(t *testing.T) {
	s := startHub(t, eventhubs.WithHub("hub", 2))
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	defer cancel()
	conn, err := amqp.Dial(ctx, "amqp://"+s.Addr(), &amqp.ConnOptions{SASLType: amqp.SASLTypeAnonymous()})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close() })
	session, err := conn.NewSession(ctx, nil)
	if err != nil {
		t.Fatal(err)
	}
	filter := func(text string) *amqp.ReceiverOptions {
		return &amqp.ReceiverOptions{Filters: []amqp.LinkFilter{amqp.NewLinkFilter("apache.org:selector-filter:string", 0x468C00000004, text)}}
	}
	tests := []struct {
		feature string
		source  string
		options *amqp.ReceiverOptions
		says    string
	}{
		{"filters by other than a position", "hub/ConsumerGroups/$Default/Partitions/0", filter("color = 'red'"), "color"},
		{"dynamic nodes", "", &amqp.ReceiverOptions{DynamicAddress: true}, "dynamic nodes"},
		{"missing consumer group", "hub/ConsumerGroups/other/Partitions/0", nil, "other"},
		{"missing partition", "hub/ConsumerGroups/$Default/Partitions/7", nil, "7"},
		{"receiving from a hub", "hub", nil, "hub"},
	}
	for _, tt := range tests {
		t.Run(tt.feature, func(t *testing.T) {
			_, err := session.NewReceiver(ctx, tt.source, tt.options)
			if err == nil || !strings.Contains(err.Error(), tt.says) {
				t.Errorf("error %v, want one with %q", err, tt.says)
			}
		})
	}
}
