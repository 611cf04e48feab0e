package bulk

import (
	"slices"
	"strings"
	"testing"
)

func TestNewLayout(t *testing.T) {
	tests := []struct {
		name   string
		served []servedRange
		want   []string // ids in order
		fails  string   // part of the error
	}{
		{"one", []servedRange{{ID: "0", Min: "", Max: "FF"}}, []string{"0"}, ""},
		{"unsorted", []servedRange{{ID: "1", Min: "1F", Max: "FF"}, {ID: "0", Min: "", Max: "1F"}}, []string{"0", "1"}, ""},
		{"padded bounds are equal", []servedRange{{ID: "0", Min: "", Max: "1F00"}, {ID: "1", Min: "1F", Max: "FF"}}, []string{"0", "1"}, ""},
		{"lower case", []servedRange{{ID: "0", Min: "", Max: "1f"}, {ID: "1", Min: "1F", Max: "FF"}}, []string{"0", "1"}, ""},
		{"in the middle of a split", []servedRange{
			{ID: "0", Min: "", Max: "FF"},
			{ID: "2", Min: "1F", Max: "FF", Parents: []string{"0"}},
			{ID: "1", Min: "", Max: "1F", Parents: []string{"0"}},
		}, []string{"1", "2"}, ""},
		{"grandchildren", []servedRange{
			{ID: "1", Min: "", Max: "1F", Parents: []string{"0"}},
			{ID: "3", Min: "", Max: "0F", Parents: []string{"0", "1"}},
			{ID: "4", Min: "0F", Max: "1F", Parents: []string{"0", "1"}},
			{ID: "2", Min: "1F", Max: "FF", Parents: []string{"0"}},
		}, []string{"3", "4", "2"}, ""},
		{"none", nil, nil, "end too soon"},
		{"late start", []servedRange{{ID: "0", Min: "01", Max: "FF"}}, nil, "does not continue"},
		{"gap", []servedRange{{ID: "0", Min: "", Max: "1E"}, {ID: "1", Min: "1F", Max: "FF"}}, nil, "does not continue"},
		{"overlap", []servedRange{{ID: "0", Min: "", Max: "20"}, {ID: "1", Min: "1F", Max: "FF"}}, nil, "does not continue"},
		{"empty range", []servedRange{{ID: "0", Min: "", Max: ""}, {ID: "1", Min: "", Max: "FF"}}, nil, "does not continue"},
		{"early end", []servedRange{{ID: "0", Min: "", Max: "3F"}}, nil, "end too soon"},
		{"no id", []servedRange{{Min: "", Max: "FF"}}, nil, "does not continue"},
		{"not hexadecimal", []servedRange{{ID: "0", Min: "", Max: "XY"}}, nil, "bound"},
		{"too long", []servedRange{{ID: "0", Min: "", Max: strings.Repeat("F", 97)}}, nil, "97 digits"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			layout, err := newLayout(tt.served)
			if (err != nil) != (tt.fails != "") || err != nil && !strings.Contains(err.Error(), tt.fails) {
				t.Fatalf("error %v, want %q", err, tt.fails)
			}
			var got []string
			for _, b := range layout {
				got = append(got, b.id)
			}
			if !slices.Equal(got, tt.want) {
				t.Errorf("ids %q, want %q", got, tt.want)
			}
		})
	}
}

func TestFindAtBounds(t *testing.T) {
	layout, err := newLayout([]servedRange{{ID: "a", Min: "", Max: "10"}, {ID: "b", Min: "10", Max: "20"}, {ID: "c", Min: "20", Max: "FF"}})
	if err != nil {
		t.Fatal(err)
	}
	for at, want := range map[string]string{
		"": "a", "0FFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFF": "a",
		"10": "b", "100000000000000000000000000000000001": "b",
		"1FFFFFFFFFFFFFFFFFFFFFFFFFFFFFFF": "b", "20": "c", "3FFFFFFFFFFFFFFFFFFFFFFFFFFFFFFF": "c",
	} {
		p, err := parsePosition(at)
		if err != nil {
			t.Fatal(err)
		}
		if got := layout[find(layout, &p)].id; got != want {
			t.Errorf("position %q lies in %q, want %q", at, got, want)
		}
	}
}
