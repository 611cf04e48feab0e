package amqp

import (
	"bytes"
	"sync/atomic"
	"testing"
	"time"
)

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
	for id := range uint32(50) {
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
