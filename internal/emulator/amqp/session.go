package amqp

// session is one session (2.5), guarded by its connection's mu. Its channel
// number is the peer's in both directions.
type session struct {
	conn    *Conn
	channel uint16
	links   map[uint32]*Link // by handle; the peer's in both directions
	serving int              // handlers that have not returned
	state   sessionState

	nextIncomingID uint32
	window         uint32 // transfers the peer may still send
	nextOutgoingID uint32
	peerWindow     uint32 // transfers the peer will still take
	nextDeliveryID uint32
}

type sessionState int

const (
	sessionOpen       sessionState = iota
	sessionEndedHere               // end was sent, the peer's is awaited
	sessionEndedThere              // end was received, handlers are awaited
)

// firstOutgoingID is the id of the first transfer frame in a session.
const firstOutgoingID = 1

func (c *Conn) onBegin(channel uint16, p begin) error {
	config := &c.server.config
	c.mu.Lock()
	defer c.mu.Unlock()
	if p.answers {
		return Errorf(NotAllowed, "begin names a remote channel, but no session was begun here")
	}
	if int(channel) >= config.MaxSessions {
		return Errorf(FramingError, "channel %d exceeds the maximum of %d", channel, config.MaxSessions-1)
	}
	if c.sessions[channel] != nil {
		return Errorf(NotAllowed, "channel %d is in use", channel)
	}
	s := &session{
		conn:           c,
		channel:        channel,
		links:          make(map[uint32]*Link),
		nextIncomingID: p.nextOutgoingID,
		window:         config.Window,
		nextOutgoingID: firstOutgoingID,
		peerWindow:     p.incomingWindow,
	}
	c.sessions[channel] = s
	answer := begin{
		remoteChannel:  channel,
		nextOutgoingID: s.nextOutgoingID,
		incomingWindow: s.window,
		outgoingWindow: 1<<32 - 1,
		handleMax:      uint32(config.MaxHandles - 1),
	}
	c.control(channel, answer.appendTo)
	return nil
}

// session finds the session of a frame. It is nil, without an error, if the
// session has ended and the frame crossed the news of it. The caller holds mu.
func (c *Conn) session(channel uint16) (*session, error) {
	s := c.sessions[channel]
	switch {
	case s == nil:
		return nil, Errorf(NotAllowed, "no session on channel %d", channel)
	case s.state != sessionOpen:
		return nil, nil
	}
	return s, nil
}

// link finds the link of a frame, and ends the session over a handle that is
// not attached.
func (s *session) link(handle uint32) *Link {
	l := s.links[handle]
	if l == nil {
		s.end(Errorf(UnattachedHandle, "handle %d is not attached", handle))
	}
	return l
}

func (c *Conn) onEnd(channel uint16) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	s := c.sessions[channel]
	if s == nil {
		return Errorf(NotAllowed, "no session on channel %d", channel)
	}
	if s.state == sessionEndedHere {
		s.forget()
		return nil
	}
	s.state = sessionEndedThere
	for _, l := range s.links {
		l.cancel()
	}
	s.answerEnd()
	return nil
}

// answerEnd answers the peer's end once no handler is left.
func (s *session) answerEnd() {
	if s.state != sessionEndedThere || s.serving > 0 {
		return
	}
	s.conn.control(s.channel, func(b []byte) []byte { return appendEnding(b, codeEnd, nil) })
	s.forget()
}

// forget makes the channel free for another session.
func (s *session) forget() {
	s.conn.links -= len(s.links)
	s.links = nil
	delete(s.conn.sessions, s.channel)
}

// end ends the session from this side.
func (s *session) end(reason *Error) {
	if s.state != sessionOpen {
		return
	}
	s.state = sessionEndedHere
	s.conn.control(s.channel, func(b []byte) []byte { return appendEnding(b, codeEnd, reason) })
	for _, l := range s.links {
		l.cancel()
	}
}

func (c *Conn) onFlow(channel uint16, p flow) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	s, err := c.session(channel)
	if s == nil {
		return err
	}
	// 2.5.6: a peer that has not seen begin yet counts from its first id.
	next := uint32(firstOutgoingID)
	if p.nextIncomingIDSet {
		next = p.nextIncomingID
	}
	before := s.peerWindow
	s.peerWindow = remaining(p.incomingWindow, s.nextOutgoingID-next)
	if s.peerWindow > before {
		for _, l := range s.links {
			if l.out != nil {
				l.out.resume()
			}
		}
	}
	if !p.handleSet {
		if p.echo {
			s.flow(nil)
		}
		return nil
	}
	l := s.link(p.handle)
	if l == nil || l.state >= linkDetaching {
		return nil
	}
	if l.out != nil {
		l.out.onFlow(p)
	}
	if p.echo && l.state == linkAttached {
		s.flow(l)
	}
	return nil
}

// remaining is what is left of a limit after what was sent since it was set. A
// negative amount, as of a peer that counts what was never sent, is nothing
// (serial numbers, RFC 1982).
func remaining(limit, since uint32) uint32 {
	switch {
	case int32(since) < 0:
		return limit
	case since >= limit:
		return 0
	}
	return limit - since
}

// flow sends the state of the session, and of a link unless it is nil.
func (s *session) flow(l *Link) {
	p := flow{
		nextIncomingID: s.nextIncomingID,
		incomingWindow: s.window,
		nextOutgoingID: s.nextOutgoingID,
		outgoingWindow: 1<<32 - 1,
	}
	if l != nil {
		p.handle, p.handleSet = l.attach.Handle, true
		if l.out != nil {
			p.deliveryCount, p.linkCredit, p.drain = l.out.deliveryCount, l.out.credit, l.out.drain
		} else {
			p.deliveryCount, p.linkCredit = l.in.deliveryCount, l.in.credit
		}
	}
	s.conn.control(s.channel, p.appendTo)
}

func (c *Conn) onTransfer(channel uint16, p transfer, payload []byte) error {
	c.mu.Lock()
	s, err := c.session(channel)
	if s == nil {
		c.mu.Unlock()
		return err
	}
	if s.window == 0 {
		s.end(Errorf(WindowViolation, "transfer exceeds the incoming window"))
		c.mu.Unlock()
		return nil
	}
	s.nextIncomingID++
	s.window--
	l := s.link(p.handle)
	if l != nil && l.in == nil {
		s.end(Errorf(NotAllowed, "transfer on handle %d, whose receiver is the peer", p.handle))
		l = nil
	}
	if l != nil && l.state == linkAttached {
		l.in.onTransfer(p, payload)
	}
	if window := c.server.config.Window; s.state == sessionOpen && s.window < window/2 {
		s.window = window
		s.flow(nil)
	}
	c.mu.Unlock()
	if l != nil {
		l.in.awaitRoom()
	}
	return nil
}
