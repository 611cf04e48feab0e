package cosmos_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/Azure/azure-sdk-for-go/sdk/data/azcosmos"

	"warmpath/internal/emulator/cosmos"
)

func TestSplit(t *testing.T) {
	s := newServer(t, entra(), cosmos.WithRanges(2))
	coll := newContainer(t, s, cosmos.Container{})
	fleet(t, coll, 40, 2)
	if err := s.SplitRange(testDB, testColl, "1"); err != nil {
		t.Fatal(err)
	}
	ranges := s.Ranges(testDB, testColl)
	var ids []string
	total := 0
	for i, r := range ranges {
		ids = append(ids, r.ID)
		total += r.Documents
		if i > 0 && r.Min != ranges[i-1].Max {
			t.Errorf("range %s starts at %s, the one before ends at %s", r.ID, r.Min, ranges[i-1].Max)
		}
	}
	if want := []string{"0", "2", "3"}; !slices.Equal(ids, want) || total != 80 {
		t.Fatalf("ranges %v with %d documents, want %v with 80", ids, total, want)
	}
	if !slices.Equal(ranges[1].Parents, []string{"1"}) || ranges[1].Documents == 0 || ranges[2].Documents == 0 {
		t.Errorf("children %+v", ranges[1:])
	}

	// Who names the old range is told; who names none does not notice.
	res, _ := sendBulk(t, s, bulkHeader("1"), upsertOp("d1", "a", 1))
	if got := res.Header.Get("x-ms-substatus"); res.StatusCode != http.StatusGone || got != "1002" {
		t.Errorf("bulk on the old range: %d/%s, want 410/1002", res.StatusCode, got)
	}
	for d := range 40 {
		upsert(t, coll, fmt.Sprintf("d%d", d), "0", 7)
	}
	if err := s.SplitRange(testDB, testColl, "1"); !errors.Is(err, cosmos.ErrNoRange) {
		t.Errorf("splitting the old range: %v, want %v", err, cosmos.ErrNoRange)
	}
	if got := len(s.Journal(testDB, testColl)); got != 120 {
		t.Errorf("journal has %d writes, want 120", got)
	}
}

// The feed of ranges names what is new since an etag, and 304 when nothing is.
func TestRangesFeed(t *testing.T) {
	s := newServer(t, entra(), cosmos.WithRanges(3))
	newContainer(t, s, cosmos.Container{})
	fetch := func(incremental bool, etag string) (int, string, string) {
		h := map[string]string{"Authorization": "type=aad&ver=1.0&sig=x", "If-None-Match": etag}
		if incremental {
			h["A-IM"] = "Incremental Feed"
		}
		res, body := send(t, s, http.MethodGet, "dbs/"+testDB+"/colls/"+testColl+"/pkranges", h, "")
		var feed struct {
			Ranges []struct {
				ID      string   `json:"id"`
				Parents []string `json:"parents"`
			} `json:"PartitionKeyRanges"`
		}
		if res.StatusCode == http.StatusOK {
			if err := json.Unmarshal([]byte(body), &feed); err != nil {
				t.Fatal(err)
			}
		}
		var ids []string
		for _, r := range feed.Ranges {
			ids = append(ids, fmt.Sprint(r.ID, r.Parents))
		}
		return res.StatusCode, res.Header.Get("Etag"), strings.Join(ids, " ")
	}
	code, etag, ids := fetch(true, "")
	if code != http.StatusOK || ids != "0[] 1[] 2[]" {
		t.Errorf("first: %d, %s", code, ids)
	}
	if code, _, _ := fetch(true, etag); code != http.StatusNotModified {
		t.Errorf("unchanged: %d, want 304", code)
	}
	for _, id := range []string{"1", "3"} {
		if err := s.SplitRange(testDB, testColl, id); err != nil {
			t.Fatal(err)
		}
	}
	if code, _, ids := fetch(true, etag); code != http.StatusOK || ids != "5[1 3] 6[1 3] 4[1]" {
		t.Errorf("changed: %d, %s", code, ids)
	}
	if code, _, ids := fetch(false, etag); code != http.StatusOK || ids != "0[] 5[1 3] 6[1 3] 4[1] 2[]" {
		t.Errorf("plain: %d, %s", code, ids)
	}
}

// The SDK learns of new ranges by itself, from 410/1002 and the incremental
// feed of ranges.
func TestSDKFollowsASplit(t *testing.T) {
	s := newServer(t, cosmos.WithRanges(2))
	coll := newContainer(t, s, cosmos.Container{})
	fleet(t, coll, 50, 1)
	var items []azcosmos.ItemIdentity
	for d := range 50 {
		items = append(items, azcosmos.ItemIdentity{ID: "0", PartitionKey: key(fmt.Sprintf("d%d", d))})
	}
	for _, split := range []string{"", "0", "1", "2"} {
		if split != "" {
			if err := s.SplitRange(testDB, testColl, split); err != nil {
				t.Fatal(err)
			}
		}
		res, err := coll.ReadManyItems(context.Background(), items, nil)
		if err != nil || len(res.Items) != 50 {
			t.Fatalf("after the split of %q: %d items (%v), want 50", split, len(res.Items), err)
		}
	}
}

func TestSplitBetweenPages(t *testing.T) {
	s := newServer(t, cosmos.WithRanges(2))
	coll := newContainer(t, s, cosmos.Container{})
	fleet(t, coll, 60, 1)
	pager := coll.NewQueryItemsPager("SELECT * FROM c", everyKey, &azcosmos.QueryOptions{PageSizeHint: 4})
	seen := make(map[any]int)
	for n := 0; pager.More(); n++ {
		page, err := pager.NextPage(context.Background())
		if err != nil {
			t.Fatal(err)
		}
		for _, item := range page.Items {
			seen[decode(t, item)["deviceId"]]++
		}
		if n < 6 {
			r := s.Ranges(testDB, testColl)
			if err := s.SplitRange(testDB, testColl, r[n%len(r)].ID); err != nil {
				t.Fatal(err)
			}
		}
	}
	for d := range 60 {
		if got := seen[fmt.Sprintf("d%d", d)]; got != 1 {
			t.Errorf("d%d was seen %d times, want once", d, got)
		}
	}
}

func TestSplitsUnderLoad(t *testing.T) {
	s := newServer(t)
	coll := newContainer(t, s, cosmos.Container{})
	const workers, writes = 8, 60
	var wg sync.WaitGroup
	for w := range workers {
		wg.Go(func() {
			for n := range writes {
				upsert(t, coll, fmt.Sprintf("d%d", (w*7+n)%20), strconv.Itoa(w), n)
			}
		})
	}
	for range 12 {
		r := s.Ranges(testDB, testColl)
		if err := s.SplitRange(testDB, testColl, r[len(r)/2].ID); err != nil {
			t.Error(err)
		}
	}
	wg.Wait()
	if got := len(s.Journal(testDB, testColl)); got != workers*writes {
		t.Errorf("journal has %d writes, want %d", got, workers*writes)
	}
	latest := make(map[string]string)
	for _, w := range s.Journal(testDB, testColl) {
		latest[w.Key+w.ID] = w.ETag
	}
	for d := range s.Documents(testDB, testColl) {
		if latest[d.Key+d.ID] != d.ETag {
			t.Errorf("document %s %s has etag %s, the journal's last is %s", d.Key, d.ID, d.ETag, latest[d.Key+d.ID])
		}
		delete(latest, d.Key+d.ID)
	}
	if len(latest) != 0 {
		t.Errorf("lost: %v", latest)
	}
}
