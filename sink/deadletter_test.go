package sink

import (
	"bytes"
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"testing"
	"time"
)

func TestDeadLettersAreLinesOfJSON(t *testing.T) {
	path := filepath.Join(t.TempDir(), "dead.ndjson")
	f, err := OpenFileDeadLetters(path)
	if err != nil {
		t.Fatal(err)
	}
	letter := DeadLetter{
		Reason: "malformed", Partition: "3", Offset: "4711", SequenceNumber: 42, Index: 1,
		EnqueuedTime: time.Date(2026, 11, 30, 12, 0, 0, 0, time.UTC), DeviceID: "drone-1", Error: "not JSON",
	}
	letter.KeepBody(bytes.Repeat([]byte{0xFF}, MaxDeadLetterBody+1))
	if err := f.Put(context.Background(), []DeadLetter{letter, {Reason: "bad_id"}}); err != nil {
		t.Fatal(err)
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
	got := readLetters(t, path)
	if len(got) != 2 || got[1].Reason != "bad_id" {
		t.Fatalf("read back %d letters", len(got))
	}
	if g := got[0]; g.Reason != "malformed" || g.SequenceNumber != 42 || g.DeviceID != "drone-1" || len(g.Body) != MaxDeadLetterBody || !g.Truncated || !g.EnqueuedTime.Equal(letter.EnqueuedTime) {
		t.Errorf("read back %+v", g)
	}
}

// A crash may leave half a line: it was never acknowledged, so it goes, and
// what was acknowledged before stays.
func TestAnUnfinishedLineIsCutOff(t *testing.T) {
	path := filepath.Join(t.TempDir(), "dead.ndjson")
	if err := os.WriteFile(path, []byte("{\"reason\":\"first\"}\n{\"reason\":\"half"), 0o600); err != nil {
		t.Fatal(err)
	}
	f, err := OpenFileDeadLetters(path)
	if err != nil {
		t.Fatal(err)
	}
	if err := f.Put(context.Background(), []DeadLetter{{Reason: "second"}}); err != nil {
		t.Fatal(err)
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
	got := readLetters(t, path)
	if len(got) != 2 || got[0].Reason != "first" || got[1].Reason != "second" {
		t.Errorf("read back %+v", got)
	}
}

func readLetters(t *testing.T, path string) []DeadLetter {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	var letters []DeadLetter
	for line := range bytes.Lines(text) {
		var l DeadLetter
		if err := json.Unmarshal(line, &l); err != nil {
			t.Fatalf("line %q: %v", line, err)
		}
		letters = append(letters, l)
	}
	return letters
}
