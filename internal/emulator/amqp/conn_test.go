package amqp

import (
	"bytes"
	"errors"
	"net"
	"testing"
	"time"
)

// refuseAll is for tests in which no link comes up.
var refuseAll = handler{
	out: func(o *Outgoing) { o.Refuse(Errorf(NotFound, "no")) },
	in:  func(i *Incoming) { i.Refuse(Errorf(NotFound, "no")) },
}

func TestHandshakeRefusals(t *testing.T) {
	plain := DefaultConfig()
	plain.SASL = []Mechanism{Plain(func(user, password string) error {
		if user != "u" || password != "p" {
			return errors.New("wrong")
		}
		return nil
	})}
	init := func(mechanism Symbol, response string) func([]byte) []byte {
		return func(b []byte) []byte {
			w := openComposite(b, codeSASLInit)
			w.value(mechanism)
			w.value([]byte(response))
			return w.close()
		}
	}
	for _, test := range []struct {
		name   string
		config Config
		init   func([]byte) []byte
		want   uint8
	}{
		{"anonymous", DefaultConfig(), init("ANONYMOUS", "x"), saslOK},
		{"mechanism not offered", DefaultConfig(), init("PLAIN", "\x00u\x00p"), saslAuth},
		{"plain", plain, init("PLAIN", "\x00u\x00p"), saslOK},
		{"plain with a wrong password", plain, init("PLAIN", "\x00u\x00q"), saslAuth},
		{"plain without parts", plain, init("PLAIN", "u"), saslAuth},
	} {
		t.Run(test.name, func(t *testing.T) {
			_, address := startServer(t, test.config, refuseAll)
			p := dialRaw(t, address)
			p.sendBytes(saslHeader)
			p.header()
			p.expect(codeSASLMechanisms)
			p.send(frameSASL, 0, test.init)
			fields, _ := p.expect(codeSASLOutcome)
			if fields[0] != test.want {
				t.Errorf("outcome is %v, want %d", fields[0], test.want)
			}
			if test.want != saslOK {
				p.closed()
			}
		})
	}
}

func TestOtherProtocolsAreTurnedAway(t *testing.T) {
	_, address := startServer(t, DefaultConfig(), refuseAll)
	for _, header := range []string{"AMQP\x00\x01\x00\x00", "AMQP\x02\x01\x00\x00", "AMQP\x00\x00\x09\x01", "GET / HT"} {
		p := dialRaw(t, address)
		p.sendBytes([]byte(header))
		if got := p.header(); !bytes.Equal(got, saslHeader) {
			t.Errorf("%q was answered with % x, want % x", header, got, saslHeader)
		}
		p.closed()
	}
}

// What breaks the protocol of a connection closes it with the right condition.
func TestConnectionErrors(t *testing.T) {
	for _, test := range []struct {
		name string
		send func(*rawPeer)
		want Symbol
	}{
		{"frame beyond the maximum", func(p *rawPeer) { p.sendBytes([]byte{0, 1, 0, 1, 2, 0, 0, 0}) }, FramingError},
		{"frame shorter than its header", func(p *rawPeer) { p.sendBytes([]byte{0, 0, 0, 7, 2, 0, 0, 0}) }, FramingError},
		{"data offset outside", func(p *rawPeer) { p.sendBytes([]byte{0, 0, 0, 8, 3, 0, 0, 0}) }, FramingError},
		{"SASL frame", func(p *rawPeer) { p.send(frameSASL, 0, performatives["sasl-init"]) }, FramingError},
		{"second open", func(p *rawPeer) { p.say("open") }, NotAllowed},
		{"no described type", func(p *rawPeer) { p.send(frameAMQP, 0, func(b []byte) []byte { return append(b, codeNull) }) }, DecodeError},
		{"attach without session", func(p *rawPeer) { p.say("attach sender") }, NotAllowed},
		{"end without session", func(p *rawPeer) { p.say("end") }, NotAllowed},
		{"begin twice", func(p *rawPeer) { p.say("begin"); p.expect(codeBegin); p.say("begin") }, NotAllowed},
		{"channel beyond the maximum", func(p *rawPeer) { p.send(frameAMQP, 5000, performatives["begin"]) }, FramingError},
		{"begin as an answer", func(p *rawPeer) {
			p.send(frameAMQP, 0, (&begin{remoteChannel: 1}).appendTo)
		}, NotAllowed},
		{"handle beyond the maximum", func(p *rawPeer) {
			p.say("begin")
			p.expect(codeBegin)
			p.send(frameAMQP, 0, attach("s", 256, false))
		}, FramingError},
		{"attach of the wrong types", func(p *rawPeer) {
			p.say("begin")
			p.expect(codeBegin)
			p.send(frameAMQP, 0, func(b []byte) []byte { w := openComposite(b, codeAttach); w.uint(1); return w.close() })
		}, DecodeError},
	} {
		t.Run(test.name, func(t *testing.T) {
			_, address := startServer(t, DefaultConfig(), refuseAll)
			p := dialRaw(t, address)
			p.open()
			test.send(p)
			fields, _ := p.expect(codeClose)
			if got := condition(fields); got != test.want {
				t.Errorf("closed with %v, want %s", fields, test.want)
			}
			p.closed()
		})
	}
}

