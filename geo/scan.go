package geo

import (
	"bytes"
	"errors"
	"fmt"
	"io"

	"github.com/go-json-experiment/json/jsontext"
)

// scanner reads JSON as spans of its source: nothing is copied, nothing is
// converted before somebody wants it. It is strict: RFC 8259 syntax, valid
// UTF-8, no half surrogates, at most 10,000 levels.
type scanner struct {
	src []byte
	buf bytes.Buffer // over src; jsontext reads a bytes.Buffer in place
	dec jsontext.Decoder
}

// lastNameWins lets a name appear twice in an object.
var lastNameWins = jsontext.AllowDuplicateNames(true)

func (s *scanner) reset(src []byte) {
	s.src = src
	s.buf = *bytes.NewBuffer(src)
	s.dec.Reset(&s.buf, lastNameWins)
}

// peek returns the kind of the next token, 0 at the end and before an error
// that the next read returns.
func (s *scanner) peek() jsontext.Kind { return s.dec.PeekKind() }

// skip reads the next token, a bracket that peek has seen.
func (s *scanner) skip() error {
	_, err := s.dec.ReadToken()
	return syntaxError(err)
}

// value reads the next value and returns its span.
func (s *scanner) value() ([]byte, error) {
	v, err := s.dec.ReadValue()
	if err != nil {
		return nil, syntaxError(err)
	}
	// v itself is good until the next read only; src stays.
	end := s.dec.InputOffset()
	return s.src[end-int64(len(v)) : end], nil
}

// object reads an object and calls visit for each member in order, with the
// unquoted name and the span of the value.
func (s *scanner) object(visit func(name, value []byte)) error {
	if err := s.skip(); err != nil {
		return err
	}
	for s.peek() != '}' {
		name, err := s.value()
		if err != nil {
			return err
		}
		value, err := s.value()
		if err != nil {
			return err
		}
		visit(unquote(name), value)
	}
	return s.skip()
}

// end reports an error unless nothing but blanks is left.
func (s *scanner) end() error {
	if _, err := s.dec.ReadToken(); err != io.EOF {
		if err == nil {
			return errText("data after the JSON value")
		}
		return syntaxError(err)
	}
	return nil
}

// syntaxError says where a JSON text goes wrong, without the names and values
// that jsontext would quote: they belong to the body.
func syntaxError(err error) error {
	if err == nil {
		return nil
	}
	if syntax, ok := errors.AsType[*jsontext.SyntacticError](err); ok {
		return fmt.Errorf("not JSON at byte %d: %w", syntax.ByteOffset, syntax.Err)
	}
	if err == io.EOF {
		err = io.ErrUnexpectedEOF
	}
	return fmt.Errorf("not JSON: %w", err)
}
