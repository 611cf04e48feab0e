package bulk

import (
	"errors"
	"fmt"
	"slices"
	"sort"
)

// bounds is one physical range of a container: the part of the key space from
// min to before max.
type bounds struct {
	id       string
	min, max position
}

// servedRange is a range as the service tells of it.
type servedRange struct {
	ID      string   `json:"id"`
	Min     string   `json:"minInclusive"`
	Max     string   `json:"maxExclusive"`
	Parents []string `json:"parents"`
}

var errGaps = errors.New("the ranges do not cover the key space")

// newLayout makes the ranges in force out of those that the service lists, in
// the order of their bounds. While a range splits, the list holds both it and
// its children; the children name it as a parent and count.
func newLayout(served []servedRange) ([]bounds, error) {
	gone := make(map[string]bool)
	for _, s := range served {
		for _, parent := range s.Parents {
			gone[parent] = true
		}
	}
	var layout []bounds
	for _, s := range served {
		if gone[s.ID] {
			continue
		}
		b := bounds{id: s.ID}
		var err error
		if b.min, err = parsePosition(s.Min); err != nil {
			return nil, fmt.Errorf("range %q: %w", s.ID, err)
		}
		if b.max, err = parsePosition(s.Max); err != nil {
			return nil, fmt.Errorf("range %q: %w", s.ID, err)
		}
		layout = append(layout, b)
	}
	slices.SortFunc(layout, func(a, b bounds) int { return a.min.compare(&b.min) })
	var reached position
	for i := range layout {
		if layout[i].id == "" || layout[i].min != reached || layout[i].max.compare(&reached) <= 0 {
			return nil, fmt.Errorf("%w: range %q of %d does not continue where the one before it ends", errGaps, layout[i].id, len(layout))
		}
		reached = layout[i].max
	}
	if reached != endOfSpace() {
		return nil, fmt.Errorf("%w: %d ranges end too soon", errGaps, len(layout))
	}
	return layout, nil
}

// find returns the index of the range that holds a position in a layout.
func find(layout []bounds, at *position) int {
	return sort.Search(len(layout), func(i int) bool { return layout[i].min.compare(at) > 0 }) - 1
}
