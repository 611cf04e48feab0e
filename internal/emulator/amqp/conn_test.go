package amqp

import (
	"bytes"
	"errors"
	"net"
	"sync/atomic"
	"testing"
	"time"
)

// refuseAll is for tests in which no link comes up.
var refuseAll = handler{
	out: func(o *Outgoing) { o.Refuse(Errorf(NotFound, "no")) },
	in:  func(i *Incoming) { i.Refuse(Errorf(NotFound, "no")) },
}

// sink accepts and settles what comes.
func sink(got chan<- *Delivery) handler {
	return handler{in: func(i *Incoming) {
		if i.Accept(Answer{MaxMessageSize: 1000}, 4) != nil {
			return
		}
		for {
			d, err := i.Receive()
			if err != nil {
				return
			}
			d.Accept()
			got <- d
		}
	}}
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

// What breaks the protocol of a session ends it and nothing else.
func TestSessionErrors(t *testing.T) {
	for _, test := range []struct {
		name string
		send func(*rawPeer)
		want Symbol
	}{
		{"transfer on no handle", func(p *rawPeer) { p.say("transfer") }, UnattachedHandle},
		{"flow on no handle", func(p *rawPeer) { p.say("flow") }, UnattachedHandle},
		{"detach of no handle", func(p *rawPeer) { p.say("detach") }, UnattachedHandle},
		{"handle in use", func(p *rawPeer) {
			p.say("attach sender")
			p.expect(codeAttach)
			p.expect(codeFlow)
			p.say("attach sender")
		}, HandleInUse},
	} {
		t.Run(test.name, func(t *testing.T) {
			_, address := startServer(t, DefaultConfig(), sink(make(chan *Delivery, 1)))
			p := dialRaw(t, address)
			p.begin()
			test.send(p)
			fields, _ := p.expect(codeEnd)
			if got := condition(fields); got != test.want {
				t.Errorf("ended with %v, want %s", fields, test.want)
			}
			p.say("flow", "end", "begin") // a frame that crossed, the answer, a new session
			p.expect(codeBegin)
		})
	}
}

// What breaks the protocol of a link detaches it and nothing else.
func TestLinkErrors(t *testing.T) {
	for _, test := range []struct {
		name string
		send func(*rawPeer)
		want Symbol
	}{
		{"no delivery id", func(p *rawPeer) {
			p.send(frameAMQP, 0, func(b []byte) []byte { w := openComposite(b, codeTransfer); w.uint(0); return w.close() })
		}, NotAllowed},
		{"more than the credit", func(p *rawPeer) {
			// Credit is renewed as messages are received, so they must not
			// be: unfinished deliveries one after the other are aborted.
			for id := range uint32(5) {
				p.send(frameAMQP, 0, func(b []byte) []byte {
					w := openComposite(b, codeTransfer)
					w.uint(0)
					w.uint(id)
					for range 7 {
						w.null()
					}
					w.bool(true) // aborted
					return w.close()
				})
			}
		}, TransferLimitExceeded},
	} {
		t.Run(test.name, func(t *testing.T) {
			_, address := startServer(t, DefaultConfig(), sink(make(chan *Delivery, 10)))
			p := dialRaw(t, address)
			p.begin()
			p.say("attach sender")
			p.expect(codeAttach)
			p.expect(codeFlow)
			test.send(p)
			fields, _ := p.expect(codeDetach)
			if got := condition(fields); got != test.want {
				t.Errorf("detached with %v, want %s", fields, test.want)
			}
			p.say("transfer", "detach", "attach sender") // one that crossed, the answer, a new link
			p.expect(codeAttach)
		})
	}
}

func TestRefusal(t *testing.T) {
	_, address := startServer(t, DefaultConfig(), refuseAll)
	p := dialRaw(t, address)
	p.begin()
	for _, name := range []string{"attach sender", "attach receiver"} {
		p.say(name)
		fields, _ := p.expect(codeAttach)
		if len(fields) > 5 && (fields[5] != nil || fields[6] != nil) {
			t.Errorf("%s: a refusal has a source or target: %v", name, fields)
		}
		fields, _ = p.expect(codeDetach)
		if condition(fields) != NotFound || fields[1] != true {
			t.Errorf("%s: detached with %v", name, fields)
		}
		p.say("detach")
	}
}

func TestTransactionsAreNotImplemented(t *testing.T) {
	_, address := startServer(t, DefaultConfig(), sink(nil))
	p := dialRaw(t, address)
	p.begin()
	p.send(frameAMQP, 0, func(b []byte) []byte {
		w := openComposite(b, codeAttach)
		w.string("tx")
		w.uint(0)
		w.bool(false)
		w.null()
		w.null()
		w.null()
		w.raw([]byte{codeDescribed, codeSmallUlong, codeCoordinator, codeList0})
		return w.close()
	})
	p.expect(codeAttach)
	if fields, _ := p.expect(codeDetach); condition(fields) != NotImplemented {
		t.Errorf("detached with %v", fields)
	}
}

func TestDeliveriesAreJoinedAndSettled(t *testing.T) {
	got := make(chan *Delivery, 10)
	_, address := startServer(t, DefaultConfig(), sink(got))
	p := dialRaw(t, address)
	p.begin()
	p.say("attach sender")
	p.expect(codeAttach)
	fields, _ := p.expect(codeFlow)
	if fields[6] != uint32(4) {
		t.Errorf("credit is %v, want 4", fields[6])
	}
	part := func(more bool, id any, payload string) {
		p.send(frameAMQP, 0, func(b []byte) []byte {
			w := openComposite(b, codeTransfer)
			w.uint(0)
			w.value(id)
			w.null()
			w.uint(0x80013700)
			w.null()
			w.bool(more)
			return append(w.close(), payload...)
		})
	}
	part(true, uint32(7), "one ")
	part(true, nil, "two ")
	part(false, nil, "three")
	d := <-got
	if string(d.Payload) != "one two three" || d.Format != 0x80013700 {
		t.Errorf("got %q in format %#x", d.Payload, d.Format)
	}
	fields, _ = p.expect(codeDisposition)
	if fields[0] != true || fields[1] != uint32(7) || fields[3] != true || fields[4].(Described).Descriptor != uint64(codeAccepted) {
		t.Errorf("disposition is %v", fields)
	}
	// The third message received renews the credit.
	part(false, uint32(8), "x")
	p.expect(codeDisposition)
	part(false, uint32(9), "x")
	fields, _ = p.expect(codeFlow)
	if fields[5] != uint32(3) || fields[6] != uint32(4) {
		t.Errorf("flow has delivery count %v and credit %v, want 3 and 4", fields[5], fields[6])
	}
}

func TestLargeMessageIsRejected(t *testing.T) {
	got := make(chan *Delivery, 10)
	_, address := startServer(t, DefaultConfig(), sink(got))
	p := dialRaw(t, address)
	p.begin()
	p.say("attach sender")
	p.expect(codeAttach)
	p.expect(codeFlow)
	p.send(frameAMQP, 0, transferWith(0, 1, bytes.Repeat([]byte("x"), 1001)))
	fields, _ := p.expect(codeDisposition)
	state := fields[4].(Described)
	if state.Descriptor != uint64(codeRejected) || condition(state.Value.(List)) != MessageSizeExceeded {
		t.Errorf("disposition is %v", fields)
	}
	p.send(frameAMQP, 0, transferWith(0, 2, bytes.Repeat([]byte("x"), 1000)))
	if fields, _ := p.expect(codeDisposition); fields[4].(Described).Descriptor != uint64(codeAccepted) {
		t.Errorf("disposition is %v", fields)
	}
}

// The session's window is renewed before it is used up, and not exceeded.
func TestIncomingWindow(t *testing.T) {
	config := DefaultConfig()
	config.Window = 10
	_, address := startServer(t, config, sink(make(chan *Delivery, 100)))
	p := dialRaw(t, address)
	p.begin()
	p.say("attach sender")
	p.expect(codeAttach)
	p.expect(codeFlow)
	window := 10
	for id := uint32(0); id < 50; id++ {
		p.send(frameAMQP, 0, transferWith(0, id, nil))
		window--
		for settled := false; !settled; {
			code, fields, _ := p.next()
			switch code {
			case codeDisposition:
				settled = true
			case codeFlow:
				window = int(fields[0].(uint32)) + int(fields[1].(uint32)) - int(id) - 1
			default:
				t.Fatalf("got performative %#02x %v", code, fields)
			}
		}
		if window <= 0 {
			t.Fatalf("the window is shut after %d transfers", id+1)
		}
	}
}

// A peer is not read while a handler is behind by more than a few megabytes.
func TestBacklogHoldsReaderBack(t *testing.T) {
	release := make(chan struct{})
	_, address := startServer(t, DefaultConfig(), handler{in: func(i *Incoming) {
		if i.Accept(Answer{}, 1000) != nil {
			return
		}
		select {
		case <-release:
		case <-i.Context().Done():
		}
		for {
			d, err := i.Receive()
			if err != nil {
				return
			}
			d.Accept()
		}
	}})
	p := dialRaw(t, address)
	p.begin()
	p.say("attach sender")
	p.expect(codeAttach)
	p.expect(codeFlow)
	const messages, size = 800, 60_000 // 48 MB, within credit and window
	var out []byte
	for id := range uint32(messages) {
		at := len(out)
		out = closeFrame(transferWith(0, id, make([]byte, size))(openFrame(out, frameAMQP, 0)), at)
	}
	_ = p.nc.SetWriteDeadline(time.Now().Add(300 * time.Millisecond))
	sent, err := p.nc.Write(out)
	if err == nil || sent > 40<<20 {
		t.Fatalf("%d bytes were taken for a handler that takes none, error %v", sent, err)
	}
	close(release)
	_ = p.nc.SetWriteDeadline(time.Now().Add(10 * time.Second))
	go func() { _, _ = p.nc.Write(out[sent:]) }()
	for settled := 0; settled < messages; {
		if code, _, _ := p.next(); code == codeDisposition {
			settled++
		}
	}
}

// Settled messages that were sent just before a detach count.
func TestMessagesBeforeDetachAreReceived(t *testing.T) {
	got := make(chan *Delivery, 10)
	release := make(chan struct{})
	_, address := startServer(t, DefaultConfig(), handler{in: func(i *Incoming) {
		if i.Accept(Answer{}, 10) != nil {
			return
		}
		<-release
		for {
			d, err := i.Receive()
			if err != nil {
				return
			}
			got <- d
		}
	}})
	p := dialRaw(t, address)
	p.begin()
	p.say("attach sender")
	p.expect(codeAttach)
	p.expect(codeFlow)
	p.say("transfer", "detach")
	close(release)
	p.expect(codeDetach)
	if len(got) != 1 {
		t.Errorf("%d messages were received before the detach was answered, want 1", len(got))
	}
}

// offer serves n messages of the given size.
func offer(n, size int) handler {
	return handler{out: func(o *Outgoing) {
		if o.Accept(Answer{}) != nil {
			return
		}
		message := bytes.Repeat([]byte("m"), size)
		for n > 0 {
			n -= o.Offer(message)
			select {
			case <-o.Wake():
				continue
			default:
			}
			if n == 0 {
				break
			}
			select {
			case <-o.Wake():
			case <-o.Context().Done():
				return
			case <-time.After(time.Millisecond):
			}
		}
		for {
			o.Drained()
			select {
			case <-o.Wake():
			case <-o.Context().Done():
				return
			}
		}
	}}
}

// A message larger than the window stops in its middle and goes on when the
// window opens.
func TestWindowStopsInsideMessage(t *testing.T) {
	_, address := startServer(t, DefaultConfig(), offer(1, 2000))
	p := dialRaw(t, address)
	p.open()
	p.send(frameAMQP, 0, beginWith(2))
	p.expect(codeBegin)
	p.say("attach receiver")
	p.expect(codeAttach)
	p.send(frameAMQP, 0, flowWith(flow{nextIncomingID: 1, incomingWindow: 2, handleSet: true, linkCredit: 1}))
	total := 0
	for range 2 {
		_, payload := p.expect(codeTransfer)
		total += len(payload)
	}
	// Nothing but the answer to an echo comes while the window is shut.
	p.send(frameAMQP, 0, flowWith(flow{nextIncomingID: 3, incomingWindow: 0, handleSet: true, deliveryCount: 1, echo: true}))
	fields, _ := p.expect(codeFlow)
	if fields[2] != uint32(3) {
		t.Errorf("next outgoing id is %v, want 3", fields[2])
	}
	p.send(frameAMQP, 0, flowWith(flow{nextIncomingID: 3, incomingWindow: 100, handleSet: true, deliveryCount: 1}))
	for total < 2000 {
		fields, payload := p.expect(codeTransfer)
		if fields[1] != uint32(0) {
			t.Errorf("delivery id is %v, want 0", fields[1])
		}
		total += len(payload)
	}
	if total != 2000 {
		t.Errorf("message has %d bytes, want 2000", total)
	}
}

// A flow that crossed transfers counts them: they have used the window it opens.
func TestWindowCountsWhatIsOnTheWay(t *testing.T) {
	_, address := startServer(t, DefaultConfig(), offer(100, 10))
	p := dialRaw(t, address)
	p.open()
	p.send(frameAMQP, 0, beginWith(3))
	p.expect(codeBegin)
	p.say("attach receiver")
	p.expect(codeAttach)
	p.send(frameAMQP, 0, flowWith(flow{nextIncomingID: 1, incomingWindow: 3, handleSet: true, linkCredit: 50}))
	for range 3 {
		p.expect(codeTransfer)
	}
	p.send(frameAMQP, 0, flowWith(flow{nextIncomingID: 1, incomingWindow: 5, handleSet: true, linkCredit: 50}))
	p.expect(codeTransfer)
	p.expect(codeTransfer)
	time.Sleep(20 * time.Millisecond) // for what must not come
	p.send(frameAMQP, 0, flowWith(flow{nextIncomingID: 1, incomingWindow: 5, handleSet: true, linkCredit: 50, echo: true}))
	if fields, _ := p.expect(codeFlow); fields[2] != uint32(6) {
		t.Errorf("next outgoing id is %v, want 6", fields[2])
	}
}

// Messages for a peer that does not read stay with the handler.
func TestUnreadOutputIsBounded(t *testing.T) {
	var taken atomic.Int64
	message := make([]byte, 1000)
	_, address := startServer(t, DefaultConfig(), handler{out: func(o *Outgoing) {
		if o.Accept(Answer{}) != nil {
			return
		}
		for {
			n := o.Offer(message)
			taken.Add(int64(n))
			if n > 0 {
				continue
			}
			select {
			case <-o.Wake():
			case <-o.Context().Done():
				return
			}
		}
	}})
	p := dialRaw(t, address)
	p.begin()
	p.say("attach receiver")
	p.expect(codeAttach)
	p.send(frameAMQP, 0, flowWith(flow{nextIncomingID: 1, incomingWindow: 1 << 30, handleSet: true, linkCredit: 1 << 30}))
	var before int64 = -1
	waitFor(t, "the handler is held back", func() bool {
		time.Sleep(20 * time.Millisecond)
		was := before
		before = taken.Load()
		return before == was && before > 0
	})
	if before > 16<<10 { // 16 MB: what the sockets hold, and the high water mark
		t.Errorf("%d kB were taken for a peer that does not read", before)
	}
	for range before + 1000 {
		p.expect(codeTransfer)
	}
}

func TestDrainGivesCreditBack(t *testing.T) {
	_, address := startServer(t, DefaultConfig(), offer(2, 10))
	p := dialRaw(t, address)
	p.begin()
	p.say("attach receiver")
	p.expect(codeAttach)
	p.send(frameAMQP, 0, flowWith(flow{nextIncomingID: 1, incomingWindow: 100, handleSet: true, linkCredit: 5, drain: true}))
	p.expect(codeTransfer)
	p.expect(codeTransfer)
	fields, _ := p.expect(codeFlow)
	if fields[5] != uint32(5) || fields[6] != uint32(0) || len(fields) < 9 || fields[8] != true {
		t.Errorf("flow is %v, want delivery count 5, credit 0, drain", fields)
	}
}

func TestCreditIsNotExceeded(t *testing.T) {
	_, address := startServer(t, DefaultConfig(), offer(100, 10))
	p := dialRaw(t, address)
	p.begin()
	p.say("attach receiver")
	p.expect(codeAttach)
	p.send(frameAMQP, 0, flowWith(flow{nextIncomingID: 1, incomingWindow: 100, handleSet: true, linkCredit: 3}))
	for range 3 {
		p.expect(codeTransfer)
	}
	// The same credit counted from the start is used up.
	p.send(frameAMQP, 0, flowWith(flow{nextIncomingID: 4, incomingWindow: 100, handleSet: true, linkCredit: 3, echo: true}))
	p.expect(codeFlow)
	p.send(frameAMQP, 0, flowWith(flow{nextIncomingID: 4, incomingWindow: 100, handleSet: true, deliveryCount: 3, linkCredit: 1<<32 - 1}))
	for range 97 {
		p.expect(codeTransfer)
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

func TestLinkLimit(t *testing.T) {
	config := DefaultConfig()
	config.MaxLinks = 3
	_, address := startServer(t, config, sink(make(chan *Delivery, 1)))
	p := dialRaw(t, address)
	p.begin()
	for range 5 { // a link that is gone makes room
		p.say("attach sender")
		p.expect(codeAttach)
		p.expect(codeFlow)
		p.say("detach")
		p.expect(codeDetach)
	}
	for range 2 { // and so does a session
		for handle := range uint32(3) {
			p.send(frameAMQP, 0, attach("s", handle, false))
			p.expect(codeAttach)
			p.expect(codeFlow)
		}
		p.say("end")
		p.expect(codeEnd)
		p.say("begin")
		p.expect(codeBegin)
	}
	for handle := range uint32(3) {
		p.send(frameAMQP, 0, attach("s", handle, false))
		p.expect(codeAttach)
		p.expect(codeFlow)
	}
	p.send(frameAMQP, 0, attach("s", 3, false))
	if fields, _ := p.expect(codeClose); condition(fields) != ResourceLimitExceeded {
		t.Errorf("closed with %v", fields)
	}
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

func TestDetachAndEndFromHere(t *testing.T) {
	links := make(chan *Outgoing, 1)
	_, address := startServer(t, DefaultConfig(), handler{out: func(o *Outgoing) {
		_ = o.Accept(Answer{})
		links <- o
		<-o.Context().Done()
	}})
	p := dialRaw(t, address)
	p.begin()
	p.say("attach receiver")
	p.expect(codeAttach)
	link := <-links
	link.Detach(Errorf(Stolen, "gone"))
	if fields, _ := p.expect(codeDetach); condition(fields) != Stolen || fields[1] != true {
		t.Errorf("detached with %v", fields)
	}
	if n := link.Offer([]byte("late")); n != 0 {
		t.Error("a detached link takes messages")
	}
	p.say("detach", "attach receiver")
	p.expect(codeAttach)
	link = <-links
	link.EndSession(Errorf(InternalError, "ended"))
	if fields, _ := p.expect(codeEnd); condition(fields) != InternalError {
		t.Errorf("ended with %v", fields)
	}
	p.say("end", "begin")
	p.expect(codeBegin)
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
