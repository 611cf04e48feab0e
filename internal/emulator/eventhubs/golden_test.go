package eventhubs_test

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"encoding/hex"
	"flag"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/messaging/azeventhubs/v2"

	"warmpath/internal/emulator/amqp"
	"warmpath/internal/emulator/eventhubs"
)

var update = flag.Bool("update", false, "record the conversations under testdata/wire that this test can hold itself")

// A conversation under testdata/wire is one connection, frame by frame: what a
// real client said and what the server must answer, byte for byte. The clients
// of the recordings are the Go and the JavaScript library; the latter's cannot
// be recorded anew from here.
//
//	# > attach [name 0 true ...]     what follows, for readers
//	> 0000004f 02000000 ...          from the client, in hex
//	< 00000051 02000000 ...          from the server

// frame is one frame, or protocol header, of a conversation.
type frame struct {
	client bool
	bytes  []byte
}

var goldenTime = time.Date(2026, 11, 30, 12, 0, 0, 123e6, time.UTC)

func goldenServer(t *testing.T) *eventhubs.Server {
	return newServer(t, eventhubs.WithHub(testHub, 2), eventhubs.WithClock(func() time.Time { return goldenTime }))
}

// conversations are those that can be recorded. The server is as it is when the
// conversation begins.
var conversations = map[string]struct {
	prepare func(*testing.T, *eventhubs.Server)
	hold    func(*testing.T, string) // by a connection string
}{
	"go-produce": {
		func(*testing.T, *eventhubs.Server) {},
		func(t *testing.T, connection string) {
			p, err := azeventhubs.NewProducerClientFromConnectionString(connection, testHub, nil)
			if err != nil {
				t.Fatal(err)
			}
			send(t, p, &azeventhubs.EventDataBatchOptions{PartitionKey: to("drone-7")}, body("one"), body("two"))
			if err := p.Close(background()); err != nil {
				t.Fatal(err)
			}
		},
	},
	"go-consume": {
		func(t *testing.T, s *eventhubs.Server) {
			publish(t, s, "0", 2)
			if _, err := s.Publish(testHub, "0", eventhubs.TelemetryEvent("drone-7", []byte(`{"a":1}`), goldenTime)); err != nil {
				t.Fatal(err)
			}
		},
		func(t *testing.T, connection string) {
			c, err := azeventhubs.NewConsumerClientFromConnectionString(connection, testHub, "$Default", nil)
			if err != nil {
				t.Fatal(err)
			}
			if _, err := c.GetEventHubProperties(deadline(t), nil); err != nil {
				t.Fatal(err)
			}
			if _, err := c.GetPartitionProperties(deadline(t), "0", nil); err != nil {
				t.Fatal(err)
			}
			p, err := c.NewPartitionClient("0", ownerLevel(0))
			if err != nil {
				t.Fatal(err)
			}
			receive(t, p, 3)
			_ = p.Close(background())
			refused, err := c.NewPartitionClient("9", nil)
			if err != nil {
				t.Fatal(err)
			}
			if _, err := refused.ReceiveEvents(deadline(t), 1, nil); err == nil {
				t.Fatal("partition 9 of 2 was opened")
			}
			_ = refused.Close(background())
			if err := c.Close(background()); err != nil {
				t.Fatal(err)
			}
		},
	},
	"js-both": {prepare: func(*testing.T, *eventhubs.Server) {}},
}

func TestGoldenConversations(t *testing.T) {
	for name, c := range conversations {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join("testdata", "wire", name+".hex")
			if *update && c.hold != nil {
				s := goldenServer(t)
				c.prepare(t, s)
				proxy := startProxy(t, s.Addr())
				c.hold(t, strings.Replace(s.ConnectionString(), s.Addr(), proxy.addr(), 1))
				if err := os.WriteFile(path, format(proxy.finish()), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			recorded, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			s := goldenServer(t)
			c.prepare(t, s)
			replay(t, s.Addr(), parse(t, recorded))
		})
	}
}

