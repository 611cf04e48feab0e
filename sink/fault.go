package sink

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore"
)

// kind is what a failed write asks of the pool.
type kind uint8

const (
	transient   kind = iota // the same request may succeed: back off, again
	throttled               // wait as told, again
	storeFault              // no document is to blame: hold, again, not ready
	keyMismatch             // 400/1001: read the container's definition again
	rejected                // this document will never be accepted
)

// fault is a failed write, classified. Status is 0 when there was no answer.
type fault struct {
	kind       kind
	status     int
	subStatus  int
	retryAfter time.Duration // what the service asked for, 0 if nothing
	err        error
}

func (f *fault) Error() string {
	if f.status == 0 {
		return f.err.Error()
	}
	return fmt.Sprintf("cosmos DB: %v (sub-status %d)", f.err, f.subStatus)
}

func (f *fault) Unwrap() error { return f.err }

// Sub-statuses that change the meaning of a status
// (learn.microsoft.com/rest/api/cosmos-db/http-status-codes-for-cosmosdb).
const (
	subKeyMismatch   = 1001 // 400: the document's key is not the header's
	subOwnerNotFound = 1003 // 404: the container or database, not the document
	subQuotaReached  = 1014 // 403: the logical partition is full
)

// classify says what a failed request to Cosmos DB means.
func classify(err error) *fault {
	var response *azcore.ResponseError
	if !errors.As(err, &response) {
		// No answer: refused, reset, timed out. An upsert may be repeated even
		// when the first try was carried out.
		return &fault{kind: transient, err: err}
	}
	f := &fault{status: response.StatusCode, err: Brief(err)}
	if response.RawResponse != nil {
		f.subStatus, _ = strconv.Atoi(response.RawResponse.Header.Get("x-ms-substatus"))
		f.retryAfter = retryAfter(response.RawResponse.Header)
	}
	switch {
	case f.status == http.StatusTooManyRequests:
		f.kind = throttled
	case f.status == http.StatusBadRequest && f.subStatus == subKeyMismatch:
		f.kind = keyMismatch
	case f.status == http.StatusForbidden && f.subStatus == subQuotaReached:
		f.kind = rejected
	case f.status == http.StatusUnauthorized, f.status == http.StatusForbidden, f.status == http.StatusNotFound:
		f.kind = storeFault
	case f.status == http.StatusBadRequest, f.status == http.StatusRequestEntityTooLarge:
		f.kind = rejected
	default:
		// 408, 410, 449, 5xx, and whatever the service may invent: holding on
		// loses nothing, giving up might.
		f.kind = transient
	}
	return f
}

// retryAfter reads how long the service asks to wait. Cosmos DB sends
// milliseconds, possibly with a fraction; a proxy before it may send seconds.
func retryAfter(h http.Header) time.Duration {
	if ms, err := strconv.ParseFloat(h.Get("x-ms-retry-after-ms"), 64); err == nil && ms > 0 {
		return time.Duration(ms * float64(time.Millisecond))
	}
	if s, err := strconv.ParseFloat(h.Get("Retry-After"), 64); err == nil && s > 0 {
		return time.Duration(s * float64(time.Second))
	}
	return 0
}

// sleep waits for d or for the context's end, whose error it returns.
func sleep(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-timer.C:
		return nil
	}
}

// chargeOf reads the request units of an answer; a refusal costs some, too.
func chargeOf(h http.Header) float64 {
	units, err := strconv.ParseFloat(h.Get("x-ms-request-charge"), 64)
	if err != nil {
		return 0
	}
	return units
}

// rangeOf names the physical partition key range that answered. The service
// says so in a header of its own, or before the colon of the session token.
func rangeOf(h http.Header) string {
	if id := h.Get("x-ms-documentdb-partitionkeyrangeid"); id != "" {
		return id
	}
	if id, _, ok := strings.Cut(h.Get("x-ms-session-token"), ":"); ok {
		return id
	}
	return "unknown"
}
