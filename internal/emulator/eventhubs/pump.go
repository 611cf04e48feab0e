package eventhubs

import (
	"sync/atomic"

	"warmpath/internal/emulator/amqp"
)

// readAhead is how many events are offered to a link at a time. It bounds how
// long one link keeps its connection's others waiting.
const readAhead = 128

// pump feeds one receiver from its partition's log.
type pump struct {
	server *Server
	part   *partition
	r      *receiver
	next   int64 // sequence number
	// pending is what a control function decided to send for the event before
	// next.
	pending [][]byte
}

// run offers events until the link ends.
func (p *pump) run() {
	link := p.r.link
	buffer := make([][]byte, 0, readAhead)
	for {
		p.next -= p.r.rewind.Swap(0)
		first, events := p.part.log.read(p.next, buffer)
		p.next = first
		progress := false
		switch {
		case len(events) == 0 && len(p.pending) == 0:
			link.Drained()
		case p.server.controls.any() || len(p.pending) > 0:
			progress = p.controlled(events)
		default:
			taken := link.Offer(events...)
			p.next += int64(taken)
			progress = taken == len(events)
		}
		if progress {
			continue
		}
		select {
		case <-link.Wake():
		case <-link.Context().Done():
			return
		}
	}
}

// controlled sends at most one event as control functions want it, and reports
// whether there may be more to do at once.
func (p *pump) controlled(events [][]byte) bool {
	link := p.r.link
	if len(p.pending) > 0 {
		p.pending = p.pending[link.Offer(p.pending...):]
		return len(p.pending) == 0
	}
	if len(events) == 0 || !link.Ready() {
		return false
	}
	event := events[0]
	call := p.r.call(OpTransfer, p.part)
	call.Sequence, call.Event = p.next, event
	v, ok := p.server.controls.await(link.Context(), call)
	if !ok || sever(v, link.Conn(), &link.Link) {
		return false
	}
	switch v.Action {
	case Hold:
		return false
	case Drop:
	case Repeat:
		p.pending = [][]byte{event, event}
	case Replace:
		p.pending = [][]byte{v.Event}
	default:
		p.pending = [][]byte{event}
	}
	p.next++
	return true
}

// receiver is one receiving link of a partition.
type receiver struct {
	link     *amqp.Outgoing // nil for a phantom
	name     string
	group    string // lower case
	hasEpoch bool
	epoch    int64
	rewind   atomic.Int64 // how many events to go back
}

// call describes the receiver to control functions.
func (r *receiver) call(op Op, p *partition) *Call {
	call := &Call{Op: op, Hub: p.hub.config.Name, Group: r.group, Partition: p.id, Receiver: r.name}
	if r.link != nil {
		call.Remote = r.link.Conn().RemoteAddr().String()
	}
	if r.hasEpoch {
		call.OwnerLevel = &r.epoch
	}
	return call
}

func (r *receiver) notify() {
	if r.link != nil {
		r.link.Notify()
	}
}

func (r *receiver) detach(reason *amqp.Error) {
	if r.link != nil {
		r.link.Detach(reason)
	}
}
