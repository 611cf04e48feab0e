package amqp

import (
	"errors"
	"fmt"
	"net"
	"sync"
	"time"
)

// Handler serves the links of one connection. Each call has a goroutine of its
// own and lasts as long as the link: it answers the attach by Accept or Refuse,
// works, and returns soon after the link's context has ended. Returning ends the
// link. A handler that returns without an answer refuses the link.
type Handler interface {
	// ServeOutgoing serves a link on which the peer receives.
	ServeOutgoing(*Outgoing)
	// ServeIncoming serves a link on which the peer sends.
	ServeIncoming(*Incoming)
}

// Server accepts AMQP connections. All methods are safe for concurrent use.
type Server struct {
	config     Config
	newHandler func(*Conn) Handler

	running sync.WaitGroup // one per connection

	mu     sync.Mutex // covers what follows
	closed bool
	conns  map[*Conn]struct{}
	lines  map[net.Listener]struct{}
}

// NewServer makes a server that asks newHandler for the handler of each
// connection once the connection is open.
func NewServer(config Config, newHandler func(*Conn) Handler) (*Server, error) {
	if err := config.Validate(); err != nil {
		return nil, fmt.Errorf("amqp server: %w", err)
	}
	return &Server{
		config:     config,
		newHandler: newHandler,
		conns:      make(map[*Conn]struct{}),
		lines:      make(map[net.Listener]struct{}),
	}, nil
}

// Serve accepts connections until the server is closed, which gives nil, or the
// listener fails. It closes the listener.
func (s *Server) Serve(listener net.Listener) error {
	defer listener.Close()
	s.mu.Lock()
	if s.closed {
		s.mu.Unlock()
		return nil
	}
	s.lines[listener] = struct{}{}
	s.mu.Unlock()
	for {
		nc, err := listener.Accept()
		if err != nil {
			s.mu.Lock()
			delete(s.lines, listener)
			closed := s.closed
			s.mu.Unlock()
			if closed && errors.Is(err, net.ErrClosed) {
				return nil
			}
			return fmt.Errorf("accept: %w", err)
		}
		if c := s.admit(nc); c != nil {
			go c.run()
		} else {
			nc.Close()
		}
	}
}

// admit registers a connection, or returns nil if there is no place for it.
func (s *Server) admit(nc net.Conn) *Conn {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed || len(s.conns) >= s.config.MaxConnections {
		return nil
	}
	c := newConn(s, nc)
	s.conns[c] = struct{}{}
	s.running.Add(1)
	return c
}

func (s *Server) forget(c *Conn) {
	s.mu.Lock()
	delete(s.conns, c)
	s.mu.Unlock()
	s.running.Done()
}

// Conns returns the connections that are being served.
func (s *Server) Conns() []*Conn {
	s.mu.Lock()
	defer s.mu.Unlock()
	out := make([]*Conn, 0, len(s.conns))
	for c := range s.conns {
		out = append(out, c)
	}
	return out
}

// linger is how long a closing connection may take to tell the peer so.
const linger = time.Second

// Close stops accepting, tells every peer that its connection is forced to
// close, and returns when all goroutines of the server have ended.
func (s *Server) Close() error {
	s.mu.Lock()
	s.closed = true
	for l := range s.lines {
		l.Close()
	}
	s.mu.Unlock()
	for _, c := range s.Conns() {
		c.Close(Errorf(ConnectionForced, "the server is shutting down"))
	}
	s.running.Wait()
	return nil
}
