package amqp

import (
	"errors"
	"fmt"
)

// Error is an AMQP error as it stands in close, end, detach and rejected
// (2.8.14).
type Error struct {
	Condition   Symbol
	Description string
	Info        Map
}

func (e *Error) Error() string {
	if e.Description == "" {
		return string(e.Condition)
	}
	return string(e.Condition) + ": " + e.Description
}

// Errorf makes an error of a condition and a formatted description.
func Errorf(condition Symbol, format string, args ...any) *Error {
	return &Error{Condition: condition, Description: fmt.Sprintf(format, args...)}
}

// The error conditions of the specification that this package or its users
// need (2.8.15 to 2.8.18).
const (
	InternalError         Symbol = "amqp:internal-error"
	NotFound              Symbol = "amqp:not-found"
	UnauthorizedAccess    Symbol = "amqp:unauthorized-access"
	DecodeError           Symbol = "amqp:decode-error"
	ResourceLimitExceeded Symbol = "amqp:resource-limit-exceeded"
	NotAllowed            Symbol = "amqp:not-allowed"
	InvalidField          Symbol = "amqp:invalid-field"
	NotImplemented        Symbol = "amqp:not-implemented"
	PreconditionFailed    Symbol = "amqp:precondition-failed"

	ConnectionForced Symbol = "amqp:connection:forced"
	FramingError     Symbol = "amqp:connection:framing-error"

	WindowViolation  Symbol = "amqp:session:window-violation"
	UnattachedHandle Symbol = "amqp:session:unattached-handle"
	HandleInUse      Symbol = "amqp:session:handle-in-use"

	DetachForced          Symbol = "amqp:link:detach-forced"
	TransferLimitExceeded Symbol = "amqp:link:transfer-limit-exceeded"
	MessageSizeExceeded   Symbol = "amqp:link:message-size-exceeded"
	Redirect              Symbol = "amqp:link:redirect"
	Stolen                Symbol = "amqp:link:stolen"
)

// ErrClosed says that the link, or what carried it, has ended.
var ErrClosed = errors.New("amqp link is closed")

// asError gives err as something that can be told to a peer.
func asError(err error) *Error {
	var e *Error
	if errors.As(err, &e) {
		return e
	}
	return Errorf(DecodeError, "%v", err)
}

func (e *Error) appendTo(b []byte) []byte {
	w := openComposite(b, codeError)
	w.value(e.Condition)
	if e.Description == "" {
		w.null()
	} else {
		w.string(e.Description)
	}
	if len(e.Info) > 0 {
		w.value(e.Info)
	}
	return w.close()
}

func decodeError(raw []byte) (*Error, error) {
	f, err := openFields(raw, codeError)
	if err != nil || f == nil {
		return nil, err
	}
	e := &Error{Condition: Symbol(f.string()), Description: f.string(), Info: f.mapping()}
	return e, f.err
}
