package cosmos

import (
	"fmt"
	"net/http"
	"testing"

	"warmpath/internal/emulator/cosmos/sql"
)

// A page that has looked at many documents is sent as it is, empty perhaps, so
// that no request takes for ever.
func TestPagesAreBounded(t *testing.T) {
	s, err := Start(WithoutJournal())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	if err := s.CreateContainer("db", Container{ID: "c", PartitionKey: PartitionKey{Paths: []string{"/k"}, Version: 2}}); err != nil {
		t.Fatal(err)
	}
	c := s.container("db", "c")
	put := func(body string) {
		key, _, err := appendKey(nil, []byte(`["k"]`))
		if err != nil {
			t.Fatal(err)
		}
		op := operation{verb: verbCreate, key: key, hash: c.def.Load().hash(key)}
		if refused := op.prepare(c.def.Load(), []byte(body)); refused != nil {
			t.Fatal(refused.message)
		}
		p := c.lock(op.hash)
		defer p.mu.Unlock()
		if o := p.apply(&op, s.now()); !o.ok() {
			t.Fatal(o.message)
		}
	}
	for i := range maxScanned + 2000 {
		put(fmt.Sprintf(`{"id":"%d","k":"k","n":%d}`, i, i))
	}
	drain := func(query string) (pages []int) {
		q, err := sql.Parse(query, nil)
		if err != nil {
			t.Fatal(err)
		}
		h := http.Header{headerPartitionKey: {`["k"]`}}
		for {
			out := c.page(h, q)
			if out.status != http.StatusOK {
				t.Fatal(out.message)
			}
			pages = append(pages, out.itemCount)
			if len(out.body) > maxResponse+1024 {
				t.Errorf("a page of %d bytes", len(out.body))
			}
			if out.continuation == "" {
				return pages
			}
			h.Set(headerContinuation, out.continuation)
		}
	}
	if got := fmt.Sprint(drain(fmt.Sprintf("SELECT * FROM c WHERE c.n = %d", maxScanned+1000))); got != "[0 1]" {
		t.Errorf("pages of %s rows, want [0 1]", got)
	}
	big := make([]byte, 1_500_000)
	for i := range big {
		big[i] = 'x'
	}
	for i := range 3 {
		put(fmt.Sprintf(`{"id":"big%d","k":"k","big":"%s"}`, i, big))
	}
	for _, order := range []string{"", " ORDER BY c.id"} {
		if got := fmt.Sprint(drain("SELECT * FROM c WHERE IS_DEFINED(c.big)" + order)); got != "[0 2 1]" && got != "[2 1]" {
			t.Errorf("%q: pages of %s rows, want two at most", order, got)
		}
	}
}
