package app

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"time"

	"warmpath/geo"
	"warmpath/internal/cases"
	"warmpath/processor"
)

// Preview is how messages are tried without a hub or a store.
type Preview struct {
	Decoding
	KeyPath    string        `help:"Partition key path of the container: /deviceId, /deliveryId or /id." enum:"/deviceId,/deliveryId,/id" default:"/deviceId" group:"Documents"`
	Mode       string        `help:"latest keeps one document per drone, history keeps every position." enum:"latest,history" default:"latest" group:"Documents"`
	MaxAge     time.Duration `help:"Positions older than this are stale; 0 makes none stale. Only cases have an age." default:"5m" group:"Documents"`
	MissingKey string        `help:"What happens to a position without the partition key." enum:"deadletter,drop" default:"deadletter" group:"Documents"`

	ContentEncoding string `help:"AMQP content encoding of the message, such as gzip." env:"-" group:"Message"`
	HubDeviceID     string `name:"hub-device-id" help:"Device that has sent the message, as the hub knows it." env:"-" group:"Message"`
	HubModuleID     string `name:"hub-module-id" help:"Module of the device that has sent the message." env:"-" group:"Message"`
}

// Validate names every setting that is wrong, its value and what is allowed.
func (p *Preview) Validate() error {
	if p.MaxAge < 0 {
		return fmt.Errorf("--max-age is %v, allowed is 0 or more", p.MaxAge)
	}
	return p.validateDecoding()
}

// rules are the settings as cases have them.
func (p *Preview) rules() cases.Rules {
	processing := processor.DefaultConfig()
	processing.Mode, processing.MaxAge = processor.Mode(p.Mode), p.MaxAge
	processing.DropMissingKey = p.MissingKey == "drop"
	return cases.RulesOf(p.decoding(p.KeyPath), processing)
}

// Decode writes for each position of one message, a line each, the document or
// the reason why there is none.
func (p *Preview) Decode(body []byte, now time.Time, out io.Writer) error {
	message := processor.Message{
		Event: geo.Event{
			Body: body, ContentEncoding: p.ContentEncoding,
			HubDeviceID: p.HubDeviceID, ModuleID: p.HubModuleID,
		},
		Enqueued: now,
	}
	rules := p.rules()
	previews, err := rules.Preview([]processor.Message{message}, now)
	if err != nil {
		return err
	}
	for i := range previews {
		line, err := verdictLine(&previews[i])
		if err != nil {
			return err
		}
		if _, err := out.Write(append(line, '\n')); err != nil {
			return fmt.Errorf("write: %w", err)
		}
	}
	return nil
}

// verdictLine is a position's document, or what else becomes of it, as JSON.
func verdictLine(p *processor.Preview) ([]byte, error) {
	if p.Document != nil {
		return p.Document.Body, nil
	}
	line := struct {
		Index    int            `json:"index"`
		Fate     processor.Fate `json:"fate"`
		Reason   geo.Reason     `json:"reason,omitempty"`
		DeviceID string         `json:"deviceId,omitempty"`
		Error    string         `json:"error,omitempty"`
	}{Index: p.Index, Fate: p.Fate, Reason: p.Reason, DeviceID: p.DeviceID}
	if p.Err != nil {
		line.Error = p.Err.Error()
	}
	return json.Marshal(line)
}

// ErrCasesFailed is returned when not every case of a file has passed.
var ErrCasesFailed = errors.New("not every case has passed")

// DecodeCases runs a file of cases and writes the report to out.
func (p *Preview) DecodeCases(in io.Reader, now time.Time, out io.Writer) error {
	all, err := cases.Load(in)
	if err != nil {
		return err
	}
	if cases.Report(out, all, p.rules(), now) > 0 {
		return ErrCasesFailed
	}
	return nil
}
