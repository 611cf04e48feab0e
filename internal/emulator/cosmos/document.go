package cosmos

import (
	"encoding/base64"
	"encoding/binary"
	"strconv"

	"warmpath/internal/emulator/cosmos/epk"
)

const (
	// maxDocument is the largest document and the largest request, in bytes
	// (concepts-limits page of the documentation).
	maxDocument = 2 << 20

	maxTTL = 1<<31 - 1
)

// partition is one logical partition: the documents of one key, oldest first.
// Its range's mutex covers all but key and hash, which never change.
type partition struct {
	key         string // encoded
	hash        epk.Value
	first, last *document
	n           int
	byID        map[string]*document // nil while there are few
}

// fewDocuments is how many documents of a key are searched one by one. Most
// containers have one document a key, which should not cost a map.
const fewDocuments = 8

// find returns the document with an id, nil if there is none.
func (part *partition) find(id []byte) *document {
	if part.byID != nil {
		return part.byID[string(id)]
	}
	for d := part.first; d != nil; d = d.next {
		if d.id == string(id) {
			return d
		}
	}
	return nil
}

// link adds a document between its neighbours, which it knows.
func (part *partition) link(d *document) {
	if d.prev == nil {
		part.first = d
	} else {
		d.prev.next = d
	}
	if d.next == nil {
		part.last = d
	} else {
		d.next.prev = d
	}
	part.n++
	switch {
	case part.byID != nil:
		part.byID[d.id] = d
	case part.n > fewDocuments:
		part.byID = make(map[string]*document, 2*part.n)
		for d := part.first; d != nil; d = d.next {
			part.byID[d.id] = d
		}
	}
}

// unlink takes a document out, which goes on knowing its neighbours.
func (part *partition) unlink(d *document) {
	if d.prev == nil {
		part.first = d.next
	} else {
		d.prev.next = d.next
	}
	if d.next == nil {
		part.last = d.prev
	} else {
		d.next.prev = d.prev
	}
	part.n--
	delete(part.byID, d.id)
}

// document is one stored document. Its range's mutex covers all of it; body is
// replaced, never changed, so that a slice of it may be used without the lock.
type document struct {
	part       *partition
	prev, next *document // of the same partition, in order of rid
	id         string
	rid        uint64 // position in the container's order of creation
	dead       bool   // removed, but not yet from the range's order

	state
}

// state is what a write sets.
type state struct {
	body     []byte  // as it was sent, without system properties
	version  uint64  // server-wide number of the write; the etag is made of it
	modified int64   // unix seconds
	ttl      int32   // seconds, -1 never, 0 as the container says
	weight   float32 // request units that inserting it cost, without noise
}

// expired tells whether the document's time to live is over.
func (d *document) expired(now int64, defaultTTL int) bool {
	if defaultTTL == 0 {
		return false
	}
	ttl := int64(d.ttl)
	if ttl == 0 {
		ttl = int64(defaultTTL)
	}
	return ttl > 0 && now >= d.modified+ttl
}

// view is a consistent copy of what answers are made of.
type view struct {
	rid uint64
	state
}

// etagLength is the length of an etag with its quotes.
const etagLength = 38

// appendETag writes an etag in the form that the service's have: quoted, and
// opaque to clients. It is unique in the server.
func appendETag(dst []byte, version uint64, modified int64) []byte {
	dst = append(dst, '"')
	dst = appendHex(dst, version, 8)
	dst = append(dst, '-')
	dst = appendHex(dst, version>>32, 4)
	dst = append(dst, "-0700-0000-"...)
	dst = appendHex(dst, uint64(modified), 8)
	return append(dst, `0000"`...)
}

func appendHex(dst []byte, v uint64, digits int) []byte {
	const hex = "0123456789abcdef"
	for i := digits - 1; i >= 0; i-- {
		dst = append(dst, hex[v>>(4*i)&15])
	}
	return dst
}

func (s *state) etag() string {
	var buf [etagLength]byte
	return string(appendETag(buf[:0], s.version, s.modified))
}

// matches tells whether an etag sent by a client is that of the state.
func (s *state) matches(etag string) bool {
	if etag == "*" {
		return true
	}
	var buf [etagLength]byte
	return string(appendETag(buf[:0], s.version, s.modified)) == etag
}

// ridEncoding is base64 with the one character replaced that a path cannot
// carry.
var ridEncoding = base64.NewEncoding("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+-")

// appendRID writes a resource id below a parent's, as the service nests them.
func appendRID(dst, parent []byte, n uint64) []byte {
	var raw [24]byte
	b := append(raw[:0], parent...)
	b = binary.LittleEndian.AppendUint64(b, n)
	return ridEncoding.AppendEncode(dst, b)
}

// appendServed writes a document as it is served, with its system properties.
func (c *container) appendServed(dst []byte, v *view) []byte {
	dst = append(dst, v.body[:len(v.body)-1]...)
	dst = append(dst, `,"_rid":"`...)
	dst = appendRID(dst, c.ridBytes, v.rid)
	dst = append(dst, `","_self":"`...)
	dst = append(dst, c.self...)
	dst = append(dst, "docs/"...)
	dst = appendRID(dst, c.ridBytes, v.rid)
	dst = append(dst, `/","_etag":"\`...)
	dst = appendETag(dst, v.version, v.modified)
	dst = append(dst[:len(dst)-1], `\"","_attachments":"attachments/","_ts":`...)
	dst = strconv.AppendInt(dst, v.modified, 10)
	return append(dst, '}')
}
