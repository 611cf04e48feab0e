package cosmos_test

import (
	"context"
	"fmt"
	"net/http"
	"sync/atomic"
	"testing"
	"time"

	"warmpath/internal/emulator/cosmos"
)

// testClock is a clock that tests move.
type testClock struct{ at atomic.Int64 }

func newClock() *testClock {
	c := &testClock{}
	c.at.Store(time.Date(2030, 1, 1, 12, 0, 0, 0, time.UTC).UnixNano())
	return c
}

func (c *testClock) now() time.Time          { return time.Unix(0, c.at.Load()) }
func (c *testClock) advance(d time.Duration) { c.at.Add(int64(d)) }

func TestTimeToLive(t *testing.T) {
	tests := []struct {
		name       string
		defaultTTL int
		ttl        string
		lives      time.Duration // 0: for ever
	}{
		{"off, whatever the document says", 0, `,"ttl":10`, 0},
		{"the container's default", 60, ``, 60 * time.Second},
		{"shorter by the document", 60, `,"ttl":10`, 10 * time.Second},
		{"longer by the document", 60, `,"ttl":600`, 600 * time.Second},
		{"never by the document", 60, `,"ttl":-1`, 0},
		{"only by the document", -1, `,"ttl":10`, 10 * time.Second},
		{"on without a default", -1, ``, 0},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			clock := newClock()
			s := newServer(t, cosmos.WithClock(clock.now))
			coll := newContainer(t, s, cosmos.Container{DefaultTTL: tt.defaultTTL})
			ctx := context.Background()
			doc := []byte(`{"id":"a","deviceId":"d1"` + tt.ttl + `}`)
			if _, err := coll.CreateItem(ctx, key("d1"), doc, nil); err != nil {
				t.Fatal(err)
			}
			alive := func() bool {
				_, err := coll.ReadItem(ctx, key("d1"), "a", nil)
				if err != nil {
					wantStatus(t, err, http.StatusNotFound, 0)
				}
				return err == nil
			}
			if tt.lives == 0 {
				clock.advance(100_000 * time.Hour)
				if !alive() {
					t.Error("the document expired")
				}
				return
			}
			clock.advance(tt.lives - time.Second)
			if !alive() {
				t.Fatal("the document expired early")
			}
			clock.advance(time.Second)
			for range s.Documents(testDB, testColl) {
				t.Error("an expired document is listed")
			}
			if rows, _ := query(t, coll, "SELECT * FROM c", everyKey, nil); len(rows) != 0 {
				t.Errorf("a query finds %s", rows)
			}
			if alive() {
				t.Fatal("the document outlived its time")
			}
			_, err := coll.ReplaceItem(ctx, key("d1"), "a", doc, nil)
			wantStatus(t, err, http.StatusNotFound, 0)
			if _, err := coll.CreateItem(ctx, key("d1"), doc, nil); err != nil {
				t.Errorf("create over an expired document: %v", err)
			}
			if !alive() {
				t.Error("the new document has the old one's age")
			}
		})
	}
}

func TestWritingAgainRenewsTheTime(t *testing.T) {
	clock := newClock()
	coll := newContainer(t, newServer(t, cosmos.WithClock(clock.now)), cosmos.Container{DefaultTTL: 10})
	for n := range 5 {
		res := upsert(t, coll, "d1", "a", n)
		if want := http.StatusOK; n > 0 && res.RawResponse.StatusCode != want {
			t.Fatalf("write %d: status %d, want %d", n, res.RawResponse.StatusCode, want)
		}
		clock.advance(9 * time.Second)
	}
}

// Guarantee 6: expired documents do not stay in memory while new ones come.
func TestExpiredDocumentsAreGivenUp(t *testing.T) {
	clock := newClock()
	s := newServer(t, cosmos.WithClock(clock.now))
	coll := newContainer(t, s, cosmos.Container{DefaultTTL: 100})
	for n := range 400 {
		upsert(t, coll, "d1", fmt.Sprint(n), n)
		clock.advance(time.Second)
	}
	if got := s.Ranges(testDB, testColl)[0].Documents; got > 220 {
		t.Errorf("%d documents are held, of which 100 are alive", got)
	}
}
