package amqp

import (
	"bytes"
	"testing"
	"time"
)

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
