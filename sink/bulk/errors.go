package bulk

import (
	"errors"
	"fmt"
)

var (
	// ErrNotSupported means that the container or the service does not take
	// bulk requests: the container's keys are hashed by version 1, or the
	// service refuses the request as such.
	ErrNotSupported = errors.New("bulk requests are not supported")
	// ErrNotAdmitted finishes an operation that [Config.Admit] did not let go.
	ErrNotAdmitted = errors.New("the operation was not admitted")
	// ErrClosed answers Submit after Close.
	ErrClosed = errors.New("the bulk writer is closed")
	// ErrInvalid is wrapped by Submit's errors about the operation itself.
	ErrInvalid = errors.New("invalid operation")
)

// StatusError is a refusal by the service. It holds no part of the service's
// message, which may repeat parts of the document.
type StatusError struct {
	Status    int // of HTTP, such as 409
	SubStatus int // the service's own refinement, 0 if there is none
}

func (e *StatusError) Error() string {
	return fmt.Sprintf("cosmos DB answered %d/%d", e.Status, e.SubStatus)
}
