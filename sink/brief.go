package sink

import (
	"errors"
	"fmt"
	"net/http"
	"strings"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore"
)

// Brief makes the text of an Azure service's error one line: status and code.
// The SDK's own text is a page, and Cosmos DB repeats parts of the document in
// it, which has no place in a log (promise 9). The error itself stays within
// reach of errors.As.
func Brief(err error) error {
	var response *azcore.ResponseError
	if !errors.As(err, &response) {
		return err
	}
	return &briefError{err, response}
}

type briefError struct {
	error
	response *azcore.ResponseError
}

func (b *briefError) Error() string {
	code := b.response.ErrorCode
	if code == "" {
		code = http.StatusText(b.response.StatusCode)
	}
	short := fmt.Sprintf("%d %s", b.response.StatusCode, strings.TrimPrefix(code, fmt.Sprint(b.response.StatusCode)+" "))
	return strings.ReplaceAll(b.error.Error(), b.response.Error(), short)
}

func (b *briefError) Unwrap() error { return b.error }
