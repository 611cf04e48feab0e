package cosmos_test

import (
	"bytes"
	"context"
	"encoding/base64"
	"fmt"
	"io"
	"net"
	"net/http"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/data/azcosmos"

	"warmpath/internal/emulator/cosmos"
)

func TestWrongKeyIsRefused(t *testing.T) {
	s := newServer(t)
	newContainer(t, s, cosmos.Container{})
	cred, err := azcosmos.NewKeyCredential(base64.StdEncoding.EncodeToString([]byte("another key")))
	if err != nil {
		t.Fatal(err)
	}
	transport := &http.Transport{}
	t.Cleanup(transport.CloseIdleConnections)
	opts := &azcosmos.ClientOptions{}
	opts.Transport = &http.Client{Transport: transport}
	client, err := azcosmos.NewClientWithKey(s.Endpoint(), cred, opts)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(client.Close)
	coll, err := client.NewContainer(testDB, testColl)
	if err != nil {
		t.Fatal(err)
	}
	_, err = coll.UpsertItem(context.Background(), key("d1"), position("d1", "a", 1), nil)
	wantStatus(t, err, http.StatusUnauthorized, 0)
	if got := s.Journal(testDB, testColl); len(got) != 0 {
		t.Errorf("a write with the wrong key was accepted: %+v", got)
	}
}

// send makes a request by hand and returns the answer with its body.
func send(t *testing.T, s *cosmos.Server, method, path string, header map[string]string, body string) (*http.Response, string) {
	t.Helper()
	req, err := http.NewRequest(method, s.Endpoint()+path, bytes.NewReader([]byte(body)))
	if err != nil {
		t.Fatal(err)
	}
	for k, v := range header {
		req.Header.Set(k, v)
	}
	transport := &http.Transport{}
	defer transport.CloseIdleConnections()
	res, err := transport.RoundTrip(req)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = res.Body.Close() }()
	b, err := io.ReadAll(res.Body)
	if err != nil {
		t.Fatal(err)
	}
	return res, string(b)
}

func TestTokensRefused(t *testing.T) {
	s := newServer(t, cosmos.WithTokenCheck(func(token string) bool { return token == "good" }))
	now := time.Now().UTC().Format(http.TimeFormat)
	tests := []struct {
		name   string
		header map[string]string
		status int
	}{
		{"none", nil, http.StatusUnauthorized},
		{"garbage", map[string]string{"Authorization": "Bearer x", "x-ms-date": now}, http.StatusUnauthorized},
		{"no date", map[string]string{"Authorization": "type%3Dmaster%26ver%3D1.0%26sig%3Dx"}, http.StatusUnauthorized},
		{"old date", map[string]string{"Authorization": "type%3Dmaster%26ver%3D1.0%26sig%3Dx",
			"x-ms-date": time.Now().Add(-time.Hour).UTC().Format(http.TimeFormat)}, http.StatusForbidden},
		{"bad Entra token", map[string]string{"Authorization": "type=aad&ver=1.0&sig=bad"}, http.StatusUnauthorized},
		{"good Entra token", map[string]string{"Authorization": "type=aad&ver=1.0&sig=good"}, http.StatusOK},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			res, body := send(t, s, http.MethodGet, "", tt.header, "")
			if res.StatusCode != tt.status {
				t.Errorf("status %d, want %d: %s", res.StatusCode, tt.status, body)
			}
			if tt.status == http.StatusOK && !strings.Contains(body, strconv.Quote(s.Endpoint())) {
				t.Errorf("the account does not name its own address %s: %s", s.Endpoint(), body)
			}
		})
	}
}

func TestUnsupportedIsSaidAloud(t *testing.T) {
	s := newServer(t, cosmos.WithTokenCheck(func(string) bool { return true }))
	newContainer(t, s, cosmos.Container{})
	entra := map[string]string{"Authorization": "type=aad&ver=1.0&sig=x"}
	for _, path := range []string{"dbs/fleet/colls/positions/sprocs", "dbs/fleet/users", "nonsense", "dbs/fleet/colls/positions/docs/a/attachments"} {
		res, body := send(t, s, http.MethodGet, path, entra, "")
		if res.StatusCode != http.StatusNotImplemented || !strings.Contains(body, "not supported") {
			t.Errorf("GET %s: status %d, body %s; want 501", path, res.StatusCode, body)
		}
	}
}

