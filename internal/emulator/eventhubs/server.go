package eventhubs

import (
	"fmt"
	"net"
	"strings"
	"sync"

	"warmpath/internal/emulator/amqp"
)

// Credentials in the connection strings; any would do.
const (
	keyName = "RootManageSharedAccessKey"
	key     = "c2hhcmVkLWtleS1vZi10aGUtZW11bGF0b3I="
)

// Server is an Event Hubs namespace. Its methods are safe for concurrent use.
type Server struct {
	config   config
	listener net.Listener
	amqp     *amqp.Server
	served   chan struct{}

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
	s := &Server{config: c, served: make(chan struct{}), hubs: make(map[string]*hub)}
	for _, h := range c.hubs {
		if err := s.addHub(h); err != nil {
			return nil, fmt.Errorf("eventhubs: %w", err)
		}
	}
	ac := amqp.DefaultConfig()
	ac.ContainerID = c.namespace
	ac.MaxMessageSize = c.maxMessageSize
	ac.Logger = c.logger
	var err error
	if s.amqp, err = amqp.NewServer(ac, func(conn *amqp.Conn) amqp.Handler { return newPeer(s, conn) }); err != nil {
		return nil, fmt.Errorf("eventhubs: %w", err)
	}
	if s.listener, err = net.Listen("tcp", c.address); err != nil {
		return nil, fmt.Errorf("eventhubs: %w", err)
	}
	go func() {
		defer close(s.served)
		if err := s.amqp.Serve(s.listener); err != nil {
			c.logger.Error("event hubs emulator stopped", "err", err)
		}
	}()
	return s, nil
}

func (s *Server) addHub(h hubConfig) error {
	if err := h.validate(); err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	name := strings.ToLower(h.name)
	if s.hubs[name] != nil {
		return fmt.Errorf("hub %q exists already", h.name)
	}
	s.hubs[name] = newHub(h, s.config.now)
	return nil
}

// hub finds a hub by its name in any case, or returns nil.
func (s *Server) hub(name string) *hub {
	s.mu.RLock()
	defer s.mu.RUnlock()
	return s.hubs[strings.ToLower(name)]
}

// Close ends all connections and returns when all goroutines have ended.
func (s *Server) Close() error {
	err := s.amqp.Close()
	s.listener.Close()
	<-s.served
	return err
}

// Addr is the address that the server listens on.
func (s *Server) Addr() string { return s.listener.Addr().String() }

// ConnectionString reaches the server as it is. Its host has the port in it,
// and clients name checkpoints after the host.
func (s *Server) ConnectionString() string { return connectionString(s.Addr()) }

// StableConnectionString names the namespace instead of the address, so that
// checkpoints are found again after a restart; clients need Addr as their custom
// endpoint.
func (s *Server) StableConnectionString() string { return connectionString(s.config.namespace) }

func connectionString(host string) string {
	return fmt.Sprintf("Endpoint=sb://%s;SharedAccessKeyName=%s;SharedAccessKey=%s;UseDevelopmentEmulator=true", host, keyName, key)
}

// Publish appends an event to a partition, as if a client had sent it.
func (s *Server) Publish(hub, partition string, e Event) (Position, error) {
	p, err := s.partition(hub, partition)
	if err != nil {
		return Position{}, fmt.Errorf("publish: %w", err)
	}
	r, err := parseRecord(e.encode())
	if err != nil {
		return Position{}, fmt.Errorf("publish to %v: %w", p, err)
	}
	r.key, r.enqueued = e.PartitionKey, e.EnqueuedTime
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
