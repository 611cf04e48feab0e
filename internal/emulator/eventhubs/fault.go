package eventhubs

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"strings"
	"time"

	"warmpath/internal/emulator/amqp"
)

// Fault is a control function as data, as a control port or a schedule of
// faults needs it. In JSON the two durations are text, such as "250ms".
type Fault struct {
	Op Op `json:"op"`
	// Hub, Group and Partition restrict it; empty matches all. Remote restricts
	// it to a client's address.
	Hub       string `json:"hub,omitempty"`
	Group     string `json:"group,omitempty"`
	Partition string `json:"partition,omitempty"`
	Remote    string `json:"remote,omitempty"`

	Action      Action        `json:"action,omitempty"`
	Delay       time.Duration `json:"-"`
	Condition   string        `json:"condition,omitempty"`
	Description string        `json:"description,omitempty"`
	Status      int32         `json:"status,omitempty"`

	// After is how many matching operations it lets pass first.
	After int `json:"after,omitempty"`
	// Times is how many it strikes; 0 means every one until it is removed.
	Times int `json:"times,omitempty"`
	// For is how long it strikes, from its first match on; 0 for ever.
	For time.Duration `json:"-"`
	// Probability is the share of the matching operations that it strikes, by a
	// generator with the given seed; 0 means all.
	Probability float64 `json:"probability,omitempty"`
	Seed        uint64  `json:"seed,omitempty"`
}

type plainFault Fault

// faultJSON adds the durations.
type faultJSON struct {
	*plainFault
	Delay string `json:"delay,omitempty"`
	For   string `json:"for,omitempty"`
}

// MarshalJSON writes durations as text.
func (f Fault) MarshalJSON() ([]byte, error) {
	text := func(d time.Duration) string {
		if d == 0 {
			return ""
		}
		return d.String()
	}
	return json.Marshal(faultJSON{(*plainFault)(&f), text(f.Delay), text(f.For)})
}

// UnmarshalJSON reads what MarshalJSON writes and refuses unknown fields.
func (f *Fault) UnmarshalJSON(b []byte) error {
	*f = Fault{}
	text := faultJSON{plainFault: (*plainFault)(f)}
	d := json.NewDecoder(bytes.NewReader(b))
	d.DisallowUnknownFields()
	if err := d.Decode(&text); err != nil {
		return fmt.Errorf("fault: %w", err)
	}
	for _, field := range []struct {
		name, text string
		into       *time.Duration
	}{{"delay", text.Delay, &f.Delay}, {"for", text.For, &f.For}} {
		if field.text == "" {
			continue
		}
		d, err := time.ParseDuration(field.text)
		if err != nil {
			return fmt.Errorf("fault: %s: %w", field.name, err)
		}
		*field.into = d
	}
	return nil
}

func (f *Fault) validate() error {
	switch f.Op {
	case OpAccept, OpOpen, OpAttach, OpTransfer, OpSend, OpCBS, OpManagement, OpHeartbeat:
	default:
		return fmt.Errorf("op %q is unknown", f.Op)
	}
	switch f.Action {
	case Proceed, Drop, Refuse, Hold, Repeat, Mute, DetachLink, EndSession, CloseConnection, ResetConnection:
	default:
		return fmt.Errorf("action %q is unknown or needs a control function", f.Action)
	}
	if f.Delay < 0 || f.For < 0 || f.After < 0 || f.Times < 0 || f.Probability < 0 || f.Probability > 1 {
		return fmt.Errorf("delay %v, for %v, after %d, times %d, probability %v: want none below 0, probability at most 1",
			f.Delay, f.For, f.After, f.Times, f.Probability)
	}
	return nil
}

// Inject installs a fault.
func (s *Server) Inject(f Fault) (*Control, error) {
	if err := f.validate(); err != nil {
		return nil, fmt.Errorf("inject: %w", err)
	}
	v := Verdict{Action: f.Action, Delay: f.Delay, Status: f.Status, Description: f.Description}
	if f.Condition != "" {
		v.Error = &amqp.Error{Condition: amqp.Symbol(f.Condition), Description: f.Description}
	}
	random := rand.New(rand.NewPCG(f.Seed, f.Seed))
	passed, struck := 0, 0
	var until time.Time
	return s.Control(f.Op, func(call *Call) (Verdict, bool) {
		if !f.matches(call) {
			return Verdict{}, false
		}
		if passed < f.After {
			passed++
			return Verdict{}, false
		}
		if f.For > 0 {
			now := time.Now() // real time: it is the client that waits
			if until.IsZero() {
				until = now.Add(f.For)
			}
			if now.After(until) {
				return Verdict{}, false
			}
		}
		if f.Probability > 0 && random.Float64() >= f.Probability {
			return Verdict{}, false
		}
		struck++
		if f.Times == 0 || struck < f.Times {
			call.Keep()
		}
		return v, true
	}), nil
}

func (f *Fault) matches(call *Call) bool {
	match := func(want, got string) bool { return want == "" || strings.EqualFold(want, got) }
	return match(f.Hub, call.Hub) && match(f.Group, call.Group) && match(f.Partition, call.Partition) && match(f.Remote, call.Remote)
}
