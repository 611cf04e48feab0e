package eventhubs

import (
	"crypto/tls"
	"fmt"
	"maps"
	"net"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"warmpath/internal/emulator/amqp"
)

// Credentials in the connection strings of a server that demands none.
const (
	anyKeyName = "RootManageSharedAccessKey"
	anyKey     = "c2hhcmVkLWtleS1vZi10aGUtZW11bGF0b3I="
)

// Server is an Event Hubs namespace. Its methods are safe for concurrent use.
type Server struct {
	config   config
	gate     gate
	listener net.Listener
	amqp     *amqp.Server
	served   chan struct{}
	controls controls
	skew     atomic.Int64 // of the clock, in nanoseconds

	mu   sync.RWMutex // covers hubs
	hubs map[string]*hub
}

// Start listens and serves until Close. It fails on options that make no sense
// and on an address that cannot be listened on.
func Start(options ...Option) (*Server, error) {
	c := defaultConfig()
	for _, o := range options {
		o(&c)
	}
	s := &Server{
		config: c,
		gate:   gate{now: c.now, checkToken: c.checkToken, keys: c.keys},
		served: make(chan struct{}),
		hubs:   make(map[string]*hub),
	}
	for _, h := range c.hubs {
		if err := s.CreateHub(h); err != nil {
			return nil, fmt.Errorf("eventhubs: %w", err)
		}
	}
	ac := amqp.DefaultConfig()
	ac.ContainerID = c.namespace
	ac.MaxMessageSize = c.maxMessageSize
	ac.Logger = c.logger
	ac.Hooks = s.hooks()
	// Clients take the first that they know; the second is what the service's
	// own libraries call the first.
	ac.SASL = []amqp.Mechanism{amqp.Anonymous("ANONYMOUS"), amqp.Anonymous("MSSBCBS"), amqp.Plain(s.gate.plain)}
	var err error
	if s.amqp, err = amqp.NewServer(ac, func(conn *amqp.Conn) amqp.Handler { return newPeer(s, conn) }); err != nil {
		return nil, fmt.Errorf("eventhubs: %w", err)
	}
	if s.listener, err = net.Listen("tcp", c.address); err != nil {
		return nil, fmt.Errorf("eventhubs: %w", err)
	}
	serving := s.listener
	if c.tls != nil {
		serving = tls.NewListener(s.listener, c.tls)
	}
	go func() {
		defer close(s.served)
		if err := s.amqp.Serve(serving); err != nil {
			c.logger.Error("event hubs emulator stopped", "err", err)
		}
	}()
	return s, nil
}

// Close ends all connections and returns when all goroutines have ended.
func (s *Server) Close() error {
	err := s.amqp.Close()
	<-s.served
	return err
}

// Addr is the address that the server listens on.
func (s *Server) Addr() string { return s.listener.Addr().String() }

// ConnectionString reaches the server as it is. Its host has the port in it,
// and clients name checkpoints after the host.
func (s *Server) ConnectionString() string { return s.connectionString(s.Addr()) }

// StableConnectionString names the namespace instead of the address, so that
// checkpoints are found again after a restart; clients need Addr as their custom
// endpoint.
func (s *Server) StableConnectionString() string { return s.connectionString(s.config.namespace) }

func (s *Server) connectionString(host string) string {
	k := s.gate.first()
	text := fmt.Sprintf("Endpoint=sb://%s;SharedAccessKeyName=%s;SharedAccessKey=%s", host, k.name, k.key)
	if s.config.tls == nil {
		text += ";UseDevelopmentEmulator=true"
	}
	return text
}

// Publish appends an event to a partition, as if a client had sent it. An empty
// partition means the one of the event's partition key, or the next in turn.
func (s *Server) Publish(hub, partition string, e Event) (Position, error) {
	r, err := parseRecord(e.encode())
	if err != nil {
		return Position{}, fmt.Errorf("publish to hub %q: %w", hub, err)
	}
	r.key, r.enqueued = e.PartitionKey, e.EnqueuedTime
	if h := s.hub(hub); h != nil && partition == "" {
		return h.choose(e.PartitionKey).append(&r), nil
	}
	p, err := s.partition(hub, partition)
	if err != nil {
		return Position{}, fmt.Errorf("publish: %w", err)
	}
	return p.append(&r), nil
}

// PartitionInfo tells the state of a partition's log.
func (s *Server) PartitionInfo(hub, partition string) (PartitionInfo, error) {
	p, err := s.partition(hub, partition)
	if err != nil {
		return PartitionInfo{}, fmt.Errorf("partition info: %w", err)
	}
	return p.info(), nil
}

// now is the time for new events and their retention.
func (s *Server) now() time.Time { return s.config.now().Add(time.Duration(s.skew.Load())) }

// hub finds a hub by its name in any case, or returns nil.
func (s *Server) hub(name string) *hub {
	s.mu.RLock()
	defer s.mu.RUnlock()
	return s.hubs[strings.ToLower(name)]
}

func (s *Server) allHubs() []*hub {
	s.mu.RLock()
	defer s.mu.RUnlock()
	return slices.Collect(maps.Values(s.hubs))
}

func (s *Server) partition(hub, id string) (*partition, error) {
	h := s.hub(hub)
	if h == nil {
		return nil, fmt.Errorf("hub %q does not exist", hub)
	}
	p := h.partition(id)
	if p == nil {
		return nil, fmt.Errorf("hub %q has no partition %q", hub, id)
	}
	return p, nil
}
