package bulk

import "fmt"

// StatusError is a refusal of an operation by the service.
type StatusError struct {
	Status    int // of HTTP, such as 409
	SubStatus int // the service's own refinement, 0 if there is none
}

func (e *StatusError) Error() string {
	return fmt.Sprintf("cosmos DB answered %d/%d", e.Status, e.SubStatus)
}
