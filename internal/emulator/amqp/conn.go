package amqp

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"sync"
	"time"
)

// Conn is one connection. Its exported methods are safe for concurrent use.
//
// Three kinds of goroutines work on it: the reader (run), which owns the
// protocol's state machine; the writer, which owns the sending side of the
// socket; and one per link for its handler. They share state under mu. No
// handler is ever called, and nothing ever blocks, with mu held.
type Conn struct {
	server  *Server
	nc      net.Conn
	reader  *bufio.Reader
	handler Handler

	// Set before the first handler runs, constant thereafter.
	user     string
	peer     Open
	maxFrame int           // of frames sent
	beat     time.Duration // something is sent at least this often

	ctx      context.Context // ends with the connection
	cancel   context.CancelFunc
	handlers sync.WaitGroup
	wake     chan struct{} // tells the writer to look at out and closing

	mu       sync.Mutex // covers what follows, and all sessions and links
	out      []byte     // whole frames that wait for the writer
	starved  []*Outgoing
	closing  bool // a close frame is in out, nothing may follow it
	dead     bool // nothing is sent any more
	sessions map[uint16]*session
	links    int // in all sessions
}

func newConn(s *Server, nc net.Conn) *Conn {
	c := &Conn{
		server:   s,
		nc:       nc,
		reader:   bufio.NewReaderSize(nc, int(s.config.MaxFrameSize)),
		wake:     make(chan struct{}, 1),
		sessions: make(map[uint16]*session),
	}
	c.ctx, c.cancel = context.WithCancel(context.Background())
	return c
}

// Peer returns what the peer said in its open frame.
func (c *Conn) Peer() Open { return c.peer }

// User returns who the peer has authenticated as, or "" for nobody known.
func (c *Conn) User() string { return c.user }

// RemoteAddr is the peer's network address.
func (c *Conn) RemoteAddr() net.Addr { return c.nc.RemoteAddr() }

// Context ends with the connection.
func (c *Conn) Context() context.Context { return c.ctx }

// Close tells the peer that the connection ends, with a reason or nil, and ends
// it. It does not wait.
func (c *Conn) Close(reason *Error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.closeLocked(reason)
	// The peer's own close is awaited, but not for long.
	_ = c.nc.SetReadDeadline(time.Now().Add(linger))
}

func (c *Conn) closeLocked(reason *Error) {
	if c.closing || c.dead {
		return
	}
	c.control(0, func(b []byte) []byte { return appendEnding(b, codeClose, reason) })
	c.closing = true
	c.cancel()
}

// Reset drops the connection without a word; a TCP peer sees a reset.
func (c *Conn) Reset() {
	nc := c.nc
	if wrapped, ok := nc.(interface{ NetConn() net.Conn }); ok { // TLS
		nc = wrapped.NetConn()
	}
	if tcp, ok := nc.(*net.TCPConn); ok {
		_ = tcp.SetLinger(0)
	}
	nc.Close()
}

// run serves the connection from its first byte to the end of its last
// goroutine.
func (c *Conn) run() {
	defer c.server.forget(c)
	log := c.server.config.Logger.With("peer", c.nc.RemoteAddr().String())
	if err := c.handshake(); err != nil {
		log.Debug("amqp connection refused", "err", err)
		c.cancel()
		c.nc.Close()
		return
	}
	c.handler = c.server.newHandler(c)
	written := make(chan struct{})
	go func() {
		defer close(written)
		c.write()
	}()

	err := c.readFrames()
	c.mu.Lock()
	if err != nil && !c.closing {
		log.Debug("amqp connection broken", "err", err)
		if !lost(err) {
			c.closeLocked(asError(err))
		}
	}
	c.dead = true // handlers may still try to send
	flush := c.closing
	c.cancel()
	c.kick()
	c.mu.Unlock()
	if !flush {
		c.nc.Close() // unblocks a write
	}
	<-written
	c.nc.Close()
	c.handlers.Wait()
}

// lost tells whether the connection itself failed, so that no close frame would
// reach the peer.
func lost(err error) bool {
	var netErr net.Error
	return errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, net.ErrClosed) || errors.As(err, &netErr)
}

// handshake negotiates headers, SASL and open. Until it has ended nobody else
// writes.
func (c *Conn) handshake() error {
	config := &c.server.config
	if accept := config.Hooks.Accept; accept != nil {
		if err := accept(c); err != nil {
			return err
		}
	}
	_ = c.nc.SetDeadline(time.Now().Add(config.HandshakeTimeout))
	if err := c.expectHeader(saslHeader); err != nil {
		return err
	}
	if err := c.authenticate(); err != nil {
		return err
	}
	if err := c.expectHeader(amqpHeader); err != nil {
		return err
	}
	if err := c.writeNow(amqpHeader); err != nil {
		return err
	}
	f, err := c.readFrame()
	if err != nil {
		return err
	}
	fields, err := openFields(f.body, codeOpen)
	if err != nil || fields == nil {
		return fmt.Errorf("open: %w", err)
	}
	if c.peer, err = decodeOpen(fields); err != nil {
		return fmt.Errorf("open: %w", err)
	}
	c.skipFrame(f)
	if c.peer.MaxFrameSize < 512 {
		return fmt.Errorf("open: maximum frame size of %d bytes is below 512", c.peer.MaxFrameSize)
	}
	c.maxFrame = int(min(c.peer.MaxFrameSize, config.MaxFrameSize))
	c.beat = heartbeat(c.peer.IdleTimeout)
	answer := Open{
		ContainerID:  config.ContainerID,
		MaxFrameSize: config.MaxFrameSize,
		ChannelMax:   uint16(config.MaxSessions - 1),
		IdleTimeout:  uint32(config.IdleTimeout.Milliseconds()),
	}
	var refused *Error
	if open := config.Hooks.Open; open != nil {
		refused = open(c)
	}
	frames := closeFrame(answer.appendTo(openFrame(nil, frameAMQP, 0)), 0)
	if refused != nil {
		at := len(frames)
		frames = closeFrame(appendEnding(openFrame(frames, frameAMQP, 0), codeClose, refused), at)
	}
	if err := c.writeNow(frames); err != nil {
		return err
	}
	if refused != nil {
		_, _ = c.readFrame() // the peer's close, or nothing
		return refused
	}
	return c.nc.SetDeadline(time.Time{})
}

