package cosmos_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"testing"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore"
	"github.com/Azure/azure-sdk-for-go/sdk/azcore/policy"
	"github.com/Azure/azure-sdk-for-go/sdk/data/azcosmos"
	"go.uber.org/goleak"

	"warmpath/internal/emulator/cosmos"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const (
	testDB   = "fleet"
	testColl = "positions"
)

// newServer starts a server that is closed, and found without goroutines, when
// the test ends.
func newServer(t testing.TB, opts ...cosmos.Option) *cosmos.Server {
	t.Helper()
	s, err := cosmos.Start(opts...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Errorf("close: %v", err)
		}
	})
	return s
}

// newClient returns an unmodified SDK client whose retries are off, so that a
// test sees every answer.
func newClient(t testing.TB, s *cosmos.Server) *azcosmos.Client {
	t.Helper()
	transport := &http.Transport{MaxIdleConnsPerHost: 64}
	t.Cleanup(transport.CloseIdleConnections)
	client, err := azcosmos.NewClientFromConnectionString(s.ConnectionString(), &azcosmos.ClientOptions{
		ClientOptions: azcore.ClientOptions{
			Transport: &http.Client{Transport: transport},
			Retry:     policy.RetryOptions{MaxRetries: -1},
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(client.Close)
	return client
}

// newContainer creates testColl, partitioned by /deviceId unless props say
// otherwise, and returns its client.
func newContainer(t testing.TB, s *cosmos.Server, c cosmos.Container) *azcosmos.ContainerClient {
	t.Helper()
	c.ID = testColl
	if c.PartitionKey.Paths == nil {
		c.PartitionKey = cosmos.PartitionKey{Paths: []string{"/deviceId"}, Kind: "Hash", Version: 2}
	}
	if err := s.CreateContainer(testDB, c); err != nil {
		t.Fatal(err)
	}
	coll, err := newClient(t, s).NewContainer(testDB, testColl)
	if err != nil {
		t.Fatal(err)
	}
	return coll
}

// position is a document for a drone.
func position(device, id string, n int) []byte {
	return fmt.Appendf(nil, `{"id":%q,"deviceId":%q,"type":"Feature","geometry":{"type":"Point","coordinates":[-122.1,47.6,90]},"n":%d}`, id, device, n)
}

func key(device string) azcosmos.PartitionKey { return azcosmos.NewPartitionKeyString(device) }

// upsert writes a position that must be accepted.
func upsert(t testing.TB, coll *azcosmos.ContainerClient, device, id string, n int) azcosmos.ItemResponse {
	t.Helper()
	res, err := coll.UpsertItem(context.Background(), key(device), position(device, id, n), nil)
	if err != nil {
		t.Fatalf("upsert %s/%s: %v", device, id, err)
	}
	return res
}

// wantStatus checks that an error is an answer with a status and substatus.
func wantStatus(t testing.TB, err error, status, sub int) *azcore.ResponseError {
	t.Helper()
	var re *azcore.ResponseError
	if !errors.As(err, &re) {
		t.Fatalf("error %v, want status %d/%d", err, status, sub)
	}
	gotSub, _ := strconv.Atoi(re.RawResponse.Header.Get("x-ms-substatus"))
	if re.StatusCode != status || gotSub != sub {
		t.Errorf("status %d/%d, want %d/%d: %v", re.StatusCode, gotSub, status, sub, err)
	}
	return re
}

// decode reads a served document.
func decode(t testing.TB, body []byte) map[string]any {
	t.Helper()
	var doc map[string]any
	if err := json.Unmarshal(body, &doc); err != nil {
		t.Fatalf("document %q: %v", body, err)
	}
	return doc
}

func ptr[T any](v T) *T { return &v }