func TestLatencyIsPerRequest(t *testing.T) {
	s := newServer(t)
	coll := newContainer(t, s, cosmos.Container{})
	upsert(t, coll, "d1", "a", 1)
	s.SetLatency(50 * time.Millisecond)
	start := time.Now()
	upsert(t, coll, "d1", "a", 2)
	if took := time.Since(start); took < 50*time.Millisecond {
		t.Errorf("request took %v, want at least 50ms", took)
	}
	// Closing does not wait for it.
	s.SetLatency(time.Minute)
	done := make(chan struct{})
	go func() {
		defer close(done)
		_, _ = coll.UpsertItem(context.Background(), key("d1"), position("d1", "a", 3), nil)
	}()
	time.Sleep(20 * time.Millisecond)
	start = time.Now()
	if err := s.Close(); err != nil {
		t.Error(err)
	}
	if took := time.Since(start); took > time.Second {
		t.Errorf("close took %v while a request waited", took)
	}
	<-done
}

func TestCloseDoesNotWaitForUnusedConnections(t *testing.T) {
	s := newServer(t)
	conn, err := net.Dial("tcp", strings.TrimSuffix(strings.TrimPrefix(s.Endpoint(), "http://"), "/"))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = conn.Close() }()
	newContainer(t, s, cosmos.Container{})
	start := time.Now()
	if err := s.Close(); err != nil {
		t.Error(err)
	}
	if took := time.Since(start); took > time.Second {
		t.Errorf("close took %v", took)
	}
}

// Guarantee 4: the load of one key is the load of one range.
func TestHotKeyIsAHotRange(t *testing.T) {
	clock := time.Unix(1_900_000_000, 0)
	s := newServer(t, cosmos.WithRanges(4), cosmos.WithRUPerRange(100), cosmos.WithClock(func() time.Time { return clock }))
	coll := newContainer(t, s, cosmos.Container{})
	ctx := context.Background()

	accepted, refused := 0, 0
	for n := range 60 {
		_, err := coll.UpsertItem(ctx, key("hot"), position("hot", fmt.Sprint(n), n), nil)
		if err == nil {
			accepted++
			continue
		}
		refused++
		re := wantStatus(t, err, http.StatusTooManyRequests, 3200)
		if ms := re.RawResponse.Header.Get("x-ms-retry-after-ms"); ms != "1000" {
			t.Errorf("x-ms-retry-after-ms %q, want 1000: the clock stands at the start of a second", ms)
		}
		if charge := re.RawResponse.Header.Get("x-ms-request-charge"); charge != "0.76" {
			t.Errorf("charge of a refusal %q, want 0.76", charge)
		}
	}
	if accepted == 0 || refused == 0 {
		t.Fatalf("%d accepted and %d refused, want some of both", accepted, refused)
	}
	busy := 0
	for _, r := range s.Ranges(testDB, testColl) {
		if r.RequestUnits > 0 {
			busy++
			if r.RequestUnits < 100 || r.RequestUnits > 115 {
				t.Errorf("range %s used %.1f RU of 100", r.ID, r.RequestUnits)
			}
			if int(r.Throttled) != refused {
				t.Errorf("range %s counts %d refusals, clients saw %d", r.ID, r.Throttled, refused)
			}
		}
	}
	if busy != 1 {
		t.Errorf("%d ranges have a load, want 1", busy)
	}

	// The same load on many keys passes, and so does the hot key once its
	// second and its debt are over.
	clock = clock.Add(2 * time.Second)
	for n := range 40 {
		upsert(t, coll, fmt.Sprintf("cold%d", n), "a", n)
		if n%10 == 9 {
			clock = clock.Add(time.Second)
		}
	}
	upsert(t, coll, "hot", "again", 1)
	s.SetRUPerRange(0)
	for n := range 60 {
		upsert(t, coll, "hot", fmt.Sprint(n), n)
	}
}
