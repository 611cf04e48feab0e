package sink

// documentKey names a document within a container.
type documentKey struct{ key, id string }

// recent remembers something per document, for as many documents as it has room
// for. It is bounded by two generations of at most half its size: when the young
// one is full it becomes the old one, and what nobody touched since is
// forgotten. It is not safe for concurrent use.
type recent[V any] struct {
	half       int
	young, old map[documentKey]V
}

func newRecent[V any](size int) *recent[V] {
	return &recent[V]{half: max(1, size/2), young: make(map[documentKey]V)}
}

// get returns what is remembered of a document.
func (r *recent[V]) get(k documentKey) (V, bool) {
	if v, ok := r.young[k]; ok {
		return v, true
	}
	v, ok := r.old[k]
	return v, ok
}

// put remembers v of a document.
func (r *recent[V]) put(k documentKey, v V) {
	if len(r.young) >= r.half {
		if _, known := r.young[k]; !known {
			r.old, r.young = r.young, make(map[documentKey]V)
		}
	}
	r.young[k] = v
}

// forget drops what is remembered of a document.
func (r *recent[V]) forget(k documentKey) {
	delete(r.young, k)
	delete(r.old, k)
}
