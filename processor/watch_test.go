package processor

import (
	"testing"

	"github.com/Azure/azure-sdk-for-go/sdk/messaging/azeventhubs/v2"
)

func TestGapsAndDuplicatesAreSeen(t *testing.T) {
	for _, test := range []struct {
		name                string
		sequences           []int64
		missing, duplicates int64
	}{
		{"contiguous from anywhere", []int64{7, 8, 9}, 0, 0},
		{"a gap", []int64{7, 10, 11}, 2, 0},
		{"the same again", []int64{7, 8, 7, 8, 9}, 0, 2},
		{"a gap and a step back", []int64{0, 5, 3, 6}, 4, 1},
	} {
		t.Run(test.name, func(t *testing.T) {
			var w sequenceWatch
			var missing, duplicates int64
			for _, s := range test.sequences { // one by one, as in batches of one
				m, d := w.see([]*azeventhubs.ReceivedEventData{{SequenceNumber: s}})
				missing, duplicates = missing+m, duplicates+d
			}
			if missing != test.missing || duplicates != test.duplicates {
				t.Errorf("missing %d, duplicates %d; want %d and %d", missing, duplicates, test.missing, test.duplicates)
			}
		})
	}
}
