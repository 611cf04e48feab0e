package amqp

import (
	"fmt"
	"log/slog"
	"time"
)

// Config bounds and times a server. The zero value is not usable; start from
// DefaultConfig.
type Config struct {
	// ContainerID is the server's name in its open frames.
	ContainerID string
	// MaxFrameSize is the largest frame accepted and made, in bytes (512 to
	// 1 MiB). Every connection holds one read buffer of this size.
	MaxFrameSize uint32
	// MaxMessageSize is the largest message accepted, in bytes.
	MaxMessageSize uint64
	// MaxConnections, MaxSessions and MaxLinks (both per connection) bound what
	// peers may open. MaxHandles bounds the links of one session.
	MaxConnections, MaxSessions, MaxLinks, MaxHandles int
	// Window is the incoming window of a session, in transfer frames.
	Window uint32
	// IdleTimeout is announced to peers; one that is silent for twice as long
	// is dropped.
	IdleTimeout time.Duration
	// HandshakeTimeout bounds the time from accept to open, WriteTimeout the
	// time one write may take before the connection is dropped.
	HandshakeTimeout, WriteTimeout time.Duration
	// SASL lists the mechanisms in the order in which they are offered.
	SASL  []Mechanism
	Hooks Hooks
	// Logger gets one line per refused or broken connection at level debug.
	Logger *slog.Logger
}

// DefaultConfig holds what a public broker announces, and limits that a test on
// one machine does not reach.
func DefaultConfig() Config {
	return Config{
		ContainerID:      "emulator",
		MaxFrameSize:     65536,
		MaxMessageSize:   1 << 20,
		MaxConnections:   1000,
		MaxSessions:      5000,
		MaxLinks:         5000,
		MaxHandles:       256,
		Window:           5000,
		IdleTimeout:      240 * time.Second,
		HandshakeTimeout: 30 * time.Second,
		WriteTimeout:     30 * time.Second,
		SASL:             []Mechanism{Anonymous("ANONYMOUS")},
		Logger:           slog.New(slog.DiscardHandler),
	}
}

// Validate names the first field that cannot be used.
func (c *Config) Validate() error {
	switch {
	case c.MaxFrameSize < 512 || c.MaxFrameSize > 1<<20:
		return fmt.Errorf("MaxFrameSize is %d, want 512 to 1048576", c.MaxFrameSize)
	case c.MaxMessageSize < 1:
		return fmt.Errorf("MaxMessageSize is %d, want at least 1", c.MaxMessageSize)
	case c.MaxConnections < 1 || c.MaxSessions < 1 || c.MaxSessions > 1<<16 || c.MaxLinks < 1 || c.MaxHandles < 1:
		return fmt.Errorf("MaxConnections, MaxSessions, MaxLinks, MaxHandles are %d, %d, %d, %d, want at least 1 (sessions at most 65536)",
			c.MaxConnections, c.MaxSessions, c.MaxLinks, c.MaxHandles)
	case c.Window < 2:
		return fmt.Errorf("field Window is %d, want at least 2", c.Window)
	case c.IdleTimeout < time.Second || c.HandshakeTimeout <= 0 || c.WriteTimeout <= 0:
		return fmt.Errorf("IdleTimeout, HandshakeTimeout, WriteTimeout are %v, %v, %v, want at least 1s and above 0",
			c.IdleTimeout, c.HandshakeTimeout, c.WriteTimeout)
	case len(c.SASL) == 0 || c.Logger == nil:
		return fmt.Errorf("SASL (%d mechanisms) and Logger must be set", len(c.SASL))
	}
	return nil
}