// replay says what the client said and compares what the server answers.
func replay(t *testing.T, address string, frames []frame) {
	t.Helper()
	conn, err := net.Dial("tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	_ = conn.SetDeadline(time.Now().Add(10 * time.Second))
	reader := bufio.NewReader(conn)
	for i, f := range frames {
		if f.client {
			if _, err := conn.Write(f.bytes); err != nil {
				t.Fatalf("frame %d: %v", i, err)
			}
			continue
		}
		got, err := readFrame(reader)
		if err != nil {
			t.Fatalf("frame %d: %v, want %s", i, err, describe(f.bytes))
		}
		if !bytes.Equal(got, f.bytes) {
			t.Fatalf("frame %d is %s\n% x, want %s\n% x", i, describe(got), got, describe(f.bytes), f.bytes)
		}
	}
}

// readFrame reads one frame or protocol header.
func readFrame(r *bufio.Reader) ([]byte, error) {
	head, err := r.Peek(8)
	if err != nil {
		return nil, err
	}
	size := 8
	if string(head[:4]) != "AMQP" {
		size = int(binary.BigEndian.Uint32(head))
	}
	f := make([]byte, size)
	_, err = io.ReadFull(r, f)
	return f, err
}

var performativeNames = map[uint64]string{
	0x10: "open", 0x11: "begin", 0x12: "attach", 0x13: "flow", 0x14: "transfer", 0x15: "disposition", 0x16: "detach", 0x17: "end", 0x18: "close",
	0x40: "sasl-mechanisms", 0x41: "sasl-init", 0x44: "sasl-outcome",
}

// describe says what a frame is.
func describe(f []byte) string {
	if string(f[:4]) == "AMQP" {
		return fmt.Sprintf("header, protocol %d", f[4])
	}
	if len(f) == 8 {
		return "keep-alive"
	}
	v, payload, err := amqp.Decode(f[8:])
	d, ok := v.(amqp.Described)
	if err != nil || !ok {
		return fmt.Sprintf("undecodable: %v", err)
	}
	code, _ := d.Descriptor.(uint64)
	text := fmt.Sprintf("channel %d: %s %v", binary.BigEndian.Uint16(f[6:]), performativeNames[code], d.Value)
	if len(payload) > 0 {
		text += fmt.Sprintf(" and %d bytes", len(payload))
	}
	text = strings.ReplaceAll(text, "\n", " ")
	return text[:min(200, len(text))]
}

func direction(client bool) string {
	if client {
		return ">"
	}
	return "<"
}

func format(frames []frame) []byte {
	var out bytes.Buffer
	for _, f := range frames {
		fmt.Fprintf(&out, "# %s %s\n", direction(f.client), describe(f.bytes))
		for rest := f.bytes; len(rest) > 0; {
			line := rest[:min(32, len(rest))]
			rest = rest[len(line):]
			mark := direction(f.client)
			if len(rest) > 0 {
				mark += "-" // goes on
			}
			fmt.Fprintf(&out, "%-2s", mark)
			for len(line) > 0 {
				group := line[:min(4, len(line))]
				line = line[len(group):]
				fmt.Fprintf(&out, " %x", group)
			}
			out.WriteByte('\n')
		}
	}
	return out.Bytes()
}

func parse(t *testing.T, text []byte) []frame {
	t.Helper()
	var frames []frame
	var current []byte
	for line := range strings.Lines(string(text)) {
		line = strings.TrimSpace(line)
		if line == "" || line[0] == '#' {
			continue
		}
		mark, digits, _ := strings.Cut(line, " ")
		b, err := hex.DecodeString(strings.ReplaceAll(digits, " ", ""))
		if err != nil {
			t.Fatalf("%q: %v", line, err)
		}
		current = append(current, b...)
		if !strings.HasSuffix(mark, "-") {
			frames = append(frames, frame{mark == ">", current})
			current = nil
		}
	}
	return frames
}

// proxy passes one connection on and notes its frames.
type proxy struct {
	net.Listener
	done chan struct{}

	mu     sync.Mutex
	frames []frame
}

func startProxy(t *testing.T, address string) *proxy {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	p := &proxy{Listener: l, done: make(chan struct{})}
	go p.serve(address)
	return p
}

func (p *proxy) addr() string { return p.Listener.Addr().String() }

func (p *proxy) serve(address string) {
	defer close(p.done)
	client, err := p.Accept()
	if err != nil {
		return
	}
	defer client.Close()
	server, err := net.Dial("tcp", address)
	if err != nil {
		return
	}
	defer server.Close()
	var copying sync.WaitGroup
	copying.Go(func() { p.pass(client, server, true); server.Close() })
	copying.Go(func() { p.pass(server, client, false); client.Close() })
	copying.Wait()
}

func (p *proxy) pass(from, to net.Conn, client bool) {
	r := bufio.NewReader(from)
	for {
		f, err := readFrame(r)
		if err != nil {
			return
		}
		p.mu.Lock()
		p.frames = append(p.frames, frame{client, f})
		p.mu.Unlock()
		if _, err := to.Write(f); err != nil {
			return
		}
	}
}

// finish returns the frames once the connection has ended.
func (p *proxy) finish() []frame {
	<-p.done
	return p.frames
}
