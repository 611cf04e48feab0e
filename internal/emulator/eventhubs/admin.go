package eventhubs

import (
	"fmt"
	"strings"
	"time"
)

// CreateHub adds a hub to a running server.
func (s *Server) CreateHub(c HubConfig) error {
	if err := c.validate(); err != nil {
		return fmt.Errorf("create hub: %w", err)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	name := strings.ToLower(c.Name)
	if s.hubs[name] != nil {
		return fmt.Errorf("create hub: hub %q exists already", c.Name)
	}
	s.hubs[name] = newHub(c, s.now)
	return nil
}

// DeleteHub removes a hub with its events and detaches everybody from it.
func (s *Server) DeleteHub(name string) error {
	h, err := s.replace(name, func(*hub) *hub { return nil })
	if err != nil {
		return fmt.Errorf("delete hub: %w", err)
	}
	h.evict(notFound(h.config.Name))
	return nil
}

// RecreateHub deletes a hub and creates it again, empty: sequence numbers and
// offsets begin anew.
func (s *Server) RecreateHub(name string) error {
	h, err := s.replace(name, func(old *hub) *hub {
		c := old.config
		c.Partitions = len(old.all())
		return newHub(c, s.now)
	})
	if err != nil {
		return fmt.Errorf("recreate hub: %w", err)
	}
	h.evict(notFound(h.config.Name))
	return nil
}

// replace puts another hub in the place of one, which it returns.
func (s *Server) replace(name string, by func(*hub) *hub) (*hub, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	old := s.hubs[strings.ToLower(name)]
	if old == nil {
		return nil, fmt.Errorf("hub %q does not exist", name)
	}
	if h := by(old); h != nil {
		s.hubs[strings.ToLower(name)] = h
	} else {
		delete(s.hubs, strings.ToLower(name))
	}
	return old, nil
}

// GrowHub raises the number of partitions to n. It does nothing to a hub that
// has as many.
func (s *Server) GrowHub(name string, n int) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	h := s.hubs[strings.ToLower(name)]
	if h == nil {
		return fmt.Errorf("grow hub: hub %q does not exist", name)
	}
	if n > maxPartitions {
		return fmt.Errorf("grow hub %q: %d partitions are more than %d", name, n, maxPartitions)
	}
	h.grow(n)
	return nil
}

// Trim drops the events of a partition before a sequence number, as retention
// does with old ones.
func (s *Server) Trim(hub, partition string, before int64) error {
	p, err := s.partition(hub, partition)
	if err != nil {
		return fmt.Errorf("trim: %w", err)
	}
	p.log.trim(before)
	return nil
}

// SetKeys replaces the keys that signatures are checked against, all of one
// name, as when a rule's keys are regenerated. Links that are up stay up.
func (s *Server) SetKeys(name string, keys ...string) {
	replaced := make([]accessKey, len(keys))
	for i, k := range keys {
		replaced[i] = accessKey{name, k}
	}
	s.gate.mu.Lock()
	defer s.gate.mu.Unlock()
	s.gate.keys = replaced
}

// SkewClock sets the clock of new events ahead, or behind if d is negative,
// compared to the server's clock.
func (s *Server) SkewClock(d time.Duration) { s.skew.Store(int64(d)) }
