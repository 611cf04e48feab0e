package bulk

import (
	"encoding/json"
	"strings"
	"testing"
)

func TestPatchBody(t *testing.T) {
	one := PatchStep{Op: PatchIncrement, Path: "/n", Value: []byte("1")}
	many := make([]PatchStep, maxPatchSteps)
	for i := range many {
		many[i] = one
	}
	body, err := PatchBody(`from c where c.name = "ü"`, many...)
	if err != nil || !json.Valid(body) {
		t.Fatalf("%s, %v", body, err)
	}
	var got struct {
		Condition  string
		Operations []struct {
			Op, Path string
			Value    int
		}
	}
	if err := json.Unmarshal(body, &got); err != nil {
		t.Fatal(err)
	}
	if got.Condition != `from c where c.name = "ü"` || len(got.Operations) != 10 || got.Operations[9].Op != "incr" || got.Operations[9].Value != 1 {
		t.Errorf("got %+v", got)
	}
	for _, tt := range []struct {
		steps []PatchStep
		want  string
	}{
		{nil, "0 steps"},
		{append(many, one), "11 steps"},
		{[]PatchStep{one, {Op: "move", Path: "/n"}}, "step 2: unknown change"},
		{[]PatchStep{{Op: PatchSet, Path: "n", Value: []byte("1")}}, "does not begin with /"},
		{[]PatchStep{{Op: PatchSet, Path: "/n"}}, "not JSON"},
		{[]PatchStep{{Op: PatchRemove, Path: "/n", Value: []byte("1")}}, "remove with a value"},
	} {
		if _, err := PatchBody("", tt.steps...); err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("error %v, want %q", err, tt.want)
		}
	}
}
