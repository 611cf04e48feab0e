package geo

import (
	"bytes"
	"unicode/utf8"
)

// read finds the positions of an event's body, and returns an error if the
// body as a whole is nothing to read. What is wrapped around a text comes off
// in one order, each wrapping at most once: compression, base64, compression
// again, byte order mark, the envelope of a routed message.
func (w *work) read(ev *Event) error {
	c, err := contentCoding(ev.ContentEncoding)
	if err != nil {
		return err
	}
	text, err := w.unwrap(ev.Body, c)
	if err != nil {
		return err
	}
	return w.readText(text, true)
}

// unwrap takes compression, base64 and the byte order mark off a body.
func (w *work) unwrap(body []byte, c coding) ([]byte, error) {
	body, err := w.unpack(body, c)
	if err != nil {
		return nil, err
	}
	if decoded, ok := decodeBase64(body); ok {
		if body, err = w.unpack(decoded, identity); err != nil {
			return nil, err
		}
	}
	if !utf8.Valid(body) {
		return nil, errText("body is not UTF-8")
	}
	return bytes.TrimPrefix(body, []byte("\uFEFF")), nil
}

// unpack decompresses a body that says that it is compressed or begins so.
func (w *work) unpack(body []byte, c coding) ([]byte, error) {
	if c == identity && hasGzipMagic(body) {
		c = gzipped
	}
	if c == identity {
		return body, nil
	}
	return w.unpacker.unpack(body, c, w.cfg.MaxDecompressed)
}

// readText reads a text by its first byte. What is in an envelope may not be
// another.
func (w *work) readText(text []byte, maybeEnvelope bool) error {
	switch byteAt(text, skipBlanks(text, 0)) {
	case '{':
		return w.readObject(text, maybeEnvelope)
	case '[':
		return w.readArray(text, anyObject)
	case 0:
		return errText("body is empty")
	default:
		return w.readTracker(text)
	}
}

// blanks are what JSON takes for white space. No other Unicode space is blank.
const blanks = " \t\r\n"

// readObject reads a text that begins as an object: an envelope, a
// FeatureCollection or one position, or else lines of objects.
func (w *work) readObject(text []byte, maybeEnvelope bool) error {
	f := &w.object
	if err := w.readMembers(text, f); err != nil {
		return w.readLines(text, err)
	}
	switch {
	case maybeEnvelope && f.isEnvelope() && w.mapped.latitude == nil:
		return w.readEnvelope(f)
	case isText(f.kind, "FeatureCollection"):
		if byteAt(f.features, 0) != '[' {
			return errText("features of the FeatureCollection are no array")
		}
		return w.readArray(f.features, onlyFeatures)
	default:
		return w.add(f, anyObject)
	}
}

// readMembers reads a text that begins as an object and is nothing else.
func (w *work) readMembers(text []byte, f *fields) error {
	end, err := w.readFields(text, skipBlanks(text, 0), 0, f)
	if err != nil {
		return err
	}
	return scanEnd(text, end)
}

// readFields reads the object that begins at a place.
func (w *work) readFields(text []byte, at, depth int, f *fields) (int, error) {
	*f = fields{}
	end, err := scanObject(text, at, depth, f)
	if err == nil && w.mapper != nil {
		w.mapped = fields{}
		w.walker.reset(text[at:end])
		_ = w.walker.walk(&w.mapper.root, &w.mapped) // just read: it is valid
	}
	return end, err
}

// readLines reads newline-delimited JSON: a line that is no object is one bad
// element. Without a single good line the text is what it looked like at
// first, an object that does not parse, and notLines says why.
func (w *work) readLines(text []byte, notLines error) error {
	good := false
	for line := range bytes.Lines(text) {
		if line = bytes.Trim(line, blanks); len(line) == 0 {
			continue
		}
		var err error = errElement
		if line[0] == '{' {
			err = w.readMembers(line, &w.object)
		}
		if err != nil {
			err = w.addMalformed(err)
		} else {
			good, err = true, w.add(&w.object, anyObject)
		}
		if err != nil {
			return err
		}
	}
	if !good {
		return notLines
	}
	return nil
}

// readArray reads an array of elements. If it does not parse to its end, what
// was found in it does not count.
func (w *work) readArray(text []byte, allowed elements) error {
	end, err := scanArray(text, skipBlanks(text, 0), 0, func(at int) (int, error) {
		return w.readElement(text, at, allowed)
	})
	if err != nil {
		return err
	}
	return scanEnd(text, end)
}

// readElement reads the element of an array that begins at a place.
func (w *work) readElement(text []byte, at int, allowed elements) (int, error) {
	if byteAt(text, at) != '{' {
		end, err := scanValue(text, at, 1)
		if err == nil {
			err = w.addMalformed(errElement)
		}
		return end, err
	}
	end, err := w.readFields(text, at, 1, &w.object)
	if err == nil {
		err = w.add(&w.object, allowed)
	}
	return end, err
}
