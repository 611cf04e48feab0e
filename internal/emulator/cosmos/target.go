package cosmos

import (
	"net/http"
	"net/url"
	"strings"
)

// kind is the kind of resource that a request addresses.
type kind uint8

const (
	kindUnknown kind = iota
	kindAccount
	kindDatabases
	kindDatabase
	kindContainers
	kindContainer
	kindRanges
	kindDocuments
	kindDocument
	kindOffers
	kindOffer
)

// target is what a request's path says: the resource, and what its signature
// covers.
type target struct {
	kind     kind
	database string
	coll     string
	item     string // a document's or an offer's id

	resourceType string
	resourceLink string
}

// parseTarget reads an escaped path. A path that is no resource of this server
// has kindUnknown, with what its signature would cover.
func parseTarget(escaped string) (target, bool) {
	escaped = strings.Trim(escaped, "/")
	if escaped == "" {
		return target{kind: kindAccount}, true
	}
	if strings.Count(escaped, "/") > 7 {
		return target{}, false
	}
	segments := strings.Split(escaped, "/")
	for i, s := range segments {
		plain, err := url.PathUnescape(s)
		if err != nil || plain == "" {
			return target{}, false
		}
		segments[i] = plain
	}
	t := target{}
	n := len(segments)
	if n%2 == 1 { // a feed: signed by its parent's link
		t.resourceType = segments[n-1]
		t.resourceLink = strings.Join(segments[:n-1], "/")
	} else {
		t.resourceType = segments[n-2]
		t.resourceLink = strings.Join(segments, "/")
	}
	at := func(i int, word string) bool { return i < n && segments[i] == word }
	switch {
	case at(0, "offers") && n == 1:
		t.kind = kindOffers
	case at(0, "offers") && n == 2:
		// Offers are addressed by resource id, which is signed alone and in
		// lower case.
		t.kind, t.item, t.resourceLink = kindOffer, segments[1], strings.ToLower(segments[1])
	case !at(0, "dbs"):
	case n == 1:
		t.kind = kindDatabases
	case n == 2:
		t.kind, t.database = kindDatabase, segments[1]
	case !at(2, "colls"):
	case n == 3:
		t.kind, t.database = kindContainers, segments[1]
	default:
		t.database, t.coll = segments[1], segments[3]
		switch {
		case n == 4:
			t.kind = kindContainer
		case at(4, "pkranges") && n == 5:
			t.kind = kindRanges
		case at(4, "docs") && n == 5:
			t.kind = kindDocuments
		case at(4, "docs") && n == 6:
			t.kind, t.item = kindDocument, segments[5]
		}
	}
	return t, true
}

// isQuery tells a POST that asks from one that creates.
func isQuery(r *http.Request) bool {
	return strings.EqualFold(r.Header.Get(headerQuery), "true") ||
		strings.EqualFold(r.Header.Get(headerQueryOld), "true") ||
		strings.HasPrefix(r.Header.Get("Content-Type"), "application/query+json")
}
