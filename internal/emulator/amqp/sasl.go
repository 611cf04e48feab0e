package amqp

import (
	"bytes"
	"errors"
	"fmt"
)

// Mechanism is one way to authenticate a connection (5.3). Authenticate judges
// the client's initial response; there are no challenges. It returns who the
// client is, or "" if that is not known. An error refuses the connection and is
// logged, not sent.
type Mechanism struct {
	Name         Symbol
	Authenticate func(initialResponse []byte) (user string, err error)
}

// Anonymous accepts everybody, as services do whose authorization happens
// later, per entity. It goes by the given name, usually ANONYMOUS.
func Anonymous(name Symbol) Mechanism {
	return Mechanism{name, func([]byte) (string, error) { return "", nil }}
}

// Plain asks check about a user name and a password (RFC 4616).
func Plain(check func(user, password string) error) Mechanism {
	return Mechanism{"PLAIN", func(response []byte) (string, error) {
		parts := bytes.Split(response, []byte{0})
		if len(parts) != 3 {
			return "", errors.New("initial response is not authzid NUL authcid NUL password")
		}
		user := string(parts[1])
		return user, check(user, string(parts[2]))
	}}
}

const (
	saslOK   = 0
	saslAuth = 1 // the credentials were refused
)

// authenticate runs the SASL exchange after the client's SASL header was read.
func (c *Conn) authenticate() error {
	names := make([]Symbol, len(c.server.config.SASL))
	for i, m := range c.server.config.SASL {
		names[i] = m.Name
	}
	w := openComposite(openFrame(append([]byte(nil), saslHeader...), frameSASL, 0), codeSASLMechanisms)
	w.value(names)
	if err := c.writeNow(closeFrame(w.close(), len(saslHeader))); err != nil {
		return err
	}
	f, err := c.readFrame()
	if err != nil {
		return err
	}
	if f.kind != frameSASL {
		return fmt.Errorf("expected a SASL frame, got type %d", f.kind)
	}
	init, err := openFields(f.body, codeSASLInit)
	if err != nil || init == nil {
		return fmt.Errorf("sasl-init: %w", err)
	}
	name, response := Symbol(init.string()), init.binary()
	if init.err != nil {
		return fmt.Errorf("sasl-init: %w", init.err)
	}
	refused := fmt.Errorf("mechanism %q is not offered", name)
	for _, m := range c.server.config.SASL {
		if m.Name == name {
			c.user, refused = m.Authenticate(response)
		}
	}
	c.skipFrame(f)
	outcome := byte(saslOK)
	if refused != nil {
		outcome = saslAuth
	}
	w = openComposite(openFrame(nil, frameSASL, 0), codeSASLOutcome)
	w.ubyte(outcome)
	if err := c.writeNow(closeFrame(w.close(), 0)); err != nil {
		return err
	}
	if refused != nil {
		return fmt.Errorf("sasl: %w", refused)
	}
	return nil
}
