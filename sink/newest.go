package sink

import "warmpath/geo"

// documentKey names a document within a container.
type documentKey struct{ key, id string }

// newest remembers the order of what was written last per document. It is
// bounded by two generations of at most half its size: when the young one is
// full it becomes the old one and what nobody touched since is forgotten. It
// is not safe for concurrent use; each lane has its own.
type newest struct {
	half       int
	young, old map[documentKey]geo.Order
}

func newNewest(size int) *newest {
	return &newest{half: max(1, size/2), young: make(map[documentKey]geo.Order)}
}

// supersedes tells whether what was written last is newer than o.
func (n *newest) supersedes(k documentKey, o geo.Order) bool {
	last, ok := n.young[k]
	if !ok {
		if last, ok = n.old[k]; !ok {
			return false
		}
	}
	return last.Newer(o)
}

// wrote remembers that o was written.
func (n *newest) wrote(k documentKey, o geo.Order) {
	if len(n.young) >= n.half {
		if _, known := n.young[k]; !known {
			n.old, n.young = n.young, make(map[documentKey]geo.Order)
		}
	}
	n.young[k] = o
}
