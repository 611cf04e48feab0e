package cases

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"warmpath/geo"
	"warmpath/processor"
)

// Rules are the settings under which a message is read. A case names those that
// differ by the names below; device-id is deviceId.
type Rules struct {
	Mode             processor.Mode     `json:"mode"`
	PartitionKeyPath string             `json:"partitionKeyPath"`
	MaxAge           Duration           `json:"maxAge"` // 0 drops nothing
	MissingKey       string             `json:"missingKey"`
	DeviceID         geo.DeviceIDPolicy `json:"deviceId"`
	Gateways         []string           `json:"gateways"`
	SensorTypes      []string           `json:"sensorTypes"`
	MaxDecompressed  int                `json:"maxDecompressed"` // bytes
	MaxPositions     int                `json:"maxPositions"`
	Mapping          geo.Mapping        `json:"mapping"`
}

// Duration is a time.Duration that is text such as "5m" in JSON.
type Duration time.Duration

// UnmarshalText implements [encoding.TextUnmarshaler].
func (d *Duration) UnmarshalText(text []byte) error {
	parsed, err := time.ParseDuration(string(text))
	*d = Duration(parsed)
	return err
}

// RulesOf returns the rules that a configuration makes.
func RulesOf(decoding geo.Config, processing processor.Config) Rules {
	missing := "deadletter"
	if processing.DropMissingKey {
		missing = "drop"
	}
	return Rules{
		Mode:             processing.Mode,
		PartitionKeyPath: decoding.KeyPath,
		MaxAge:           Duration(processing.MaxAge),
		MissingKey:       missing,
		DeviceID:         decoding.DeviceID,
		Gateways:         decoding.Gateways,
		SensorTypes:      decoding.SensorTypes,
		MaxDecompressed:  decoding.MaxDecompressed,
		MaxPositions:     decoding.MaxPositions,
		Mapping:          decoding.Mapping,
	}
}

// Rules returns the settings of the case on top of the given ones. A setting
// that is not known is an error: the case would not try what it means to.
func (c *Case) Rules(base Rules) (Rules, error) {
	if len(c.Settings) == 0 {
		return base, nil
	}
	plain := make(map[string]json.RawMessage, len(c.Settings))
	for name, value := range c.Settings {
		plain[strings.ReplaceAll(name, "-", "")] = value // JSON names match in any case
	}
	text, err := json.Marshal(plain)
	if err != nil {
		return base, fmt.Errorf("settings: %w", err)
	}
	// Decoding into a slice would write into the base's own.
	base.Gateways, base.SensorTypes = slices.Clone(base.Gateways), slices.Clone(base.SensorTypes)
	decoder := json.NewDecoder(bytes.NewReader(text))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(&base); err != nil {
		return base, fmt.Errorf("settings: %w", err)
	}
	return base, nil
}

// decoding are the rules as geo has them.
func (r *Rules) decoding() geo.Config {
	return geo.Config{
		KeyPath:         r.PartitionKeyPath,
		SensorTypes:     r.SensorTypes,
		MaxDecompressed: r.MaxDecompressed,
		MaxPositions:    r.MaxPositions,
		DeviceID:        r.DeviceID,
		Gateways:        r.Gateways,
		Mapping:         r.Mapping,
	}
}

// processing are the rules as the processor has them.
func (r *Rules) processing() (processor.Config, error) {
	c := processor.DefaultConfig()
	c.Mode, c.MaxAge = r.Mode, time.Duration(r.MaxAge)
	c.KeyIsID = r.PartitionKeyPath == "/id"
	switch r.MissingKey {
	case "deadletter":
	case "drop":
		c.DropMissingKey = true
	default:
		return c, fmt.Errorf("missingKey is %q, allowed are deadletter and drop", r.MissingKey)
	}
	return c, c.Validate()
}

// Preview tells what becomes of messages that are received together.
func (r *Rules) Preview(messages []processor.Message, received time.Time) ([]processor.Preview, error) {
	processing, err := r.processing()
	if err != nil {
		return nil, err
	}
	decoder, err := geo.NewDecoder(r.decoding())
	if err != nil {
		return nil, err
	}
	return processor.PreviewBatch(processing, decoder, "0", messages, received)
}