// heartbeat is how often something must be sent to a peer with the given idle
// timeout. Clients exist that drop a silent connection after a minute whatever
// they announced.
func heartbeat(peerIdle uint32) time.Duration {
	const most, least = 25 * time.Second, 10 * time.Millisecond
	if peerIdle == 0 {
		return most
	}
	return max(least, min(most, time.Duration(peerIdle)*time.Millisecond/2))
}

// expectHeader reads a protocol header. Any other is answered with the one that
// is expected, as 2.2 wants.
func (c *Conn) expectHeader(want []byte) error {
	got := make([]byte, len(want))
	if _, err := io.ReadFull(c.reader, got); err != nil {
		return err
	}
	if !bytes.Equal(got, want) {
		_ = c.writeNow(want)
		return fmt.Errorf("%w: got % x, want % x", errHeader, got, want)
	}
	return nil
}

func (c *Conn) writeNow(b []byte) error {
	_, err := c.nc.Write(b)
	return err
}

// readFrame waits for a whole frame. It stays in the read buffer until
// skipFrame.
func (c *Conn) readFrame() (frame, error) {
	head, err := c.reader.Peek(frameHeader)
	if err != nil {
		return frame{}, err
	}
	f, err := parseFrame(head, c.server.config.MaxFrameSize)
	if !errors.Is(err, io.ErrShortBuffer) {
		return f, err
	}
	whole, err := c.reader.Peek(f.size)
	if err != nil {
		return frame{}, err
	}
	return parseFrame(whole, c.server.config.MaxFrameSize)
}

func (c *Conn) skipFrame(f frame) { _, _ = c.reader.Discard(f.size) }

// readFrames handles frames until the peer closes, which gives nil, or
// something fails.
func (c *Conn) readFrames() error {
	for {
		if c.reader.Buffered() < frameHeader {
			c.extendReadDeadline()
		}
		f, err := c.readFrame()
		if err != nil {
			return err
		}
		if f.kind != frameAMQP {
			return Errorf(FramingError, "frame type %d is unknown", f.kind)
		}
		if len(f.body) > 0 { // an empty frame only says that the peer is alive
			closed, err := c.handle(f)
			if closed || err != nil {
				return err
			}
		}
		c.skipFrame(f)
	}
}

// extendReadDeadline gives the peer twice the announced idle timeout, unless
// the connection is closing and has a deadline of its own.
func (c *Conn) extendReadDeadline() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.closing {
		_ = c.nc.SetReadDeadline(time.Now().Add(2 * c.server.config.IdleTimeout))
	}
}

// handle decodes one performative and carries it out.
func (c *Conn) handle(f frame) (closed bool, err error) {
	d := decoder{f.body}
	code, err := d.descriptor()
	if err != nil {
		return false, err
	}
	fields, err := d.list()
	if err != nil {
		return false, fmt.Errorf("performative %#02x: %w", code, err)
	}
	switch code {
	case codeBegin:
		err = decoded(fields, decodeBegin, func(p begin) error { return c.onBegin(f.channel, p) })
	case codeAttach:
		err = decoded(fields, decodeAttach, func(p *Attach) error { return c.onAttach(f.channel, p) })
	case codeFlow:
		err = decoded(fields, decodeFlow, func(p flow) error { return c.onFlow(f.channel, p) })
	case codeTransfer:
		err = decoded(fields, decodeTransfer, func(p transfer) error { return c.onTransfer(f.channel, p, d.b) })
	case codeDisposition:
		// Everything is sent settled, so the peer has nothing to say about it.
	case codeDetach:
		err = decoded(fields, decodeDetach, func(p detach) error { return c.onDetach(f.channel, p) })
	case codeEnd:
		err = decoded(fields, decodeEnding, func(*Error) error { return c.onEnd(f.channel) })
	case codeClose:
		c.mu.Lock()
		defer c.mu.Unlock()
		c.closeLocked(nil)
		return true, nil
	default:
		err = Errorf(NotAllowed, "performative %#02x is not allowed here", code)
	}
	return false, err
}

func decoded[P any](f *fields, decode func(*fields) (P, error), carryOut func(P) error) error {
	p, err := decode(f)
	if err != nil {
		return err
	}
	return carryOut(p)
}
