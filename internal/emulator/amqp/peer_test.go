package amqp

import (
	"bytes"
	"errors"
	"io"
	"net"
	"reflect"
	"testing"
	"time"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) {
	goleak.VerifyTestMain(m)
}

// handler serves nodes by function, so that a test says in place what its node
// does.
type handler struct {
	out func(*Outgoing)
	in  func(*Incoming)
}

func (h handler) ServeOutgoing(o *Outgoing) { h.out(o) }
func (h handler) ServeIncoming(i *Incoming) { h.in(i) }

// startServer serves on loopback until the test ends.
func startServer(t *testing.T, config Config, h handler) (*Server, string) {
	t.Helper()
	s, err := NewServer(config, func(*Conn) Handler { return h })
	if err != nil {
		t.Fatal(err)
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	served := make(chan error, 1)
	go func() { served <- s.Serve(l) }()
	t.Cleanup(func() {
		s.Close()
		if err := <-served; err != nil {
			t.Errorf("serve: %v", err)
		}
	})
	return s, l.Addr().String()
}

// rawPeer speaks frames by hand.
type rawPeer struct {
	t  *testing.T
	nc net.Conn
}

func dialRaw(t *testing.T, address string) *rawPeer {
	t.Helper()
	nc, err := net.Dial("tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { nc.Close() })
	_ = nc.SetDeadline(time.Now().Add(10 * time.Second))
	return &rawPeer{t, nc}
}

// performatives are what a client says, by name.
var performatives = map[string]func([]byte) []byte{
	"sasl-init": func(b []byte) []byte {
		w := openComposite(b, codeSASLInit)
		w.value(Symbol("ANONYMOUS"))
		return w.close()
	},
	"open":            (&Open{ContainerID: "raw", MaxFrameSize: 512, IdleTimeout: 60000}).appendTo,
	"begin":           beginWith(100),
	"attach receiver": attach("r", 0, true),
	"attach sender":   attach("s", 0, false),
	"flow":            flowWith(flow{nextIncomingID: 1, incomingWindow: 100, handleSet: true, linkCredit: 10}),
	"transfer":        transferWith(0, 1, []byte("x")),
	"detach":          (&detach{handle: 0, closed: true}).appendTo,
	"end":             func(b []byte) []byte { return appendEnding(b, codeEnd, nil) },
	"close":           func(b []byte) []byte { return appendEnding(b, codeClose, Errorf(InternalError, "test")) },
}

func beginWith(window uint32) func([]byte) []byte {
	return func(b []byte) []byte {
		w := openComposite(b, codeBegin)
		w.null()
		w.uint(0)
		w.uint(window)
		w.uint(window)
		return w.close()
	}
}

func attach(name string, handle uint32, receives bool) func([]byte) []byte {
	return func(b []byte) []byte {
		terminus := func(code byte) []byte {
			w := openComposite(nil, code)
			w.string("node")
			return w.close()
		}
		w := openComposite(b, codeAttach)
		w.string(name)
		w.uint(handle)
		w.bool(receives)
		w.null()
		w.null()
		w.raw(terminus(codeSource))
		w.raw(terminus(codeTarget))
		if !receives {
			w.null()
			w.null()
			w.uint(0)
		}
		return w.close()
	}
}

func flowWith(p flow) func([]byte) []byte {
	return func(b []byte) []byte {
		w := openComposite(b, codeFlow)
		w.uint(p.nextIncomingID)
		w.uint(p.incomingWindow)
		w.uint(p.nextOutgoingID)
		w.uint(p.outgoingWindow)
		if p.handleSet {
			w.uint(p.handle)
			w.uint(p.deliveryCount)
			w.uint(p.linkCredit)
			w.null()
			w.optional(p.drain)
			w.optional(p.echo)
		}
		return w.close()
	}
}

func transferWith(handle, id uint32, payload []byte) func([]byte) []byte {
	return func(b []byte) []byte {
		w := openComposite(b, codeTransfer)
		w.uint(handle)
		w.uint(id)
		w.value([]byte{1})
		w.uint(0)
		return append(w.close(), payload...)
	}
}

func (p *rawPeer) send(kind byte, channel uint16, body func([]byte) []byte) {
	p.t.Helper()
	p.sendBytes(closeFrame(body(openFrame(nil, kind, channel)), 0))
}

func (p *rawPeer) sendBytes(b []byte) {
	p.t.Helper()
	if _, err := p.nc.Write(b); err != nil {
		p.t.Fatal(err)
	}
}

// say sends performatives by name on channel 0.
func (p *rawPeer) say(names ...string) {
	p.t.Helper()
	for _, name := range names {
		p.send(frameAMQP, 0, performatives[name])
	}
}

func (p *rawPeer) header() []byte {
	p.t.Helper()
	b := make([]byte, 8)
	if _, err := io.ReadFull(p.nc, b); err != nil {
		p.t.Fatal(err)
	}
	return b
}

// next reads a frame: its performative's code and fields, and the payload.
func (p *rawPeer) next() (code uint64, fields List, payload []byte) {
	p.t.Helper()
	head := p.header()
	size := int(unsigned(head[:4]))
	body := make([]byte, size-frameHeader)
	if _, err := io.ReadFull(p.nc, body); err != nil {
		p.t.Fatal(err)
	}
	if len(body) == 0 {
		return 0, nil, nil
	}
	v, rest, err := Decode(body)
	if err != nil {
		p.t.Fatal(err)
	}
	d := v.(Described)
	return d.Descriptor.(uint64), d.Value.(List), rest
}

// expect reads a frame of the given code.
func (p *rawPeer) expect(want uint64) (fields List, payload []byte) {
	p.t.Helper()
	code, fields, payload := p.next()
	if code != want {
		p.t.Fatalf("got performative %#02x %v, want %#02x", code, fields, want)
	}
	return fields, payload
}

// open shakes hands.
func (p *rawPeer) open() {
	p.t.Helper()
	p.sendBytes(saslHeader)
	if got := p.header(); !bytes.Equal(got, saslHeader) {
		p.t.Fatalf("got header % x", got)
	}
	p.expect(codeSASLMechanisms)
	p.send(frameSASL, 0, performatives["sasl-init"])
	p.expect(codeSASLOutcome)
	p.sendBytes(amqpHeader)
	if got := p.header(); !bytes.Equal(got, amqpHeader) {
		p.t.Fatalf("got header % x", got)
	}
	p.say("open")
	p.expect(codeOpen)
}

func (p *rawPeer) begin() {
	p.t.Helper()
	p.open()
	p.say("begin")
	p.expect(codeBegin)
}

// condition finds the error condition in the fields of an ending.
func condition(fields List) Symbol {
	for _, f := range fields {
		if d, ok := f.(Described); ok && d.Descriptor == uint64(codeError) {
			return d.Value.(List)[0].(Symbol)
		}
	}
	return ""
}

func (p *rawPeer) closed() {
	p.t.Helper()
	n, err := io.Copy(io.Discard, p.nc)
	var reset *net.OpError
	if n > 0 || err != nil && !errors.As(err, &reset) {
		p.t.Fatalf("connection is open: %d bytes, error %v", n, err)
	}
}

func TestConversation(t *testing.T) {
	_, address := startServer(t, DefaultConfig(), handler{
		out: func(o *Outgoing) {
			if o.Accept(Answer{}) != nil {
				return
			}
			for sent := 0; ; {
				sent += o.Offer([][]byte{[]byte("zero"), bytes.Repeat([]byte("1"), 1200)}[min(sent, 2):]...)
				select {
				case <-o.Wake():
				case <-o.Context().Done():
					return
				}
			}
		},
	})
	p := dialRaw(t, address)
	p.begin()
	p.say("attach receiver")
	fields, _ := p.expect(codeAttach)
	source := Described{uint64(codeSource), List{"node"}}
	target := Described{uint64(codeTarget), List{"node"}}
	if want := (List{"r", uint32(0), false, SenderSettled, ReceiverFirst, source, target, nil, nil, uint32(0)}); !reflect.DeepEqual(fields, want) {
		t.Errorf("attach is %v, want %v", fields, want)
	}
	p.say("flow")
	fields, payload := p.expect(codeTransfer)
	if want := (List{uint32(0), uint32(0), []byte{0, 0, 0, 0}, uint32(0), true, false}); !reflect.DeepEqual(fields, want) || string(payload) != "zero" {
		t.Errorf("transfer is %v %q, want %v", fields, payload, want)
	}
	var whole []byte
	for more := true; more; {
		fields, payload = p.expect(codeTransfer)
		more = fields[5].(bool)
		if fields[1] != uint32(1) {
			t.Errorf("delivery id is %v, want 1", fields[1])
		}
		whole = append(whole, payload...)
	}
	if len(whole) != 1200 {
		t.Errorf("message has %d bytes, want 1200", len(whole))
	}
	p.say("detach")
	p.expect(codeDetach)
	p.say("end")
	p.expect(codeEnd)
	p.say("close")
	p.expect(codeClose)
	p.closed()
}
