package cosmos

import (
	"encoding/json"
	"math"
	"net/http"
	"strconv"
	"time"

	"warmpath/internal/emulator/cosmos/rawjson"
)

// Names of headers, in the canonical form in which net/http keeps them.
const (
	headerAIM             = "A-Im"
	headerActivity        = "X-Ms-Activity-Id"
	headerAuthorization   = "Authorization"
	headerBatchAtomic     = "X-Ms-Cosmos-Batch-Atomic"
	headerBatchContinue   = "X-Ms-Cosmos-Batch-Continue-On-Error"
	headerCharge          = "X-Ms-Request-Charge"
	headerContinuation    = "X-Ms-Continuation"
	headerCrossPartition  = "X-Ms-Documentdb-Query-Enablecrosspartition"
	headerDate            = "X-Ms-Date"
	headerETag            = "Etag"
	headerIfMatch         = "If-Match"
	headerIfNoneMatch     = "If-None-Match"
	headerIsBatch         = "X-Ms-Cosmos-Is-Batch-Request"
	headerItemCount       = "X-Ms-Item-Count"
	headerMaxItemCount    = "X-Ms-Max-Item-Count"
	headerOfferAutoscale  = "X-Ms-Cosmos-Offer-Autopilot-Settings"
	headerOfferThroughput = "X-Ms-Offer-Throughput"
	headerPartitionKey    = "X-Ms-Documentdb-Partitionkey"
	headerPrefer          = "Prefer"
	headerQuery           = "X-Ms-Documentdb-Query"
	headerQueryOld        = "X-Ms-Documentdb-Isquery"
	headerQueryPlan       = "X-Ms-Cosmos-Is-Query-Plan-Request"
	headerRangeID         = "X-Ms-Documentdb-Partitionkeyrangeid"
	headerRetryAfter      = "X-Ms-Retry-After-Ms"
	headerSession         = "X-Ms-Session-Token"
	headerSubStatus       = "X-Ms-Substatus"
	headerUpsert          = "X-Ms-Documentdb-Is-Upsert"
	headerVersion         = "X-Ms-Version"
)

// metadataCharge is what requests on databases, containers and offers report.
// The service meters them apart from documents.
const metadataCharge = 1

// reply is the answer to a request, before it is written.
type reply struct {
	status       int
	sub          int
	etag         string
	charge       float64
	session      string
	rangeID      string
	continuation string
	itemCount    int
	retryAfter   time.Duration
	code         string // of a failure
	message      string // of a failure; the body is made of it
	body         []byte
}

func failure(status, sub int, message string) *reply {
	return &reply{status: status, sub: sub, code: errorCode(status), message: message}
}

func badRequest(message string) *reply { return failure(http.StatusBadRequest, 0, message) }

func notFound(sub int) *reply {
	return failure(http.StatusNotFound, sub, "Resource Not Found. Learn more: https://aka.ms/cosmosdb-tsg-not-found")
}

// unsupported refuses what the service may know and this server does not.
func unsupported(r *http.Request) *reply {
	return failure(http.StatusNotImplemented, 0, r.Method+" on this resource is not supported by this server.")
}

// errorCode is the name that the service gives a status in its error bodies.
func errorCode(status int) string {
	switch status {
	case http.StatusBadRequest:
		return "BadRequest"
	case http.StatusUnauthorized:
		return "Unauthorized"
	case http.StatusForbidden:
		return "Forbidden"
	case http.StatusNotFound:
		return "NotFound"
	case http.StatusRequestTimeout:
		return "RequestTimeout"
	case http.StatusConflict:
		return "Conflict"
	case http.StatusGone:
		return "Gone"
	case http.StatusPreconditionFailed:
		return "PreconditionFailed"
	case http.StatusRequestEntityTooLarge:
		return "RequestEntityTooLarge"
	case http.StatusTooManyRequests:
		return "TooManyRequests"
	case statusRetryWith:
		return "RetryWith"
	case http.StatusServiceUnavailable:
		return "ServiceUnavailable"
	case http.StatusNotImplemented:
		return "NotImplemented"
	}
	return "InternalServerError"
}

// statusRetryWith is the service's own status for a write that met another one
// and should be sent again.
const statusRetryWith = 449

