package geo

import (
	"bytes"
	"compress/flate"
	"compress/gzip"
	"compress/zlib"
	"encoding/base64"
	"fmt"
	"io"
	"strings"
)

// coding is a compression that a body can be under.
type coding int

const (
	identity coding = iota
	gzipped
	deflated
)

// charsets are the beginnings of content-encodings that name a character set.
// IoT Hub itself asks devices to put "utf-8" there.
var charsets = []string{"utf-", "utf8", "utf16", "utf32", "us-ascii", "ascii", "iso-", "latin", "windows-"}

// contentCoding reads an AMQP content-encoding: the value of the HTTP header of
// that name (AMQP 1.0 section 3.2.4), or a character set.
func contentCoding(name string) (coding, error) {
	name = strings.ToLower(strings.TrimSpace(name))
	switch name {
	case "", "identity":
		return identity, nil
	case "gzip", "x-gzip":
		return gzipped, nil
	case "deflate":
		return deflated, nil
	}
	for _, charset := range charsets {
		if strings.HasPrefix(name, charset) {
			return identity, nil
		}
	}
	return identity, fmt.Errorf("content-encoding %.40q is not known", name)
}

// hasGzipMagic reports whether body begins as gzip does (RFC 1952 section
// 2.3.1). No text does.
func hasGzipMagic(body []byte) bool {
	return len(body) >= 3 && body[0] == 0x1F && body[1] == 0x8B && body[2] == 8
}

// unpacker decompresses bodies. Its buffers serve one body after the other.
type unpacker struct {
	source   bytes.Reader
	gzip     gzip.Reader
	unpacked bytes.Buffer
}

// keepUnpacked is how many bytes of room an unpacker keeps between events.
const keepUnpacked = 64 << 10

func (u *unpacker) forget() {
	u.source.Reset(nil)
	if u.unpacked.Cap() > keepUnpacked {
		u.unpacked = bytes.Buffer{}
	}
}

// unpack decompresses body into at most limit bytes, which are good until the
// next call. It refuses a body that the coding does not fill to its last byte.
func (u *unpacker) unpack(body []byte, c coding, limit int) ([]byte, error) {
	u.source.Reset(body)
	r, err := u.reader(body, c)
	if err != nil {
		return nil, fmt.Errorf("body is not compressed as said: %w", err)
	}
	u.unpacked.Reset()
	_, err = u.unpacked.ReadFrom(io.LimitReader(r, int64(limit)+1))
	switch {
	case u.unpacked.Len() > limit:
		return nil, &verdict{TooLarge, fmt.Errorf("body unpacks to more than %d bytes", limit)}
	case err != nil:
		return nil, fmt.Errorf("body does not unpack: %w", err)
	case u.source.Len() > 0:
		return nil, errText("body has data after its compressed part")
	}
	return u.unpacked.Bytes(), nil
}

func (u *unpacker) reader(body []byte, c coding) (io.Reader, error) {
	switch {
	case c == gzipped:
		return &u.gzip, u.gzip.Reset(&u.source)
	case hasZlibHeader(body):
		return zlib.NewReader(&u.source)
	default: // RFC 9110 calls zlib "deflate", and many senders leave zlib out
		return flate.NewReader(&u.source), nil
	}
}

// hasZlibHeader reports whether body begins with the two bytes of RFC 1950
// section 2.2: deflate in a window of at most 32 KiB, with a check.
func hasZlibHeader(body []byte) bool {
	return len(body) >= 2 && body[0]&0x0F == 8 && body[0]>>4 <= 7 && (int(body[0])<<8|int(body[1]))%31 == 0
}

// decodeBase64 decodes a text that is base64 as a whole, in either alphabet,
// padded or not, with or without line ends. No JSON object, array or tracker
// line is: they hold braces, brackets or blanks.
func decodeBase64(text []byte) ([]byte, bool) {
	text = bytes.TrimRight(bytes.Trim(text, blanks), "=")
	if len(text) == 0 {
		return nil, false
	}
	encoding := base64.RawStdEncoding
	for _, c := range text {
		switch {
		case c >= 'A' && c <= 'Z', c >= 'a' && c <= 'z', c >= '0' && c <= '9', c == '+', c == '/', c == '\r', c == '\n':
		case c == '-', c == '_':
			encoding = base64.RawURLEncoding
		default:
			return nil, false
		}
	}
	decoded := make([]byte, encoding.DecodedLen(len(text)))
	n, err := encoding.Decode(decoded, text)
	return decoded[:n], err == nil
}
