package amqp

import (
	"encoding/binary"
)

// Outgoing is a link on which the peer receives.
type Outgoing struct {
	Link

	wake chan struct{}

	// Guarded by the connection's mu.
	deliveryCount uint32
	credit        uint32 // messages the peer will still take
	drain         bool   // the peer wants its credit used up or given back
	rest          []byte // what remains of a message whose frames met a full window
	restID        uint32
}

// Accept answers the attach: the link is up and messages can be offered as soon
// as the peer gives credit.
func (o *Outgoing) Accept(answer Answer) error {
	o.session.conn.mu.Lock()
	defer o.session.conn.mu.Unlock()
	return o.accept(answer)
}

// Wake signals that an Offer may get further than the last one, and after
// Notify. It holds at most one signal.
func (o *Outgoing) Wake() <-chan struct{} { return o.wake }

// Notify makes Wake signal.
func (o *Outgoing) Notify() {
	select {
	case o.wake <- struct{}{}:
	default:
	}
}

// Offer queues encoded messages for the peer, settled, as far as credit, the
// session's window and unsent output allow, and returns how many it took. It
// never blocks. A message that was taken is sent in full; it must not be changed
// until the link ends.
func (o *Outgoing) Offer(messages ...[]byte) (taken int) {
	c := o.session.conn
	c.mu.Lock()
	defer c.mu.Unlock()
	if o.state != linkAttached || o.session.state != sessionOpen || c.closing || c.dead {
		return 0
	}
	for len(o.rest) == 0 && taken < len(messages) && o.credit > 0 && o.mayTransfer() {
		o.send(messages[taken])
		taken++
	}
	if o.credit == 0 && o.drain && len(o.rest) == 0 {
		o.giveBack()
	}
	if taken > 0 {
		c.kick()
	}
	return taken
}

// Ready tells whether Offer would take a message now.
func (o *Outgoing) Ready() bool {
	c := o.session.conn
	c.mu.Lock()
	defer c.mu.Unlock()
	return o.state == linkAttached && o.session.state == sessionOpen && len(o.rest) == 0 && o.credit > 0 && o.mayTransfer()
}

// resume continues a message that was stopped, and wakes the handler: the window
// or the writer has room again. The caller holds mu.
func (o *Outgoing) resume() {
	if o.state != linkAttached || o.session.state != sessionOpen || o.session.conn.closing {
		return
	}
	for len(o.rest) > 0 && o.mayTransfer() {
		o.rest = o.transfer(o.restID, o.rest)
		o.session.conn.kick()
	}
	o.Notify()
}

// Drained says that there is nothing to offer now. If the peer asked for it, its
// credit is given back.
func (o *Outgoing) Drained() {
	o.session.conn.mu.Lock()
	defer o.session.conn.mu.Unlock()
	if o.drain && o.state == linkAttached && len(o.rest) == 0 {
		o.giveBack()
	}
}

func (o *Outgoing) giveBack() {
	o.deliveryCount += o.credit
	o.credit = 0
	o.session.flow(&o.Link)
	o.drain = false
}

func (o *Outgoing) onFlow(p flow) {
	count := uint32(0) // a peer that has not seen our attach counts from the start
	if p.deliveryCountSet {
		count = p.deliveryCount
	}
	if p.linkCreditSet {
		o.credit = remaining(p.linkCredit, o.deliveryCount-count)
	}
	o.drain = p.drain
	if o.drain && o.credit == 0 && len(o.rest) == 0 {
		o.giveBack()
	}
	o.Notify()
}

// mayTransfer tells whether one more frame can be made. If unsent output is in
// the way, the writer will wake this link.
func (o *Outgoing) mayTransfer() bool {
	c := o.session.conn
	if len(c.out) >= highWater {
		c.starved = append(c.starved, o)
		return false
	}
	return o.session.peerWindow > 0
}

// send makes the frames of one message, or as many as the window lets through.
func (o *Outgoing) send(message []byte) {
	id := o.session.nextDeliveryID
	o.session.nextDeliveryID++
	o.deliveryCount++
	o.credit--
	rest := o.transfer(id, message)
	for len(rest) > 0 && o.session.peerWindow > 0 {
		rest = o.transfer(id, rest)
	}
	o.rest, o.restID = rest, id
}

// transfer makes one transfer frame (2.7.5) of as much payload as fits, and
// returns what is left. It is the hot path: written out by hand.
func (o *Outgoing) transfer(id uint32, payload []byte) (rest []byte) {
	s := o.session
	c := s.conn
	at := len(c.out)
	b := append(openFrame(c.out, frameAMQP, s.channel),
		codeDescribed, codeSmallUlong, codeTransfer, codeList8, 0, 6)
	list := len(b)
	b = appendUint(b, o.attach.Handle)
	b = appendUint(b, id)
	b = append(b, codeBinary8, 4) // the tag is the delivery id again
	b = binary.BigEndian.AppendUint32(b, id)
	b = append(b, codeUint0, codeTrue, codeFalse) // format 0, settled, no more
	b[list-2] = byte(len(b) - list + 1)
	if room := c.maxFrame - (len(b) - at); len(payload) > room {
		b[len(b)-1] = codeTrue
		payload, rest = payload[:room], payload[room:]
	}
	c.out = closeFrame(append(b, payload...), at)
	s.nextOutgoingID++
	s.peerWindow--
	return rest
}
