package geo

import (
	"fmt"
	"strconv"
	"unicode/utf8"
)

// MaxIDBytes is the greatest length of a document id that Cosmos DB takes.
const MaxIDBytes = 1023

// escapedBytes are the bytes that cannot stand in a document id. Cosmos DB
// refuses / \ ? #, clients trip over control characters, and % must be escaped
// so that the mapping is one to one.
var escapedBytes = func() (escaped [256]bool) {
	for c := range byte(' ') {
		escaped[c] = true
	}
	for _, c := range []byte("%/\\?#\x7F") {
		escaped[c] = true
	}
	return escaped
}()

// escapes reports whether the byte at i of a device id is escaped: clients trip
// over a blank as well if it is the last byte.
func escapes(id string, i int) bool {
	return escapedBytes[id[i]] || i == len(id)-1 && id[i] == ' '
}

// DocumentID maps a device id to a document id, one to one: characters that
// cannot stand in a document id are percent-encoded as upper-case hex of their
// UTF-8, all others stay. It returns an error for an empty id, one that is not
// UTF-8, and one that is longer than MaxIDBytes after encoding.
func DocumentID(deviceID string) (string, error) {
	if deviceID == "" {
		return "", errText("device id is empty")
	}
	extra, ascii := 0, true
	for i := range len(deviceID) {
		if escapes(deviceID, i) {
			extra += 2
		}
		ascii = ascii && deviceID[i] < utf8.RuneSelf
	}
	if !ascii && !utf8.ValidString(deviceID) {
		return "", errText("device id is not UTF-8")
	}
	if n := len(deviceID) + extra; n > MaxIDBytes {
		return "", fmt.Errorf("document id of %d bytes is longer than %d", n, MaxIDBytes)
	}
	if extra == 0 {
		return deviceID, nil
	}
	const hex = "0123456789ABCDEF"
	id := make([]byte, 0, len(deviceID)+extra)
	for i := range len(deviceID) {
		c := deviceID[i]
		if escapes(deviceID, i) {
			id = append(id, '%', hex[c>>4], hex[c&15])
		} else {
			id = append(id, c)
		}
	}
	return string(id), nil
}

// HistoryID appends the id of a position's document in history mode,
// <document id>:<enqueued ms>:<partition>:<sequence>:<index>, to dst.
// documentID is a result of DocumentID. It returns an error when the id is
// longer than MaxIDBytes; the position is then BadID.
func HistoryID(dst []byte, documentID string, src *Source) ([]byte, error) {
	start := len(dst)
	dst = append(dst, documentID...)
	dst = append(dst, ':')
	dst = strconv.AppendInt(dst, src.Enqueued.UnixMilli(), 10)
	dst = append(dst, ':')
	dst = append(dst, src.Partition...)
	dst = append(dst, ':')
	dst = strconv.AppendInt(dst, src.Sequence, 10)
	dst = append(dst, ':')
	dst = strconv.AppendInt(dst, int64(src.Index), 10)
	if n := len(dst) - start; n > MaxIDBytes {
		return dst[:start], fmt.Errorf("history document id of %d bytes is longer than %d", n, MaxIDBytes)
	}
	return dst, nil
}
