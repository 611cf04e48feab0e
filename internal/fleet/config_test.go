package fleet

import (
	"math"
	"strings"
	"testing"
	"time"
)

func TestDefaultConfigIsValid(t *testing.T) {
	cfg := DefaultConfig()
	if err := cfg.Validate(); err != nil {
		t.Fatal(err)
	}
}

func TestConfigNamesWhatItRefuses(t *testing.T) {
	for _, test := range []struct {
		name   string
		change func(*Config)
		want   string
	}{
		{"no drones", func(c *Config) { c.Drones = 0 }, `Drones is "0", allowed is 1 to 1000000`},
		{"prefix", func(c *Config) { c.DevicePrefix = "a/b" }, `DevicePrefix is "a/b"`},
		{"no prefix", func(c *Config) { c.DevicePrefix = "" }, `DevicePrefix is ""`},
		{"interval", func(c *Config) { c.Interval = 0 }, `Interval is "0s", allowed is 1ms (a millisecond for each position) to 24h0m0s`},
		{"crowded interval", func(c *Config) { c.PositionsPerEvent, c.Interval = 10, 9*time.Millisecond }, `Interval is "9ms", allowed is 10ms`},
		{"positions", func(c *Config) { c.PositionsPerEvent = 1001 }, `PositionsPerEvent is "1001", allowed is 1 to 1000`},
		{"no format", func(c *Config) { c.Formats = nil }, `Formats is "[]"`},
		{"format", func(c *Config) { c.Formats = []Format{Flat, "xml"} }, `Formats[1] is "xml", allowed is reference or flat`},
		{"pole", func(c *Config) { c.Latitude = 90 }, `Latitude is "90", allowed is -70 to 70 degrees`},
		{"nowhere", func(c *Config) { c.Longitude = math.NaN() }, `Longitude is "NaN"`},
		{"radius", func(c *Config) { c.Radius = 10 }, `Radius is "10", allowed is 500 to 50000 m`},
		{"percent", func(c *Config) { c.StalePercent = -1 }, `StalePercent is "-1", allowed is 0 to 100`},
		{"percents", func(c *Config) { c.StalePercent, c.MalformedPercent = 60, 60 }, `sum of all percentages is "122"`},
	} {
		t.Run(test.name, func(t *testing.T) {
			cfg := DefaultConfig()
			test.change(&cfg)
			_, err := New(cfg, time.Now())
			if err == nil || !strings.Contains(err.Error(), test.want) {
				t.Errorf("got %v, want %s", err, test.want)
			}
		})
	}
}
