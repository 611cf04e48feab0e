package cosmos

import (
	"net/http"
	"strconv"
	"strings"
)

// servedRange is a physical range as it is served.
type servedRange struct {
	RID         string   `json:"_rid"`
	ID          string   `json:"id"`
	ETag        string   `json:"_etag"`
	Min         string   `json:"minInclusive"`
	Max         string   `json:"maxExclusive"`
	RIDPrefix   int      `json:"ridPrefix"`
	Self        string   `json:"_self"`
	Throughput  float64  `json:"throughputFraction"`
	Status      string   `json:"status"`
	Parents     []string `json:"parents"`
	TS          int64    `json:"_ts"`
	LSN         uint64   `json:"lsn"`
	OwnArchived []string `json:"ownedArchivalPKRangeIds"`
}

// serveRanges serves /dbs/{id}/colls/{id}/pkranges: all ranges, or with A-IM
// those that came to be since the etag that the client names, and 304 when
// there are none.
func (s *Server) serveRanges(r *http.Request, c *container) *reply {
	if r.Method != http.MethodGet {
		return unsupported(r)
	}
	table := c.routing.Load()
	etag := `"` + strconv.FormatUint(table.generation, 10) + `"`
	var since uint64
	if strings.EqualFold(r.Header.Get(headerAIM), "Incremental Feed") {
		known := strings.Trim(r.Header.Get(headerIfNoneMatch), `"`)
		since, _ = strconv.ParseUint(known, 10, 64)
		if since >= table.generation {
			return &reply{status: http.StatusNotModified, etag: etag, charge: metadataCharge}
		}
	}
	list := []servedRange{}
	for i, p := range table.ranges {
		if p.made <= since {
			continue
		}
		p.mu.Lock()
		lsn := p.lsn
		p.mu.Unlock()
		rid := string(appendRID(nil, c.ridBytes, 0x5000000000000000|uint64(i)))
		list = append(list, servedRange{
			RID:         rid,
			ID:          p.id,
			ETag:        etag,
			Min:         p.min.String(),
			Max:         p.max.String(),
			RIDPrefix:   i,
			Self:        c.self + "pkranges/" + rid + "/",
			Throughput:  1 / float64(len(table.ranges)),
			Status:      "online",
			Parents:     append([]string{}, p.parents...),
			TS:          s.now().Unix(),
			LSN:         lsn,
			OwnArchived: []string{},
		})
	}
	out := metadata(http.StatusOK, struct {
		RID    string        `json:"_rid"`
		Ranges []servedRange `json:"PartitionKeyRanges"`
		Count  int           `json:"_count"`
	}{c.resource.rid, list, len(list)}, etag)
	return out
}

// RangeStats is the state of one physical range.
type RangeStats struct {
	ID       string
	Min, Max string   // bounds of the hash, as served; Min inclusive, Max exclusive
	Parents  []string // the ranges it came from by splits, oldest first
	// RequestUnits were charged in all. Refusals for lack of request units are
	// not among them.
	RequestUnits float64
	Throttled    int64 // operations refused for lack of request units
	Documents    int
}

// Ranges returns the physical ranges of a container in the order of their
// bounds, nil for a container that does not exist.
func (s *Server) Ranges(database, coll string) []RangeStats {
	c := s.container(database, coll)
	if c == nil {
		return nil
	}
	var out []RangeStats
	for _, p := range c.routing.Load().ranges {
		p.mu.Lock()
		out = append(out, RangeStats{
			ID:           p.id,
			Min:          p.min.String(),
			Max:          p.max.String(),
			Parents:      p.parents,
			RequestUnits: p.used,
			Throttled:    p.throttled,
			Documents:    p.live,
		})
		p.mu.Unlock()
	}
	return out
}
