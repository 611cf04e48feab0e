package amqp

import (
	"bytes"
	"io"
	"net"
	"reflect"
	"testing"
)

// What decodes encodes to something that decodes to the same.
func FuzzValue(f *testing.F) {
	for _, v := range values {
		f.Add(unhex(f, v.made))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		v, rest, err := Decode(b)
		if err != nil {
			return
		}
		if raw, after, err := split(b); err != nil || len(raw)+len(after) != len(b) || !bytes.Equal(rest, after) {
			t.Fatalf("decoded, but split into %d and %d of %d bytes, error %v", len(raw), len(after), len(b), err)
		}
		again := Append(nil, v)
		w, _, err := Decode(again)
		if err != nil {
			t.Fatalf("% x made of %#v does not decode: %v", again, v, err)
		}
		if twice := Append(nil, w); !bytes.Equal(again, twice) {
			t.Fatalf("% x became % x", again, twice)
		}
	})
}

// Whatever a frame holds, decoding it ends in a performative or an error.
func FuzzFrame(f *testing.F) {
	for _, body := range performatives {
		f.Add(closeFrame(body(openFrame(nil, frameAMQP, 1)), 0))
	}
	f.Fuzz(func(_ *testing.T, b []byte) {
		if len(b) < frameHeader {
			return
		}
		frame, err := parseFrame(b, 1<<20)
		if err != nil {
			return
		}
		d := decoder{frame.body}
		code, err := d.descriptor()
		if err != nil {
			return
		}
		fields, err := d.list()
		if err != nil {
			return
		}
		switch code {
		case codeOpen:
			_, _ = decodeOpen(fields)
		case codeBegin:
			_, _ = decodeBegin(fields)
		case codeAttach:
			if a, err := decodeAttach(fields); err == nil {
				a.appendAnswer(nil, Answer{}, false)
			}
		case codeFlow:
			_, _ = decodeFlow(fields)
		case codeTransfer:
			_, _ = decodeTransfer(fields)
		case codeDetach:
			_, _ = decodeDetach(fields)
		case codeEnd, codeClose:
			_, _ = decodeEnding(fields)
		}
	})
}

// A message taken apart and put together anew, as a broker does to set its own
// annotations, is the same message.
func FuzzMessage(f *testing.F) {
	f.Add(AppendData(nil, []byte("body")))
	f.Add(AppendValue(nil, Map{{"k", int32(1)}}))
	w := OpenMapSection(nil, SectionAnnotations)
	w.Symbol("x-opt-partition-key", "k")
	f.Add(AppendData(AppendProperties(w.Close(), Properties{MessageID: "m", To: "t"}), nil))
	f.Fuzz(func(t *testing.T, b []byte) {
		m, err := SplitMessage(b)
		if err != nil {
			return
		}
		_, _ = DecodeProperties(m.Properties)
		_, _ = DecodeMap(m.ApplicationProperties)
		entries, err := Entries(m.Annotations)
		if err != nil {
			return
		}
		w := OpenMapSection(nil, SectionAnnotations)
		for _, e := range entries {
			w.Raw(e)
		}
		again, err := SplitMessage(append(w.Close(), m.Bare...))
		if err != nil {
			t.Fatalf("put together anew it does not split: %v", err)
		}
		if !reflect.DeepEqual(again.Data, m.Data) || !bytes.Equal(again.Value, m.Value) || !bytes.Equal(again.Properties, m.Properties) {
			t.Fatalf("put together anew it is\n%+v, was\n%+v", again, m)
		}
		before, err := DecodeMap(m.Annotations)
		after, err2 := DecodeMap(again.Annotations)
		if err == nil && (err2 != nil || !bytes.Equal(Append(nil, before), Append(nil, after))) {
			t.Fatalf("annotations %v became %v, error %v", before, after, err2)
		}
	})
}

// Whatever a peer says after a proper opening, the server ends in peace.
func FuzzConversation(f *testing.F) {
	say := func(names ...string) (b []byte) {
		for _, name := range names {
			at := len(b)
			b = closeFrame(performatives[name](openFrame(b, frameAMQP, 0)), at)
		}
		return b
	}
	f.Add(say("begin", "attach receiver", "flow", "detach", "end", "close"))
	f.Add(say("begin", "attach sender", "transfer", "transfer", "detach", "attach sender", "end", "begin"))
	f.Add(say("begin", "attach sender", "attach sender", "flow", "transfer", "end"))
	opening := bytes.Clone(saslHeader)
	at := len(opening)
	opening = closeFrame(performatives["sasl-init"](openFrame(opening, frameSASL, 0)), at)
	opening = append(opening, amqpHeader...)
	opening = append(opening, say("open")...)
	served := handler{out: offer(3, 600).out, in: func(i *Incoming) {
		if i.Accept(Answer{MaxMessageSize: 1000}, 4) != nil {
			return
		}
		for {
			d, err := i.Receive()
			if err != nil {
				return
			}
			d.Accept()
		}
	}}
	f.Fuzz(func(t *testing.T, b []byte) {
		s, err := NewServer(DefaultConfig(), func(*Conn) Handler { return served })
		if err != nil {
			t.Fatal(err)
		}
		peer, nc := net.Pipe()
		go s.admit(nc).run()
		heard := make(chan struct{})
		go func() {
			defer close(heard)
			_, _ = io.Copy(io.Discard, peer)
		}()
		_, _ = peer.Write(append(bytes.Clone(opening), b...))
		peer.Close()
		s.Close()
		<-heard
	})
}
