package amqp

import (
	"context"
)

// Link is what outgoing and incoming links have in common. Its methods are safe
// for concurrent use.
type Link struct {
	session *session
	attach  *Attach
	ctx     context.Context
	cancel  context.CancelFunc
	state   linkState // guarded by the connection's mu

	// One of the two, the link itself.
	out *Outgoing
	in  *Incoming
}

type linkState int

const (
	linkPending   linkState = iota // the handler has not answered the attach
	linkAttached                   //
	linkDetaching                  // detach was sent, the peer's is awaited
	linkDetached                   // detach was received, the handler is awaited
	linkGone
)

// Answer is what an accepted attach tells the peer.
type Answer struct {
	MaxMessageSize      uint64 // bytes; 0 for no limit
	OfferedCapabilities []Symbol
	Properties          Map
}

// Attach returns the peer's attach. It must not be changed.
func (l *Link) Attach() *Attach { return l.attach }

// Conn returns the connection that carries the link.
func (l *Link) Conn() *Conn { return l.session.conn }

// Context ends when the link does, for whatever reason.
func (l *Link) Context() context.Context { return l.ctx }

// Refuse answers the attach with a refusal. It does nothing to a link that was
// answered before.
func (l *Link) Refuse(reason *Error) {
	l.session.conn.mu.Lock()
	defer l.session.conn.mu.Unlock()
	if l.state == linkPending && l.session.state == sessionOpen {
		l.refuse(reason)
	}
}

// Detach ends the link from this side, with a reason or nil. Nothing is
// transferred afterwards. On a link whose attach is unanswered it refuses.
func (l *Link) Detach(reason *Error) {
	l.session.conn.mu.Lock()
	defer l.session.conn.mu.Unlock()
	l.detach(reason)
}

// Suspend detaches the link without closing it, as if it were to be resumed.
// Nothing here resumes links; it shows how a peer takes it.
func (l *Link) Suspend(reason *Error) {
	l.session.conn.mu.Lock()
	defer l.session.conn.mu.Unlock()
	l.leave(reason, false)
}

// EndSession ends the session that carries the link, with a reason or nil.
func (l *Link) EndSession(reason *Error) {
	l.session.conn.mu.Lock()
	defer l.session.conn.mu.Unlock()
	l.session.end(reason)
}

func (l *Link) refuse(reason *Error) {
	l.session.conn.control(l.session.channel, func(b []byte) []byte {
		return l.attach.appendAnswer(b, Answer{}, true)
	})
	l.state = linkAttached
	l.detach(reason)
}

func (l *Link) detach(reason *Error) { l.leave(reason, true) }

func (l *Link) leave(reason *Error, closed bool) {
	switch {
	case l.session.state != sessionOpen:
	case l.state == linkPending:
		l.refuse(reason)
	case l.state == linkAttached:
		l.state = linkDetaching
		l.sendDetach(reason, closed)
		if l.in != nil { // undone: the peer gets no outcome for it
			l.in.queue, l.in.queued = nil, 0
		}
	}
	l.cancel()
}

func (l *Link) sendDetach(reason *Error, closed bool) {
	p := detach{handle: l.attach.Handle, closed: closed, err: reason}
	l.session.conn.control(l.session.channel, p.appendTo)
}

// accept answers the attach and reports whether the link is up.
func (l *Link) accept(answer Answer) error {
	if l.state != linkPending || l.session.state != sessionOpen || l.session.conn.dead {
		return ErrClosed
	}
	l.state = linkAttached
	l.session.conn.control(l.session.channel, func(b []byte) []byte {
		return l.attach.appendAnswer(b, answer, false)
	})
	return nil
}

func (c *Conn) onAttach(channel uint16, a *Attach) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	s, err := c.session(channel)
	if s == nil {
		return err
	}
	config := &c.server.config
	if a.Handle >= uint32(config.MaxHandles) {
		return Errorf(FramingError, "handle %d exceeds the maximum of %d", a.Handle, config.MaxHandles-1)
	}
	if c.links >= config.MaxLinks {
		return Errorf(ResourceLimitExceeded, "the connection has %d links already", c.links)
	}
	if s.links[a.Handle] != nil {
		s.end(Errorf(HandleInUse, "handle %d is in use", a.Handle))
		return nil
	}
	var l *Link
	serve := func() {}
	if a.PeerReceives {
		out := &Outgoing{wake: make(chan struct{}, 1)}
		l, out.out = &out.Link, out
		serve = func() { c.handler.ServeOutgoing(out) }
	} else {
		in := &Incoming{arrived: make(chan struct{}, 1), room: make(chan struct{}, 1), deliveryCount: a.InitialDeliveryCount}
		l, in.in = &in.Link, in
		serve = func() { c.handler.ServeIncoming(in) }
	}
	l.session, l.attach = s, a
	l.ctx, l.cancel = context.WithCancel(c.ctx)
	s.links[a.Handle] = l
	c.links++
	if a.transactional || a.dynamic {
		l.refuse(Errorf(NotImplemented, "transactions and dynamic nodes are not implemented"))
		return nil
	}
	s.serving++
	c.handlers.Add(1)
	go func() {
		defer c.handlers.Done()
		serve()
		l.served()
	}()
	return nil
}

// served does what had to wait until the link's handler returned.
func (l *Link) served() {
	c := l.session.conn
	c.mu.Lock()
	defer c.mu.Unlock()
	if l.state == linkDetached {
		l.sendDetach(nil, true)
		l.forget()
	} else {
		reason := (*Error)(nil)
		if l.state == linkPending {
			reason = Errorf(InternalError, "the attach was not answered")
		}
		l.detach(reason)
	}
	l.session.serving--
	l.session.answerEnd()
}

func (l *Link) forget() {
	l.state = linkGone
	if l.session.links[l.attach.Handle] == l {
		delete(l.session.links, l.attach.Handle)
		l.session.conn.links--
	}
}

func (c *Conn) onDetach(channel uint16, p detach) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	s, err := c.session(channel)
	if s == nil {
		return err
	}
	l := s.link(p.handle)
	if l == nil {
		return nil
	}
	switch l.state {
	case linkPending:
		// The refusal's two frames tell the peer, whose detach is then the
		// answer to ours.
		l.refuse(nil)
		l.forget()
	case linkAttached:
		l.state = linkDetached
	case linkDetaching:
		l.forget()
	}
	l.cancel()
	return nil
}

// Channel is the number of the session that carries the link.
func (l *Link) Channel() uint16 { return l.session.channel }