func TestHeartbeats(t *testing.T) {
	_, address := startServer(t, DefaultConfig(), refuseAll)
	p := dialRaw(t, address)
	p.sendBytes(saslHeader)
	p.header()
	p.expect(codeSASLMechanisms)
	p.send(frameSASL, 0, performatives["sasl-init"])
	p.expect(codeSASLOutcome)
	p.sendBytes(amqpHeader)
	p.header()
	p.send(frameAMQP, 0, (&Open{ContainerID: "raw", MaxFrameSize: 512, IdleTimeout: 40}).appendTo)
	p.expect(codeOpen)
	begin := time.Now()
	for range 3 {
		if code, fields, _ := p.next(); code != 0 {
			t.Fatalf("got performative %#02x %v, want an empty frame", code, fields)
		}
	}
	if took := time.Since(begin); took > 2*time.Second {
		t.Errorf("three keep-alives took %v at an idle timeout of 40ms", took)
	}
}

func TestHeartbeatInterval(t *testing.T) {
	for idle, want := range map[uint32]time.Duration{
		0: 25 * time.Second, 1: 10 * time.Millisecond, 30_000: 15 * time.Second, 60_000: 25 * time.Second, 4294967295: 25 * time.Second,
	} {
		if got := heartbeat(idle); got != want {
			t.Errorf("idle timeout %d ms: every %v, want %v", idle, got, want)
		}
	}
}

func TestSilentPeerIsDropped(t *testing.T) {
	t.Parallel()
	config := DefaultConfig()
	config.IdleTimeout = time.Second
	config.HandshakeTimeout = 500 * time.Millisecond
	s, address := startServer(t, config, refuseAll)
	mute := dialRaw(t, address)
	mute.closed()
	quiet := dialRaw(t, address)
	quiet.open()
	begin := time.Now()
	quiet.closed()
	if took := time.Since(begin); took < time.Second || took > 5*time.Second {
		t.Errorf("dropped after %v, want twice the idle timeout of 1s", took)
	}
	waitFor(t, "the connections are forgotten", func() bool { return len(s.Conns()) == 0 })
}

func waitFor(t *testing.T, what string, ok func() bool) {
	t.Helper()
	for end := time.Now().Add(5 * time.Second); !ok(); time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("not in time: %s", what)
		}
	}
}

// A peer that asks without reading the answers is dropped before they fill the
// memory.
func TestFloodIsDropped(t *testing.T) {
	t.Parallel()
	config := DefaultConfig()
	s, address := startServer(t, config, sink(nil))
	p := dialRaw(t, address)
	p.begin()
	p.say("attach sender")
	p.expect(codeAttach)
	p.expect(codeFlow)
	var ask []byte
	for range 1000 {
		at := len(ask)
		ask = closeFrame(flowWith(flow{nextIncomingID: 1, incomingWindow: 100, handleSet: true, echo: true})(openFrame(ask, frameAMQP, 0)), at)
	}
	for range 5000 {
		if _, err := p.nc.Write(ask); err != nil {
			break
		}
	}
	waitFor(t, "the connection is dropped", func() bool { return len(s.Conns()) == 0 })
}

func TestConnectionLimit(t *testing.T) {
	config := DefaultConfig()
	config.MaxConnections = 1
	s, address := startServer(t, config, refuseAll)
	first := dialRaw(t, address)
	first.open()
	dialRaw(t, address).closed()
	first.nc.Close()
	waitFor(t, "the first is forgotten", func() bool { return len(s.Conns()) == 0 })
	dialRaw(t, address).open()
}

// Handlers of a lost connection end, and with them everything they hold.
func TestLostConnectionEndsHandlers(t *testing.T) {
	for _, test := range []struct {
		name string
		lose func(*Server, *rawPeer)
	}{
		{"by the peer", func(_ *Server, p *rawPeer) { p.nc.Close() }},
		{"by close", func(s *Server, _ *rawPeer) { s.Conns()[0].Close(Errorf(ConnectionForced, "test")) }},
		{"by reset", func(s *Server, _ *rawPeer) { s.Conns()[0].Reset() }},
	} {
		t.Run(test.name, func(t *testing.T) {
			ended := make(chan struct{})
			s, address := startServer(t, DefaultConfig(), handler{out: func(o *Outgoing) {
				defer close(ended)
				_ = o.Accept(Answer{})
				<-o.Context().Done()
			}})
			p := dialRaw(t, address)
			p.begin()
			p.say("attach receiver")
			p.expect(codeAttach)
			test.lose(s, p)
			select {
			case <-ended:
			case <-time.After(5 * time.Second):
				t.Fatal("the handler goes on")
			}
		})
	}
}

func TestServerCloseTellsPeers(t *testing.T) {
	s, address := startServer(t, DefaultConfig(), refuseAll)
	p := dialRaw(t, address)
	p.open()
	done := make(chan struct{})
	go func() { s.Close(); close(done) }()
	if fields, _ := p.expect(codeClose); condition(fields) != ConnectionForced {
		t.Errorf("closed with %v", fields)
	}
	p.say("close")
	p.closed()
	select {
	case <-done:
	case <-time.After(5 * time.Second):
		t.Fatal("Close did not return")
	}
	if nc, err := net.Dial("tcp", address); err == nil {
		nc.Close()
		t.Error("the server still listens")
	}
}

func TestConfigValidate(t *testing.T) {
	for name, spoil := range map[string]func(*Config){
		"frame size":   func(c *Config) { c.MaxFrameSize = 100 },
		"message size": func(c *Config) { c.MaxMessageSize = 0 },
		"sessions":     func(c *Config) { c.MaxSessions = 1 << 17 },
		"window":       func(c *Config) { c.Window = 1 },
		"timeouts":     func(c *Config) { c.IdleTimeout = 0 },
		"mechanisms":   func(c *Config) { c.SASL = nil },
	} {
		config := DefaultConfig()
		spoil(&config)
		if _, err := NewServer(config, nil); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
}
