package sink

import (
	"fmt"
	"testing"
	"time"

	"warmpath/geo"
	"warmpath/sink/bulk"
)

func TestTheGuardNeverReplacesANewerVersion(t *testing.T) {
	at := time.Date(2026, 11, 30, 12, 0, 0, 0, time.UTC)
	stored := func(sequence int64) []byte {
		return fmt.Appendf(nil, `{"id":"a","source":{"enqueuedTime":%q,"sequenceNumber":%d,"index":0}}`, at.Format(time.RFC3339Nano), sequence)
	}
	doc := &Document{Key: "a", ID: "a", Order: geo.Order{Enqueued: at.UnixMilli(), Sequence: 5}}
	written, superseded := step{over: true, outcome: Written}, step{over: true, outcome: Superseded}
	for _, test := range []struct {
		name    string
		knows   *standing
		answers []any // alternating: status, etag, body
		want    []step
	}{
		{"unknown and new", nil, []any{201, "e1", ""}, []step{{kind: bulk.Create}, written}},
		{"unknown, an older one stands", nil, []any{409, "", "", 200, "e4", string(stored(4)), 200, "e5", ""},
			[]step{{kind: bulk.Create}, {kind: bulk.Read}, {kind: bulk.Replace, ifMatch: "e4"}, written}},
		{"unknown, a newer one stands", nil, []any{409, "", "", 200, "e6", string(stored(6))},
			[]step{{kind: bulk.Create}, {kind: bulk.Read}, superseded}},
		{"unknown, the very same stands", nil, []any{409, "", "", 200, "e5", string(stored(5))},
			[]step{{kind: bulk.Create}, {kind: bulk.Read}, written}},
		{"unknown, it expires between the answers", nil, []any{409, "", "", 404, "", "", 201, "e1", ""},
			[]step{{kind: bulk.Create}, {kind: bulk.Read}, {kind: bulk.Create}, written}},
		{"unknown, somebody else's document stands", nil, []any{409, "", "", 200, "x", `{"id":"a"}`, 200, "e", ""},
			[]step{{kind: bulk.Create}, {kind: bulk.Read}, {kind: bulk.Replace, ifMatch: "x"}, written}},
		{"known and older", &standing{geo.Order{Enqueued: at.UnixMilli(), Sequence: 4}, "e4"}, []any{200, "e5", ""},
			[]step{{kind: bulk.Replace, ifMatch: "e4"}, written}},
		{"known and newer", &standing{geo.Order{Enqueued: at.UnixMilli(), Sequence: 6}, "e6"}, nil, []step{superseded}},
		{"known and the same", &standing{geo.Order{Enqueued: at.UnixMilli(), Sequence: 5}, "e5"}, nil, []step{written}},
		{"known, but another replica wrote a newer one", &standing{geo.Order{Enqueued: at.UnixMilli(), Sequence: 3}, "e3"}, []any{412, "", "", 200, "e9", string(stored(9))},
			[]step{{kind: bulk.Replace, ifMatch: "e3"}, {kind: bulk.Read}, superseded}},
		{"known, but expired", &standing{geo.Order{Enqueued: at.UnixMilli(), Sequence: 3}, "e3"}, []any{404, "", "", 201, "e5", ""},
			[]step{{kind: bulk.Replace, ifMatch: "e3"}, {kind: bulk.Create}, written}},
	} {
		t.Run(test.name, func(t *testing.T) {
			g := newGuard(1000)
			if test.knows != nil {
				g.put(doc, *test.knows)
			}
			s := g.next(doc)
			for i, want := range test.want {
				if s != want {
					t.Fatalf("step %d is %+v, want %+v", i+1, s, want)
				}
				if s.over {
					break
				}
				a := test.answers[3*i:]
				var ok bool
				if s, ok = g.answered(doc, s.kind, a[0].(int), a[1].(string), []byte(a[2].(string))); !ok {
					t.Fatalf("the answer %v is none of the guard's", a[0])
				}
			}
			if !s.over {
				t.Errorf("the last step is %+v", s)
			}
			if newer, _ := g.get(doc); doc.Order.Newer(newer.order) {
				t.Errorf("remembered is %+v, older than what was settled", newer)
			}
		})
	}
	for _, status := range []int{400, 413, 429, 503} {
		if _, ok := newGuard(64).answered(doc, bulk.Create, status, "", nil); ok {
			t.Errorf("status %d is not the guard's to answer", status)
		}
	}
}
