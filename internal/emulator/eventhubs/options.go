package eventhubs

import (
	"fmt"
	"log/slog"
	"strings"
	"time"
)

// Option sets up a server.
type Option func(*config)

type config struct {
	address        string
	namespace      string
	now            func() time.Time
	logger         *slog.Logger
	maxMessageSize uint64
	hubs           []hubConfig
}

type hubConfig struct {
	name       string
	partitions int
	groups     []string
}

func defaultConfig() config {
	return config{
		address:        "127.0.0.1:0",
		namespace:      "emulator",
		now:            time.Now,
		logger:         slog.New(slog.DiscardHandler),
		maxMessageSize: 1 << 20, // the service's limit above its basic tier
	}
}

// WithAddress listens on another address than 127.0.0.1:0.
func WithAddress(address string) Option {
	return func(c *config) { c.address = address }
}

// WithNamespace sets the host name in StableConnectionString. The default is
// "emulator".
func WithNamespace(name string) Option {
	return func(c *config) { c.namespace = name }
}

// WithHub adds a hub with partitions "0" to partitions-1. Consumer group
// $Default is always there.
func WithHub(name string, partitions int, consumerGroups ...string) Option {
	return func(c *config) {
		c.hubs = append(c.hubs, hubConfig{name, partitions, consumerGroups})
	}
}

// WithClock sets what enqueued times are read from. The default is time.Now.
func WithClock(now func() time.Time) Option {
	return func(c *config) { c.now = now }
}

// WithLogger gets a line at level debug for what peers do wrong.
func WithLogger(logger *slog.Logger) Option {
	return func(c *config) { c.logger = logger }
}

// WithMaxMessageSize limits messages and batches, in bytes. The default is
// 1 MiB.
func WithMaxMessageSize(bytes int) Option {
	return func(c *config) { c.maxMessageSize = uint64(max(0, bytes)) }
}

// maxPartitions is the service's limit for a hub of its largest tier.
const maxPartitions = 1024

func (h *hubConfig) validate() error {
	if h.name == "" || strings.ContainsAny(h.name, "$ ") {
		return fmt.Errorf("hub name %q is empty or has a blank or $", h.name)
	}
	if h.partitions < 1 || h.partitions > maxPartitions {
		return fmt.Errorf("hub %q has %d partitions, want 1 to %d", h.name, h.partitions, maxPartitions)
	}
	for _, g := range h.groups {
		if g == "" || strings.Contains(g, "/") {
			return fmt.Errorf("hub %q: consumer group %q is empty or has a slash", h.name, g)
		}
	}
	return nil
}
