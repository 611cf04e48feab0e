// Package report prints what a benchmark measured, as a table for people and as
// JSON for comparison.
package report

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"slices"
)

// Path is where the results of the last measurements lie. It is not committed.
const Path = "bench/results/latest.json"

// Row is one measured quantity.
type Row struct {
	Name    string  `json:"name"`
	Unit    string  `json:"unit"`
	Median  float64 `json:"median"`
	Min     float64 `json:"min"`
	Max     float64 `json:"max"`
	Runs    int     `json:"runs"`
	Command string  `json:"command"`
}

// Report collects the rows of one command.
type Report struct {
	command string
	rows    []Row
}

// New begins a report and prints its head: the command, the toolchain, the
// machine, and what was an emulator.
func New(command string) *Report {
	fmt.Printf("%s\n%s, %d cores; Event Hubs and Cosmos DB are this repository's emulators, in a process of their own\n\n%-52s %12s %12s %12s\n",
		command, runtime.Version(), runtime.NumCPU(), "", "median", "min", "max")
	return &Report{command: command}
}

// Add prints a row made of one value per run.
func (r *Report) Add(name, unit string, values []float64) Row {
	v := slices.Sorted(slices.Values(values))
	row := Row{name, unit, v[len(v)/2], v[0], v[len(v)-1], len(v), r.command}
	fmt.Printf("%-52s %12.4g %12.4g %12.4g  %s\n", name, row.Median, row.Min, row.Max, unit)
	r.rows = append(r.rows, row)
	return row
}

// Save puts the rows into the file at Path, in place of what the same command
// had put there before.
func (r *Report) Save() error {
	var all []Row
	text, err := os.ReadFile(Path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
	case err != nil:
		return err
	default:
		if err := json.Unmarshal(text, &all); err != nil {
			return fmt.Errorf("%s: %w", Path, err)
		}
	}
	all = slices.DeleteFunc(all, func(row Row) bool { return row.Command == r.command })
	if text, err = json.MarshalIndent(append(all, r.rows...), "", "  "); err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(Path), 0o755); err != nil {
		return err
	}
	return os.WriteFile(Path, append(text, '\n'), 0o644)
}
