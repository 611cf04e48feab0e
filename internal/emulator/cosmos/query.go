package cosmos

import (
	"encoding/json"
	"errors"
	"net/http"
	"strconv"

	"warmpath/internal/emulator/cosmos/epk"
	"warmpath/internal/emulator/cosmos/sql"
)

const (
	defaultPage = 100
	largestPage = 1000

	// maxResponse is the largest page, in bytes (concepts-limits page of the
	// documentation).
	maxResponse = 4 << 20

	// maxScanned is how many documents a page looks at before it is sent as it
	// is, empty perhaps, with a continuation.
	maxScanned = 10_000
)

// parseQuery reads the body of a query request.
func parseQuery(body []byte) (*sql.Query, error) {
	var sent struct {
		Query      string `json:"query"`
		Parameters []struct {
			Name  string          `json:"name"`
			Value json.RawMessage `json:"value"`
		} `json:"parameters"`
	}
	if err := decode(body, &sent); err != nil {
		return nil, err
	}
	parameters := make(map[string][]byte, len(sent.Parameters))
	for _, p := range sent.Parameters {
		parameters[p.Name] = p.Value
	}
	return sql.Parse(sent.Query, parameters)
}

// scope is the part of a container that a query is about.
type scope struct {
	lo, hi  epk.Value
	key     []byte // encoded key, or its first components; nil for all keys
	single  bool   // one logical partition
	rangeID string // one physical range, which must still exist
}

// queryScope tells what a request asks of: one key, the keys that start with
// some components, one physical range, or everything.
func (c *container) queryScope(h http.Header) (scope, *reply) {
	sc := scope{hi: epk.Max()}
	def := c.def.Load()
	if id := h.Get(headerRangeID); id != "" {
		p := c.routing.Load().byID(id)
		if p == nil {
			return sc, rangeGone()
		}
		sc.rangeID, sc.lo, sc.hi = id, p.min, p.max
	}
	header, ok := h[headerPartitionKey]
	if !ok {
		return sc, nil
	}
	key, components, err := appendKey(nil, []byte(header[0]))
	switch {
	case err != nil:
		return sc, badRequest(err.Error())
	case components == 0:
		return sc, nil
	case components > len(def.keyPaths), components < len(def.keyPaths) && def.PartitionKey.Kind != kindMultiHash:
		return sc, failure(http.StatusBadRequest, subKeyMismatch, errKeyCount.Error())
	}
	sc.key, sc.single = key, components == len(def.keyPaths)
	sc.lo = def.hash(key)
	n := components
	if def.PartitionKey.Kind == kindHash {
		n = 1
	}
	sc.hi = sc.lo.PrefixEnd(n)
	return sc, nil
}

func rangeGone() *reply { return failure(http.StatusGone, subRangeGone, messageGone) }

// stretch is a piece of the hash space that a query still has to visit, where
// the documents up to a rid have been seen. Continuations are lists of them:
// whatever is split between two pages, no document is seen twice or missed.
type stretch struct {
	lo, hi epk.Value
	after  uint64
}

// continuation is where a query goes on. It is opaque to clients.
type continuation struct {
	Stretches []servedStretch `json:"stretches,omitempty"`
	Skip      int             `json:"skip,omitempty"` // rows, of a query whose rows are made all at once
}

type servedStretch struct {
	Min   string `json:"min"`
	Max   string `json:"max"`
	After uint64 `json:"after"`
}

var errContinuation = errors.New("the continuation token is malformed")

func (sc *scope) resume(token string) ([]stretch, int, error) {
	if token == "" {
		return []stretch{{sc.lo, sc.hi, 0}}, 0, nil
	}
	var from continuation
	if json.Unmarshal([]byte(token), &from) != nil || from.Skip < 0 {
		return nil, 0, errContinuation
	}
	var todo []stretch
	for _, s := range from.Stretches {
		lo, err1 := epk.Parse(s.Min)
		hi, err2 := epk.Parse(s.Max)
		if err1 != nil || err2 != nil || lo.Compare(hi) >= 0 || hi.Compare(epk.Max()) > 0 {
			return nil, 0, errContinuation
		}
		todo = append(todo, stretch{lo, hi, s.After})
	}
	if len(todo) == 0 && from.Skip == 0 {
		return nil, 0, errContinuation
	}
	return todo, from.Skip, nil
}

func (c continuation) token() string {
	b, _ := json.Marshal(c) // strings and numbers always marshal
	return string(b)
}

func tokenOf(todo []stretch) string {
	if len(todo) == 0 {
		return ""
	}
	var c continuation
	for _, s := range todo {
		c.Stretches = append(c.Stretches, servedStretch{s.lo.String(), s.hi.String(), s.after})
	}
	return c.token()
}

// pageSize is how many rows a client takes at most.
func pageSize(h http.Header) (int, error) {
	v := h.Get(headerMaxItemCount)
	if v == "" {
		return defaultPage, nil
	}
	n, err := strconv.Atoi(v)
	if err != nil || n < -1 || n == 0 {
		return 0, errors.New("x-ms-max-item-count is invalid")
	}
	if n == -1 {
		n = largestPage
	}
	return min(n, largestPage), nil
}
