package bulk

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"runtime"
	"strconv"
	"time"

	azruntime "github.com/Azure/azure-sdk-for-go/sdk/azcore/runtime"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore/policy"
	"github.com/Azure/azure-sdk-for-go/sdk/azcore/streaming"
)

// apiVersion is the version of the REST interface that is spoken
// (learn.microsoft.com/rest/api/cosmos-db). Bulk requests in JSON are the same
// in it as in the version that the JavaScript SDK names.
const apiVersion = "2020-11-05"

// Names of headers in the canonical form in which net/http keeps them.
const (
	headerActivity      = "X-Ms-Activity-Id"
	headerAuthorization = "Authorization"
	headerCharge        = "X-Ms-Request-Charge"
	headerContinuation  = "X-Ms-Continuation"
	headerDate          = "X-Ms-Date"
	headerRangeID       = "X-Ms-Documentdb-Partitionkeyrangeid"
	headerRetryAfter    = "X-Ms-Retry-After-Ms"
	headerSubStatus     = "X-Ms-Substatus"
)

// client sends requests to one container. It is safe for concurrent use.
type client struct {
	target    Target
	now       func() time.Time
	pipeline  azruntime.Pipeline
	endpoints *endpoints
	bulk      http.Header // of every bulk request; not to be changed
	common    http.Header // of every other request; not to be changed
	idle      func()      // closes idle connections of our own transport
}

func newClient(target Target, config *Config, now func() time.Time) (*client, error) {
	configured, err := target.endpoint(target.Endpoint)
	if err != nil {
		return nil, fmt.Errorf("endpoint %q: %w", target.Endpoint, err)
	}
	c := &client{target: target, now: now, idle: func() {}}
	c.endpoints = newEndpoints(configured, c)

	agent := "cosmos-bulk-go/1 (" + runtime.Version() + "; " + runtime.GOOS + ")"
	if id := config.Client.Telemetry.ApplicationID; id != "" {
		agent = id + " " + agent
	}
	c.common = http.Header{
		"Accept":       {"application/json"},
		"User-Agent":   {agent},
		"X-Ms-Version": {apiVersion},
	}
	c.bulk = c.common.Clone()
	for name, value := range map[string]string{
		"Content-Type":                        "application/json",
		"Prefer":                              "return=minimal",
		"X-Ms-Cosmos-Is-Batch-Request":        "true",
		"X-Ms-Cosmos-Batch-Atomic":            "false",
		"X-Ms-Cosmos-Batch-Continue-On-Error": "true",
	} {
		c.bulk[name] = []string{value}
	}
	if config.PriorityLevel != "" {
		c.bulk["X-Ms-Cosmos-Priority-Level"] = []string{config.PriorityLevel}
	}
	if config.ThroughputBucket != 0 {
		c.bulk["X-Ms-Cosmos-Throughput-Bucket"] = []string{strconv.Itoa(config.ThroughputBucket)}
	}

	options := config.Client
	options.Telemetry.Disabled = true // the agent above says who we are
	// The writer is the one owner of retries.
	options.Retry = policy.RetryOptions{MaxRetries: -1, TryTimeout: config.RequestTimeout}
	if options.Transport == nil {
		own := newTransport()
		options.Transport, c.idle = own, own.CloseIdleConnections
	}
	options.Transport = carrier{options.Transport}
	c.pipeline = azruntime.NewPipeline("bulk", "v1", azruntime.PipelineOptions{
		PerRetry: []policy.Policy{authPolicy{c}},
		Tracing:  azruntime.TracingOptions{Namespace: "Microsoft.DocumentDB"},
	}, &options)
	return c, nil
}

// authPolicy signs a request, or adds the token to it.
type authPolicy struct{ client *client }

func (p authPolicy) Do(req *policy.Request) (*http.Response, error) {
	var s scope
	req.OperationValue(&s)
	authorization, date, err := p.client.target.Credential.authorize(req.Raw().Context(), s, p.client.now())
	if err != nil {
		return nil, &unsentError{err}
	}
	h := req.Raw().Header
	h[headerAuthorization] = []string{authorization}
	h[headerDate] = []string{date}
	res, err := req.Next()
	if err == nil && res.StatusCode == http.StatusUnauthorized {
		p.client.target.Credential.refused(authorization)
	}
	return res, err
}

// request makes a request that is signed on its way.
func (c *client) request(ctx context.Context, base string, verb, path, resourceType, link string, header http.Header) (*policy.Request, error) {
	req, err := azruntime.NewRequest(ctx, verb, base+path)
	if err != nil {
		return nil, err
	}
	h := req.Raw().Header
	for name, values := range header {
		h[name] = values
	}
	h[headerActivity] = []string{newActivityID()}
	req.SetOperationValue(scope{verb, resourceType, link, c.endpoints.audience})
	return req, nil
}

// response is the answer to a request as far as the writer asks about it.
type response struct {
	status     int
	subStatus  int
	charge     float64
	retryAfter time.Duration
}

