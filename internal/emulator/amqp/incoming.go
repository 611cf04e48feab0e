package amqp

import (
	"bytes"
)

// backlog is how many bytes of deliveries one link may hold for its handler;
// beyond it the connection is not read until the handler catches up.
const backlog = 4 << 20

// Incoming is a link on which the peer sends.
type Incoming struct {
	Link

	arrived chan struct{}
	room    chan struct{}

	// Guarded by the connection's mu.
	limit         uint64 // bytes per message
	grant         uint32 // credit that is topped up
	credit        uint32 // messages the peer may still send
	used          uint32 // credit used and not yet given anew
	deliveryCount uint32
	partial       *Delivery
	queue         []*Delivery
	queued        int // bytes in queue
}

// Delivery is one message from the peer. Its owner is whoever received it.
type Delivery struct {
	Format  uint32 // the message format of the transfer
	Payload []byte // the encoded message
	Settled bool   // the peer does not want an outcome

	id       uint32
	link     *Incoming
	tooLarge bool
}

// Accept answers the attach and gives the peer credit, in messages, which is
// renewed as they are received. answer.MaxMessageSize is enforced; 0 means the
// server's maximum.
func (in *Incoming) Accept(answer Answer, credit uint32) error {
	c := in.session.conn
	if answer.MaxMessageSize == 0 {
		answer.MaxMessageSize = c.server.config.MaxMessageSize
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if err := in.accept(answer); err != nil {
		return err
	}
	in.limit, in.grant, in.credit = answer.MaxMessageSize, credit, credit
	in.session.flow(&in.Link)
	return nil
}

// Receive waits for a message. It returns ErrClosed once the link has ended and
// what had arrived before is received: a peer may send settled messages and
// leave.
func (in *Incoming) Receive() (*Delivery, error) {
	for {
		if d := in.pop(); d != nil {
			return d, nil
		}
		select {
		case <-in.arrived:
		case <-in.ctx.Done():
			if d := in.pop(); d != nil {
				return d, nil
			}
			return nil, ErrClosed
		}
	}
}

func (in *Incoming) pop() *Delivery {
	in.session.conn.mu.Lock()
	defer in.session.conn.mu.Unlock()
	if len(in.queue) == 0 {
		return nil
	}
	d := in.queue[0]
	in.queue[0] = nil
	in.queue = in.queue[1:]
	in.queued -= len(d.Payload)
	signal(in.room)
	if in.used++; in.used > in.grant/2 {
		in.credit += in.used
		in.used = 0
		if in.state == linkAttached && in.session.state == sessionOpen {
			in.session.flow(&in.Link)
		}
	}
	return d
}

func signal(c chan struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}

// onTransfer takes one frame, with mu held.
func (in *Incoming) onTransfer(p transfer, payload []byte) {
	if in.partial == nil {
		if !p.deliveryIDSet {
			in.detach(Errorf(NotAllowed, "first transfer of a delivery has no delivery id"))
			return
		}
		if in.credit == 0 {
			in.detach(Errorf(TransferLimitExceeded, "delivery %d exceeds the link's credit", p.deliveryID))
			return
		}
		in.credit--
		in.deliveryCount++
		in.partial = &Delivery{Format: p.format, id: p.deliveryID, link: in}
	}
	d := in.partial
	d.Settled = d.Settled || p.settled
	if p.aborted {
		in.partial = nil
		in.used++
		return
	}
	switch {
	case d.tooLarge:
	case uint64(len(d.Payload)+len(payload)) > in.limit:
		d.tooLarge, d.Payload = true, nil
	case d.Payload == nil && !p.more:
		d.Payload = bytes.Clone(payload)
	default:
		d.Payload = append(d.Payload, payload...)
	}
	if p.more {
		return
	}
	in.partial = nil
	if d.tooLarge {
		in.used++
		d.settleLocked(codeRejected, Errorf(MessageSizeExceeded, "the message is larger than the maximum of %d bytes", in.limit))
		return
	}
	in.queue = append(in.queue, d)
	in.queued += len(d.Payload)
	signal(in.arrived)
}

// awaitRoom holds the reader back while the handler is behind.
func (in *Incoming) awaitRoom() {
	for in.full() {
		select {
		case <-in.room:
		case <-in.ctx.Done():
			return
		}
	}
}

func (in *Incoming) full() bool {
	in.session.conn.mu.Lock()
	defer in.session.conn.mu.Unlock()
	return in.queued > backlog
}

// Link returns the link that the message came by.
func (d *Delivery) Link() *Incoming { return d.link }

// Accept settles the delivery as accepted (3.4.2). Like the other outcomes it
// does nothing for a delivery that the peer settled, or once the link has ended.
func (d *Delivery) Accept() { d.settle(codeAccepted, nil) }

// Reject settles the delivery as rejected for a reason (3.4.3).
func (d *Delivery) Reject(reason *Error) { d.settle(codeRejected, reason) }

// Release settles the delivery as not and not to be acted on (3.4.4).
func (d *Delivery) Release() { d.settle(codeReleased, nil) }

func (d *Delivery) settle(state byte, reason *Error) {
	d.link.session.conn.mu.Lock()
	defer d.link.session.conn.mu.Unlock()
	d.settleLocked(state, reason)
}

func (d *Delivery) settleLocked(state byte, reason *Error) {
	s := d.link.session
	if d.Settled || d.link.state != linkAttached || s.state != sessionOpen {
		return
	}
	d.Settled = true
	s.conn.control(s.channel, func(b []byte) []byte { return appendDisposition(b, d.id, state, reason) })
}
