package amqp

import (
	"encoding/binary"
	"errors"
	"io"
)

// Protocol headers (2.2, 5.2.1, 5.3.1).
var (
	amqpHeader = []byte{'A', 'M', 'Q', 'P', 0, 1, 0, 0}
	saslHeader = []byte{'A', 'M', 'Q', 'P', 3, 1, 0, 0}
)

const (
	frameHeader = 8 // bytes before a frame's body without extended header
	frameAMQP   = 0
	frameSASL   = 1
)

// frame is one frame as it was read (2.3). The body is valid until the frame is
// skipped.
type frame struct {
	size    int
	kind    byte
	channel uint16
	body    []byte
}

// parseFrame reads a frame from the front of b, which holds at least its header.
// It returns io.ErrShortBuffer if the frame is longer than b.
func parseFrame(b []byte, maxSize uint32) (frame, error) {
	size := binary.BigEndian.Uint32(b)
	if size < frameHeader {
		return frame{}, Errorf(FramingError, "frame of %d bytes has no room for its header", size)
	}
	if size > maxSize {
		return frame{}, Errorf(FramingError, "frame of %d bytes exceeds the maximum of %d", size, maxSize)
	}
	offset := 4 * int(b[4])
	if offset < frameHeader || offset > int(size) {
		return frame{}, Errorf(FramingError, "data offset %d is outside a frame of %d bytes", offset, size)
	}
	f := frame{size: int(size), kind: b[5], channel: binary.BigEndian.Uint16(b[6:])}
	if len(b) < f.size {
		return f, io.ErrShortBuffer
	}
	f.body = b[offset:f.size]
	return f, nil
}

// openFrame appends a frame header whose size closeFrame fills in.
func openFrame(b []byte, kind byte, channel uint16) []byte {
	return append(b, 0, 0, 0, 0, 2, kind, byte(channel>>8), byte(channel))
}

// closeFrame completes the frame that begins at the given index of b.
func closeFrame(b []byte, at int) []byte {
	binary.BigEndian.PutUint32(b[at:], uint32(len(b)-at))
	return b
}

var errHeader = errors.New("protocol header is not AMQP 1.0")
