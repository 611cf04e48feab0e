package cases

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"time"

	"warmpath/processor"
)

// Outcome is what became, or must become, of the positions of a message.
type Outcome struct {
	Written      []json.RawMessage `json:"written,omitempty"` // documents
	Dropped      map[string]int    `json:"dropped,omitempty"` // by reason
	DeadLettered map[string]int    `json:"deadLettered,omitempty"`
	Superseded   int               `json:"superseded,omitempty"`
}

// outcomeOf puts the fates of the positions of one message together.
func outcomeOf(previews []processor.Preview) Outcome {
	o := Outcome{Dropped: map[string]int{}, DeadLettered: map[string]int{}}
	for _, p := range previews {
		switch p.Fate {
		case processor.Written:
			o.Written = append(o.Written, p.Document.Body)
		case processor.Dropped:
			o.Dropped[string(p.Reason)]++
		case processor.DeadLettered:
			o.DeadLettered[string(p.Reason)]++
		case processor.Superseded:
			o.Superseded++
		}
	}
	return o
}

// Check compares what is wanted with what was got. Its error names every
// difference; it is nil when there is none.
func (o *Outcome) Check(got Outcome) error {
	var errs []error
	differ := func(what string, got, want any) {
		errs = append(errs, fmt.Errorf("%s is %v, want %v", what, got, want))
	}
	if !sameCounts(o.Dropped, got.Dropped) {
		differ("dropped", got.Dropped, o.Dropped)
	}
	if !sameCounts(o.DeadLettered, got.DeadLettered) {
		differ("dead-lettered", got.DeadLettered, o.DeadLettered)
	}
	if o.Superseded != got.Superseded {
		differ("superseded", got.Superseded, o.Superseded)
	}
	if len(o.Written) != len(got.Written) {
		differ("the number of documents", len(got.Written), len(o.Written))
		return errors.Join(errs...)
	}
	for i, want := range o.Written {
		if err := checkDocument(want, got.Written[i]); err != nil {
			errs = append(errs, fmt.Errorf("document %d: %w", i, err))
		}
	}
	return errors.Join(errs...)
}

// sameCounts compares numbers by reason; a reason that is not named has none.
func sameCounts(a, b map[string]int) bool {
	none := func(_ string, n int) bool { return n == 0 }
	a, b = maps.Clone(a), maps.Clone(b)
	maps.DeleteFunc(a, none)
	maps.DeleteFunc(b, none)
	return maps.Equal(a, b)
}

// checkDocument compares the members that are wanted with those of a document.
func checkDocument(want, got json.RawMessage) error {
	var wanted, document map[string]any
	if err := json.Unmarshal(want, &wanted); err != nil {
		return fmt.Errorf("wanted document: %w", err)
	}
	if err := json.Unmarshal(got, &document); err != nil {
		return err
	}
	var errs []error
	if coordinates, ok := wanted["coordinates"]; ok {
		delete(wanted, "coordinates")
		errs = append(errs, checkCoordinates(coordinates, got))
	}
	return errors.Join(append(errs, compare("", wanted, document))...)
}

// checkCoordinates demands the same float64 values, and that none is printed
// longer than it must be.
func checkCoordinates(want any, document json.RawMessage) error {
	var got struct {
		Geometry struct{ Coordinates []json.Number }
	}
	if err := json.Unmarshal(document, &got); err != nil {
		return fmt.Errorf("coordinates: %w", err)
	}
	wanted, _ := want.([]any)
	same := len(wanted) == len(got.Geometry.Coordinates)
	for i := 0; same && i < len(wanted); i++ {
		text := string(got.Geometry.Coordinates[i])
		f, err := strconv.ParseFloat(text, 64)
		same = err == nil && f == wanted[i] && len(text) <= len(strconv.FormatFloat(f+0, 'f', -1, 64)) && text != "-0"
	}
	if !same {
		return fmt.Errorf("coordinates are %v, want %v", got.Geometry.Coordinates, want)
	}
	return nil
}

// tolerance is how far numbers other than coordinates may be apart: cases give
// speeds and the like with four places.
const tolerance = 1e-4

// compare demands of got what want names.
func compare(path string, want, got any) error {
	switch wanted := want.(type) {
	case map[string]any:
		object, ok := got.(map[string]any)
		if !ok && len(wanted) > 0 {
			return fmt.Errorf("%s is %v, want an object", path, got)
		}
		var errs []error
		for _, name := range slices.Sorted(maps.Keys(wanted)) {
			errs = append(errs, compare(path+"/"+name, wanted[name], object[name]))
		}
		return errors.Join(errs...)
	case []any:
		array, ok := got.([]any)
		if !ok || len(array) != len(wanted) {
			return fmt.Errorf("%s is %v, want %v", path, got, want)
		}
		var errs []error
		for i := range wanted {
			errs = append(errs, compare(fmt.Sprintf("%s/%d", path, i), wanted[i], array[i]))
		}
		return errors.Join(errs...)
	case float64:
		if number, ok := got.(float64); ok && math.Abs(number-wanted) <= tolerance {
			return nil
		}
	case string:
		if text, ok := got.(string); ok && (text == wanted || sameInstant(text, wanted)) {
			return nil
		}
	default: // a boolean or null
		if got == want {
			return nil
		}
	}
	return fmt.Errorf("%s is %v, want %v", path, got, want)
}

func sameInstant(a, b string) bool {
	at, errA := time.Parse(time.RFC3339, a)
	bt, errB := time.Parse(time.RFC3339, b)
	return errA == nil && errB == nil && at.Equal(bt)
}