func readResponse(res *http.Response) response {
	r := response{status: res.StatusCode}
	h := res.Header
	r.subStatus, _ = strconv.Atoi(h.Get(headerSubStatus))
	r.charge, _ = strconv.ParseFloat(h.Get(headerCharge), 64)
	if ms, err := strconv.ParseFloat(h.Get(headerRetryAfter), 64); err == nil {
		r.retryAfter = milliseconds(ms)
	} else if s, err := strconv.ParseFloat(h.Get("Retry-After"), 64); err == nil {
		r.retryAfter = milliseconds(1000 * s) // of a proxy
	}
	return r
}

// postBulk sends a bulk request to a physical range. On success the body of the
// answer is in answerText. An error means that there is no whole answer, and
// that the request may have taken effect unless isUnsent says otherwise.
func (c *client) postBulk(ctx context.Context, rangeID string, p *payload, answerText *bytes.Buffer) (response, error) {
	at := c.endpoints.current()
	req, err := c.request(withPayload(ctx, p), at, http.MethodPost, c.target.path()+"/docs", "docs", c.target.link(), c.bulk)
	if err != nil {
		return response{}, err
	}
	req.Raw().Header[headerRangeID] = []string{rangeID}
	if err := req.SetBody(streaming.NopCloser(bytes.NewReader(p.text)), "application/json"); err != nil {
		return response{}, err
	}
	azruntime.SkipBodyDownload(req)
	res, err := c.pipeline.Do(req)
	if err != nil {
		c.endpoints.failed(at, isConnect(err))
		return response{}, fmt.Errorf("bulk request to range %s: %w", rangeID, err)
	}
	defer func() { _ = res.Body.Close() }()
	r := readResponse(res)
	if isMovedWrite(r.status, r.subStatus) {
		c.endpoints.refused(at)
	} else {
		c.endpoints.reached(at)
	}
	if r.status >= http.StatusMultipleChoices {
		_, _ = io.CopyN(io.Discard, res.Body, maxErrorBody)
		return r, nil
	}
	answerText.Reset()
	if res.ContentLength > 0 && res.ContentLength <= maxAnswer {
		answerText.Grow(int(res.ContentLength) + bytes.MinRead)
	}
	if n, err := answerText.ReadFrom(io.LimitReader(res.Body, maxAnswer+1)); err != nil {
		return response{}, fmt.Errorf("read the answer of range %s: %w", rangeID, err)
	} else if n > maxAnswer {
		return response{}, fmt.Errorf("the answer of range %s has more than %d bytes", rangeID, maxAnswer)
	}
	return r, nil
}

const (
	// maxAnswer is above the service's limit of 4 MiB for an answer.
	maxAnswer = 5 << 20
	// maxErrorBody is what of a refusal's body is read so that the connection
	// can be used again.
	maxErrorBody = 64 << 10
)

// get reads a resource's JSON into v. A refusal is a *StatusError.
func (c *client) get(ctx context.Context, base, path, resourceType, link string, header http.Header, v any) (http.Header, error) {
	req, err := c.request(ctx, base, http.MethodGet, path, resourceType, link, header)
	if err != nil {
		return nil, err
	}
	res, err := c.pipeline.Do(req)
	if err != nil {
		c.endpoints.failed(base, isConnect(err))
		return nil, err
	}
	c.endpoints.reached(base)
	body, err := azruntime.Payload(res)
	if err != nil {
		return nil, err
	}
	if res.StatusCode != http.StatusOK {
		r := readResponse(res)
		return nil, &StatusError{Status: r.status, SubStatus: r.subStatus}
	}
	if err := json.Unmarshal(body, v); err != nil {
		return nil, err
	}
	return res.Header, nil
}

// isConnect tells whether a request failed because there was no connection.
func isConnect(err error) bool {
	var op *net.OpError
	return errors.As(err, &op) && op.Op == "dial"
}

// unsentError is a failure before anything was sent.
type unsentError struct{ error }

func (e *unsentError) Unwrap() error { return e.error }

// isUnsent tells whether a request failed before any of it was sent.
func isUnsent(err error) bool {
	var unsent *unsentError
	return errors.As(err, &unsent) || isConnect(err)
}

// newActivityID names a request, in the form of a UUID, for the service's logs.
func newActivityID() string {
	var b [16]byte
	_, _ = rand.Read(b[:]) // never fails
	b[6], b[8] = b[6]&0x0f|0x40, b[8]&0x3f|0x80
	var text [36]byte
	hex.Encode(text[:], b[:4])
	text[8] = '-'
	hex.Encode(text[9:], b[4:6])
	text[13] = '-'
	hex.Encode(text[14:], b[6:8])
	text[18] = '-'
	hex.Encode(text[19:], b[8:10])
	text[23] = '-'
	hex.Encode(text[24:], b[10:])
	return string(text[:])
}
