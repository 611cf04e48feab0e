package conformance

import (
	"encoding/json"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

var (
	namedTest  = regexp.MustCompile("`((?:Test|Fuzz)[A-Za-z0-9]+)`")
	namedCheck = regexp.MustCompile("`((?:hub|cosmos)/[a-z0-9-]+)`")
	definition = regexp.MustCompile(`(?m)^func ((?:Test|Fuzz)[A-Za-z0-9]+)\(`)
)

// COMPATIBILITY.md names tests and checks that exist, and every check.
func TestTableNamesWhatShowsIt(t *testing.T) {
	table, err := os.ReadFile(filepath.Join("..", "COMPATIBILITY.md"))
	if err != nil {
		t.Fatal(err)
	}
	tests := make(map[string]bool)
	err = filepath.WalkDir("..", func(path string, _ fs.DirEntry, err error) error {
		if err != nil || !strings.HasSuffix(path, "_test.go") {
			return err
		}
		source, err := os.ReadFile(path)
		for _, found := range definition.FindAllSubmatch(source, -1) {
			tests[string(found[1])] = true
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range namedTest.FindAllSubmatch(table, -1) {
		if !tests[string(name[1])] {
			t.Errorf("there is no %s", name[1])
		}
	}
	text, err := os.ReadFile(filepath.Join("testdata", "seen.json"))
	if err != nil {
		t.Fatal(err)
	}
	var checks map[string]json.RawMessage
	if err := json.Unmarshal(text, &checks); err != nil {
		t.Fatal(err)
	}
	named := make(map[string]bool)
	for _, name := range namedCheck.FindAllSubmatch(table, -1) {
		named[string(name[1])] = true
		if checks[string(name[1])] == nil {
			t.Errorf("there is no check %s", name[1])
		}
	}
	for name := range checks {
		if !named[name] {
			t.Errorf("check %s is not in the table", name)
		}
	}
}
