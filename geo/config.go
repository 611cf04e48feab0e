package geo

import (
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"
)

// DeviceIDPolicy says whose word on the device id counts when both the hub and
// the body name one.
type DeviceIDPolicy string

// The policies. Whoever connects to an IoT Hub as a device proves its identity
// to the hub; what it writes into a body proves nothing.
const (
	HubDeviceID  DeviceIDPolicy = "hub"  // the hub's, except for modules and gateways
	BodyDeviceID DeviceIDPolicy = "body" // the body's; the hub's only where the body names none
)

// Paths that a partition key can have, because every document carries or can
// carry a text there.
const (
	keyDeviceID   = "/deviceId"
	keyDeliveryID = "/deliveryId"
	keyID         = "/id"
)

// KeyPaths returns the partition key paths that a document can carry.
func KeyPaths() []string { return []string{keyDeviceID, keyDeliveryID, keyID} }

// Config says how payloads are read.
type Config struct {
	// KeyPath is the partition key path of the container, one of KeyPaths.
	KeyPath string
	// SensorTypes are the values of sensorType that carry positions.
	SensorTypes []string
	// MaxDecompressed bounds a body after decompression, in bytes.
	MaxDecompressed int
	// MaxPositions bounds the positions of one event. A body of two bytes per
	// element would otherwise cost a hundred times its size in items.
	MaxPositions int
	// DeviceID says whose word on the device id counts.
	DeviceID DeviceIDPolicy
	// Gateways are patterns (as of path.Match) of hub device ids that may speak
	// for other devices. A module always may.
	Gateways []string
	// Mapping is for positions of a shape that is not known without it.
	Mapping Mapping
}

// DefaultConfig returns the settings for the reference fleet.
func DefaultConfig() Config {
	return Config{
		KeyPath:         keyDeviceID,
		SensorTypes:     []string{"drone-event-sensor;v1"},
		MaxDecompressed: 8 << 20,
		MaxPositions:    100_000,
		DeviceID:        HubDeviceID,
	}
}

// Validate returns an error that names every field with a value that is not
// allowed, and what is.
func (c *Config) Validate() error {
	var errs []error
	refuse := func(field string, value any, allowed string) {
		errs = append(errs, fmt.Errorf("%s is %q, allowed is %s", field, fmt.Sprint(value), allowed))
	}
	if !slices.Contains(KeyPaths(), c.KeyPath) {
		refuse("KeyPath", c.KeyPath, "one of "+strings.Join(KeyPaths(), ", ")+": a document carries no text elsewhere")
	}
	if len(c.SensorTypes) == 0 {
		refuse("SensorTypes", c.SensorTypes, "at least one type")
	}
	if c.MaxDecompressed < 1 || c.MaxDecompressed > 1<<30 {
		refuse("MaxDecompressed", c.MaxDecompressed, "1 to 1073741824 bytes")
	}
	if c.MaxPositions < 1 || c.MaxPositions > 10_000_000 {
		refuse("MaxPositions", c.MaxPositions, "1 to 10000000")
	}
	if c.DeviceID != HubDeviceID && c.DeviceID != BodyDeviceID {
		refuse("DeviceID", c.DeviceID, "hub or body")
	}
	for i, pattern := range c.Gateways {
		if _, err := path.Match(pattern, ""); err != nil || pattern == "" {
			refuse(fmt.Sprintf("Gateways[%d]", i), pattern, "a pattern of device ids with *, ? and [a-z]")
		}
	}
	c.Mapping.validate(refuse)
	return errors.Join(errs...)
}
