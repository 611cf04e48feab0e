package eventhubs

import (
	"crypto/tls"
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
	tls            *tls.Config
	now            func() time.Time
	logger         *slog.Logger
	maxMessageSize uint64
	hubs           []HubConfig
	keys           []accessKey
	checkToken     func(token string) error
	redirect       redirect
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

// WithTLS serves TLS from the first byte, as the service does. Connection
// strings then lack UseDevelopmentEmulator=true.
func WithTLS(tls *tls.Config) Option {
	return func(c *config) { c.tls = tls }
}

// WithHub adds a hub with partitions "0" to partitions-1. Consumer group
// $Default is always there.
func WithHub(name string, partitions int, consumerGroups ...string) Option {
	return WithHubConfig(HubConfig{Name: name, Partitions: partitions, ConsumerGroups: consumerGroups})
}

// WithHubConfig adds a hub.
func WithHubConfig(hub HubConfig) Option {
	return func(c *config) { c.hubs = append(c.hubs, hub) }
}

// WithClock sets what enqueued times, retention and the expiry of tokens are
// read from. The default is time.Now.
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

// WithKey demands authorization: a link is refused unless its connection has
// put a valid token for its entity, signed with a key of that name, or has
// authenticated with name and key by SASL PLAIN. Several keys may share a name,
// as the primary and the secondary key of a rule do. Without WithKey and
// WithTokenCheck everything is accepted.
func WithKey(name, key string) Option {
	return func(c *config) { c.keys = append(c.keys, accessKey{name, key}) }
}

// WithTokenCheck demands authorization as WithKey does, and asks check about
// tokens that are no shared access signatures.
func WithTokenCheck(check func(token string) error) Option {
	return func(c *config) { c.checkToken = check }
}

// WithRedirect makes the server also an IoT Hub's endpoint: links to
// messages/events/... are redirected to the given hub of this server at address
// (host:port, or "" for this server's own), as an IoT Hub sends clients to its
// Event Hubs-compatible endpoint.
func WithRedirect(hub, address string) Option {
	return func(c *config) { c.redirect = redirect{hub, address} }
}

// HubConfig describes a hub.
type HubConfig struct {
	Name           string
	Partitions     int // 1 to 1024
	ConsumerGroups []string
	// GeoReplicated makes offsets opaque strings and refuses numeric ones, as in
	// a namespace with geo-replication.
	GeoReplicated bool
	// Retention drops events of greater age; 0 keeps all.
	Retention time.Duration
	// IoTHub decorates what clients send as an IoT Hub does what devices send.
	IoTHub *IoTHub
}

// maxPartitions is the service's limit for a hub of its largest tier.
const maxPartitions = 1024

func (h *HubConfig) validate() error {
	if h.Name == "" || strings.ContainsAny(h.Name, "$/ ") {
		return fmt.Errorf("hub name %q is empty or has a blank, slash or $", h.Name)
	}
	if h.Partitions < 1 || h.Partitions > maxPartitions {
		return fmt.Errorf("hub %q has %d partitions, want 1 to %d", h.Name, h.Partitions, maxPartitions)
	}
	if h.Retention < 0 {
		return fmt.Errorf("hub %q has a retention of %v, want 0 or more", h.Name, h.Retention)
	}
	for _, g := range h.ConsumerGroups {
		if g == "" || strings.Contains(g, "/") {
			return fmt.Errorf("hub %q: consumer group %q is empty or has a slash", h.Name, g)
		}
	}
	return nil
}
