package conformance

import (
	"context"
	"encoding/json"
	"fmt"
	"time"
)

// target is where the script runs. The JavaScript half gets it as JSON.
type target struct {
	Hub           string `json:"hub"`
	HubConnection string `json:"hubConnection"`
	Storage       string `json:"storage"`
	Cosmos        string `json:"cosmos"`
	// Scarce is a Cosmos account whose containers of 400 request units a second
	// have no more than that.
	Scarce string `json:"scarce"`
	// Run tells what this run writes from what others wrote to the same
	// services: lower-case letters and digits.
	Run string `json:"run"`
}

// check is one step of the script. What it returns is compared as JSON; an
// error means that the client could not do what the check is about.
type check struct {
	name string
	run  func(context.Context, target) (any, error)
}

// outcome is the line that both halves report for a check.
type outcome struct {
	Name string          `json:"name"`
	OK   bool            `json:"ok"`
	Seen json.RawMessage `json:"seen"` // the error's text unless OK
}

// checkTimeout bounds one check. Against a far service a check takes seconds.
const checkTimeout = 60 * time.Second

// perform runs checks one after the other, as they may use the same hub.
func perform(ctx context.Context, to target, checks []check) []outcome {
	var all []outcome
	for _, c := range checks {
		limited, cancel := context.WithTimeout(ctx, checkTimeout)
		seen, err := c.run(limited, to)
		cancel()
		if err != nil {
			seen = err.Error()
		}
		text, fault := json.Marshal(seen)
		if fault != nil {
			text, err = fmt.Appendf(nil, "%q", fault), fault
		}
		all = append(all, outcome{Name: c.name, OK: err == nil, Seen: text})
	}
	return all
}
