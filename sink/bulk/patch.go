package bulk

import (
	"encoding/json"
	"errors"
	"fmt"
)

// maxPatchSteps is the most changes in one patch
// (learn.microsoft.com/azure/cosmos-db/partial-document-update).
const maxPatchSteps = 10

// PatchOp is how a patch changes a value.
type PatchOp string

// The changes that the service knows.
const (
	PatchAdd       PatchOp = "add"     // a member, or an element of an array
	PatchSet       PatchOp = "set"     // a member or an element, whether or not there is one
	PatchReplace   PatchOp = "replace" // one that must be there
	PatchRemove    PatchOp = "remove"  // one that must be there
	PatchIncrement PatchOp = "incr"    // a number, by Value
)

// PatchStep is one change.
type PatchStep struct {
	Op    PatchOp
	Path  string          // such as /properties/speed
	Value json.RawMessage // not with PatchRemove
}

// PatchBody makes the body of a [Patch] operation of 1 to 10 steps. With a
// condition, such as
//
//	from c where c.version < 7
//
// the patch is applied only to a document that fulfils it (412 otherwise).
//
// A patch may be sent twice when the answer to the first try is lost: see
// Result.Unclear. A condition that the patch itself makes false keeps it from
// being applied twice.
func PatchBody(condition string, steps ...PatchStep) ([]byte, error) {
	if n := len(steps); n < 1 || n > maxPatchSteps {
		return nil, fmt.Errorf("patch: %d steps, allowed are 1 to %d", n, maxPatchSteps)
	}
	body := []byte{'{'}
	if condition != "" {
		body = append(body, `"condition":"`...)
		body = appendEscaped(body, condition)
		body = append(body, `",`...)
	}
	body = append(body, `"operations":[`...)
	for i, s := range steps {
		if err := s.check(); err != nil {
			return nil, fmt.Errorf("patch: step %d: %w", i+1, err)
		}
		if i > 0 {
			body = append(body, ',')
		}
		body = append(body, `{"op":"`...)
		body = append(body, s.Op...)
		body = append(body, `","path":"`...)
		body = appendEscaped(body, s.Path)
		body = append(body, '"')
		if s.Op != PatchRemove {
			body = append(body, `,"value":`...)
			body = append(body, s.Value...)
		}
		body = append(body, '}')
	}
	return append(body, "]}"...), nil
}

func (s PatchStep) check() error {
	switch s.Op {
	case PatchAdd, PatchSet, PatchReplace, PatchIncrement:
		if !json.Valid(s.Value) {
			return fmt.Errorf("the value of %s is not JSON", s.Op)
		}
	case PatchRemove:
		if s.Value != nil {
			return errors.New("remove with a value")
		}
	default:
		return fmt.Errorf("unknown change %.20q", string(s.Op))
	}
	if s.Path == "" || s.Path[0] != '/' {
		return fmt.Errorf("path %.100q does not begin with /", s.Path)
	}
	return nil
}
