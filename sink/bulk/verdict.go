package bulk

import (
	"math/rand/v2"
	"net/http"
	"time"
)

// verdict is what an answer asks of the writer, be it the answer to an
// operation or to a whole request.
type verdict uint8

const (
	verdictFinal     verdict = iota // the caller's to know
	verdictThrottled                // wait as told, with everything for this range
	verdictContended                // another write of the same document: soon again
	verdictTransient                // may be otherwise next time; may have taken effect
	verdictUnmoved                  // not carried out and no fault: at once again
	verdictMoved                    // the range is another one now
	verdictElsewhere                // the account is written at another address now
	verdictTooMuch                  // too much for one request or answer: fewer at once
	verdictStore                    // no operation is to blame: hold
	verdictRefused                  // of a whole request: as bulk request, or for one operation in it
)

// statusRetryWith is the service's own status for a write that met another one.
const statusRetryWith = 449

// Sub-statuses (github.com/Azure/azure-cosmos-dotnet-v3, SubStatusCodes).
const (
	subWriteForbidden    = 3    // 403
	subAccountNotFound   = 1008 // 403
	subSessionNotReached = 1002 // 404
	subOwnerMissing      = 1003 // 404: not the document, the container
	subPartitionFull     = 1014 // 403: 20 GB under one partition key
	subAnswerTooLarge    = 3402 // 413
)

// judge says what the answer to one operation means.
func judge(kind Kind, status, sub int) verdict {
	switch {
	case status < http.StatusBadRequest:
		return verdictFinal
	case status == http.StatusNotFound:
		switch {
		case sub == subSessionNotReached:
			return verdictTransient
		case sub == subOwnerMissing, kind == Upsert, kind == Create:
			return verdictStore // nothing but the container can be missing
		}
		return verdictFinal
	case status == http.StatusFailedDependency:
		return verdictUnmoved
	case status == http.StatusRequestEntityTooLarge && sub == subAnswerTooLarge:
		return verdictTooMuch
	case status == http.StatusForbidden && sub == subPartitionFull:
		return verdictFinal
	}
	switch status {
	case http.StatusBadRequest, http.StatusConflict, http.StatusPreconditionFailed, http.StatusRequestEntityTooLarge:
		return verdictFinal
	}
	return judgeStore(status, sub)
}

// judgeRequest says what the answer to a whole request means. Answers below 300
// are not asked about.
func judgeRequest(status, sub int) verdict {
	switch status {
	case http.StatusRequestEntityTooLarge:
		return verdictTooMuch
	case http.StatusNotFound:
		return verdictStore
	case http.StatusBadRequest, http.StatusMethodNotAllowed, http.StatusNotImplemented:
		return verdictRefused
	}
	return judgeStore(status, sub)
}

// judgeStore judges what means the same for one operation and for a request.
func judgeStore(status, sub int) verdict {
	switch {
	case status == http.StatusTooManyRequests:
		return verdictThrottled
	case status == statusRetryWith:
		return verdictContended
	case status == http.StatusGone:
		// 1000, 1002, 1007 and 1008 are known; whatever else may be gone, asking
		// where things are now is the answer.
		return verdictMoved
	case isMovedWrite(status, sub):
		return verdictElsewhere
	case status == http.StatusUnauthorized, status == http.StatusForbidden:
		return verdictStore
	}
	// 408, 5xx, and whatever the service may invent: holding on loses nothing,
	// giving up might.
	return verdictTransient
}

// isMovedWrite tells whether an answer means that writes go elsewhere now:
// 403/3 (write forbidden) and 403/1008 (account not found here).
func isMovedWrite(status, sub int) bool {
	return status == http.StatusForbidden && (sub == subWriteForbidden || sub == subAccountNotFound)
}

// Pauses after 449: contention ends by itself, and soon.
const (
	contendedFirst = 10 * time.Millisecond
	contendedMost  = time.Second
)

// backOff is the pause before the try after so many failures in a row, 1 or
// more: doubled each time, and varied so that those who failed together do not
// come back together.
func backOff(first, most time.Duration, failures int) time.Duration {
	d := most
	if shift := failures - 1; shift < 30 && first<<shift < most {
		d = first << shift
	}
	return d/2 + rand.N(d)
}
