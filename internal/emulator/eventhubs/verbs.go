package eventhubs

import (
	"fmt"
	"strings"

	"warmpath/internal/emulator/amqp"
)

// What follows happens at once, to whoever is connected. It is the counterpart
// of control functions, which wait for an operation.

// Target says which links are meant; empty fields match all. Senders to a hub
// without a partition match only an empty Partition.
type Target struct {
	Hub, Group, Partition string
}

// ResetConnections drops all connections without a word.
func (s *Server) ResetConnections() {
	for _, c := range s.amqp.Conns() {
		c.Reset()
	}
}

// CloseConnections closes all connections for a reason, or nil.
func (s *Server) CloseConnections(reason *amqp.Error) {
	for _, c := range s.amqp.Conns() {
		c.Close(reason)
	}
}

// Connections returns how many clients are connected.
func (s *Server) Connections() int { return len(s.amqp.Conns()) }

// DetachLinks ends links for a reason, or nil.
func (s *Server) DetachLinks(t Target, reason *amqp.Error) {
	s.eachLink(t, func(l *amqp.Link) { l.Detach(reason) })
}

// SuspendLinks detaches links without closing them.
func (s *Server) SuspendLinks(t Target, reason *amqp.Error) {
	s.eachLink(t, func(l *amqp.Link) { l.Suspend(reason) })
}

// EndSessions ends the sessions that carry the links.
func (s *Server) EndSessions(t Target, reason *amqp.Error) {
	s.eachLink(t, func(l *amqp.Link) { l.EndSession(reason) })
}

func (s *Server) eachLink(t Target, do func(*amqp.Link)) {
	match := func(want, got string) bool { return want == "" || strings.EqualFold(want, got) }
	for _, h := range s.allHubs() {
		if !match(t.Hub, h.config.Name) {
			continue
		}
		for _, p := range h.all() {
			if !match(t.Partition, p.id) {
				continue
			}
			for _, r := range p.receivers.list() {
				if r.link != nil && match(t.Group, r.group) {
					do(&r.link.Link)
				}
			}
		}
		if t.Group != "" {
			continue
		}
		for _, link := range h.sending() {
			if match(t.Partition, parseAddress(link.Attach().TargetAddress).partition) {
				do(&link.Link)
			}
		}
	}
}

// Receivers returns the names of those who receive from a partition, over all
// consumer groups.
func (s *Server) Receivers(hub, partition string) ([]string, error) {
	p, err := s.partition(hub, partition)
	if err != nil {
		return nil, fmt.Errorf("receivers: %w", err)
	}
	names := []string{}
	for _, r := range p.receivers.list() {
		names = append(names, r.name)
	}
	return names, nil
}

// Squat puts a phantom receiver with an owner level on a partition. It steals
// the partition and holds it against lower levels until it is released, or
// stolen in turn.
func (s *Server) Squat(hub, group, partition string, ownerLevel int64) (release func(), err error) {
	part, refused := s.find(address{hub: hub, group: group, partition: partition})
	if refused != nil {
		return nil, fmt.Errorf("squat: %w", refused)
	}
	r := &receiver{name: "phantom", group: strings.ToLower(group), hasEpoch: true, epoch: ownerLevel}
	losers, refused := part.receivers.admit(r)
	if refused != nil {
		return nil, fmt.Errorf("squat on %v: %w", part, refused)
	}
	for _, loser := range losers {
		loser.detach(stolen(loser, r))
	}
	return func() { part.receivers.leave(r) }, nil
}

// Stall keeps back all events of a partition until the control is removed, while
// links stay up. An empty partition means all of the hub.
func (s *Server) Stall(hub, partition string) *Control {
	f := Fault{Hub: hub, Partition: partition}
	return s.Control(OpTransfer, func(call *Call) (Verdict, bool) {
		call.Keep()
		return Verdict{Action: Hold}, f.matches(call)
	})
}

// Rewind makes those who receive from a partition now get their last n events
// once more.
func (s *Server) Rewind(hub, partition string, n int) error {
	p, err := s.partition(hub, partition)
	if err != nil {
		return fmt.Errorf("rewind: %w", err)
	}
	for _, r := range p.receivers.list() {
		r.rewind.Add(int64(n))
		r.notify()
	}
	return nil
}

// SkipSequence leaves out n sequence numbers of a partition before its next
// event.
func (s *Server) SkipSequence(hub, partition string, n int) error {
	p, err := s.partition(hub, partition)
	if err != nil {
		return fmt.Errorf("skip: %w", err)
	}
	p.log.skip(int64(n))
	return nil
}