// metadata answers with a resource.
func metadata(status int, v any, etag string) *reply {
	body, err := json.Marshal(v)
	if err != nil {
		return failure(http.StatusInternalServerError, 0, err.Error())
	}
	return &reply{status: status, etag: etag, charge: metadataCharge, body: body}
}

// feed answers with a list of resources.
func feed(rid, name string, list []any) *reply {
	if list == nil {
		list = []any{}
	}
	out := metadata(http.StatusOK, map[string]any{"_rid": rid, name: list, "_count": len(list)}, "")
	out.itemCount = len(list)
	return out
}

// queriedFeed answers with those of a list of resources that a query wants, or
// with all of them if the request is no query.
func queriedFeed(r *http.Request, body []byte, rid, name string, list []any) *reply {
	if !isQuery(r) {
		return feed(rid, name, list)
	}
	q, err := parseQuery(body)
	if err != nil {
		return badRequest(err.Error())
	}
	if q.NeedsOnePartition() {
		return badRequest("Queries on " + name + " that order, count or cut are not supported by this server.")
	}
	var wanted []any
	for _, v := range list {
		raw, err := json.Marshal(v)
		if err != nil {
			return failure(http.StatusInternalServerError, 0, err.Error())
		}
		ok, err := q.Matches(raw)
		if err != nil {
			return badRequest(err.Error())
		}
		if ok && !q.All {
			if raw, ok, err = q.Project(nil, raw); err != nil {
				return badRequest(err.Error())
			}
		}
		if ok {
			wanted = append(wanted, json.RawMessage(raw))
		}
	}
	return feed(rid, name, wanted)
}

// write sends the reply, or with truncated only half of its body.
func (p *reply) write(w http.ResponseWriter, activity string, truncated bool) {
	h := w.Header()
	h[headerActivity] = []string{activity}
	h[headerCharge] = []string{string(appendCharge(nil, p.charge))}
	h["X-Ms-Gatewayversion"] = []string{"version=2.14.0"}
	if p.sub != 0 {
		h[headerSubStatus] = []string{strconv.Itoa(p.sub)}
	}
	if p.etag != "" {
		h[headerETag] = []string{p.etag}
	}
	if p.session != "" {
		h[headerSession] = []string{p.session}
	}
	if p.rangeID != "" {
		h[headerRangeID] = []string{p.rangeID}
	}
	if p.continuation != "" {
		h[headerContinuation] = []string{p.continuation}
	}
	if p.itemCount > 0 {
		h[headerItemCount] = []string{strconv.Itoa(p.itemCount)}
	}
	if p.retryAfter > 0 {
		h[headerRetryAfter] = []string{strconv.FormatInt(p.retryAfter.Milliseconds(), 10)}
	}
	body := p.body
	if p.message != "" {
		inner := string(rawjson.AppendQuoted([]byte(`Message: {"Errors":[`), p.message))
		body = append([]byte(`{"code":"`), p.code...)
		body = append(body, `","message":`...)
		body = rawjson.AppendQuoted(body, inner+"]}\r\nActivityId: "+activity+", Microsoft.Azure.Documents.Common/2.14.0")
		body = append(body, '}')
	}
	if len(body) > 0 {
		h["Content-Type"] = []string{"application/json"}
	}
	if p.status != http.StatusNoContent && p.status != http.StatusNotModified {
		h["Content-Length"] = []string{strconv.Itoa(len(body))}
	}
	w.WriteHeader(p.status)
	if truncated {
		body = body[:len(body)/2] // the length was promised, so the connection ends
	}
	// A client that went away is none of the server's business.
	_, _ = w.Write(body)
}

// roundCharge rounds request units to what is shown of them.
func roundCharge(charge float64) float64 { return math.Round(charge*100) / 100 }

// appendCharge writes request units the way the service does, with up to two
// decimals.
func appendCharge(dst []byte, charge float64) []byte {
	cents := int64(math.Round(charge * 100))
	dst = strconv.AppendInt(dst, cents/100, 10)
	switch cents %= 100; {
	case cents == 0:
	case cents%10 == 0:
		dst = append(dst, '.', byte('0'+cents/10))
	default:
		dst = append(dst, '.', byte('0'+cents/10), byte('0'+cents%10))
	}
	return dst
}
