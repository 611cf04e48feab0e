package eventhubs_test

import (
	"bufio"
	"encoding/binary"
	"net"
	"testing"
	"time"

	"warmpath/internal/emulator/amqp"
)

// rawClient speaks frames by hand, for what client libraries hide or are too
// slow for.
type rawClient struct {
	t      testing.TB
	conn   net.Conn
	reader *bufio.Reader
}

// openRaw opens a connection with an idle timeout in milliseconds, and session
// 0 on it, whose window is as wide as it can be.
func openRaw(t testing.TB, address string, idle uint32) *rawClient {
	t.Helper()
	conn, err := net.Dial("tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close() })
	c := &rawClient{t, conn, bufio.NewReaderSize(conn, 256<<10)}
	_ = conn.SetDeadline(time.Now().Add(10 * time.Second))
	c.write([]byte("AMQP\x03\x01\x00\x00"))
	c.read() // header
	c.read() // mechanisms
	c.say(1, 0x41, amqp.Symbol("ANONYMOUS"))
	c.read()
	c.write([]byte("AMQP\x00\x01\x00\x00"))
	c.read()
	c.say(0, 0x10, "raw", nil, uint32(65536), uint16(10), idle)
	c.read()
	c.say(0, 0x11, nil, uint32(0), uint32(1<<31), uint32(1<<31))
	c.read()
	return c
}

// receive attaches handle 0 to an address from the earliest event on.
func (c *rawClient) receive(address string) {
	c.t.Helper()
	filter := amqp.Map{{Key: amqp.Symbol("apache.org:selector-filter:string"),
		Value: amqp.Described{Descriptor: uint64(0x0000468C00000004), Value: "amqp.annotation.x-opt-offset > '-1'"}}}
	source := amqp.Described{Descriptor: uint64(0x28), Value: amqp.List{address, nil, nil, nil, nil, nil, nil, filter}}
	target := amqp.Described{Descriptor: uint64(0x29), Value: amqp.List{"here"}}
	c.say(0, 0x12, "raw", uint32(0), true, nil, nil, source, target)
	c.read()
}

// credit gives handle 0 credit for n messages more than the seen ones.
func (c *rawClient) credit(seen, n uint32) {
	c.t.Helper()
	c.say(0, 0x13, seen+1, uint32(1<<31), uint32(0), uint32(1<<31), uint32(0), seen, n)
}

func (c *rawClient) say(kind byte, code uint64, fields ...any) {
	c.t.Helper()
	f := amqp.Append([]byte{0, 0, 0, 0, 2, kind, 0, 0}, amqp.Described{Descriptor: code, Value: amqp.List(fields)})
	binary.BigEndian.PutUint32(f, uint32(len(f)))
	c.write(f)
}

func (c *rawClient) write(b []byte) {
	c.t.Helper()
	if _, err := c.conn.Write(b); err != nil {
		c.t.Fatal(err)
	}
}

func (c *rawClient) read() []byte {
	c.t.Helper()
	f, err := readFrame(c.reader)
	if err != nil {
		c.t.Fatal(err)
	}
	return f
}

// skip reads n frames without keeping them.
func (c *rawClient) skip(n int) {
	c.t.Helper()
	for range n {
		head, err := c.reader.Peek(4)
		if err == nil {
			_, err = c.reader.Discard(int(binary.BigEndian.Uint32(head)))
		}
		if err != nil {
			c.t.Fatal(err)
		}
	}
}
