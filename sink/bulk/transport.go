package bulk

import (
	"bytes"
	"context"
	"io"
	"net"
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore/policy"
)

// newTransport is how requests travel unless the caller brings a transport.
func newTransport() *http.Client {
	dialer := net.Dialer{Timeout: 5 * time.Second, KeepAlive: 30 * time.Second}
	return &http.Client{
		Transport: &http.Transport{
			Proxy:               http.ProxyFromEnvironment,
			DialContext:         dialer.DialContext,
			TLSHandshakeTimeout: 5 * time.Second,
			IdleConnTimeout:     90 * time.Second,
			ForceAttemptHTTP2:   true,
			// There are never more connections than lanes times ranges, and every
			// one that is closed for want of room here must be made anew for the
			// next request.
			MaxIdleConnsPerHost: 1 << 16,
			// A request of small documents leaves in one system call, and its
			// answer arrives in one.
			WriteBufferSize: 64 << 10,
			ReadBufferSize:  16 << 10,
		},
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
}

// payload is the body of a request in a buffer that is used again. A transport
// may go on reading a body after it has returned the answer, until it closes
// it (net/http.RoundTripper): the buffer is free when writer and transport are
// both through with it.
type payload struct {
	text  []byte
	users atomic.Int32
	pool  *sync.Pool
}

// release gives up one use.
func (p *payload) release() {
	if p.users.Add(-1) == 0 && cap(p.text) <= maxKept {
		p.pool.Put(p)
	}
}

// maxKept is the largest buffer that is kept: a rare huge request should not
// hold its memory for ever.
const maxKept = 1 << 20

// open returns the payload as a body.
func (p *payload) open() io.ReadCloser {
	p.users.Add(1)
	r := &payloadReader{payload: p}
	r.Reset(p.text)
	return r
}

type payloadReader struct {
	bytes.Reader
	payload *payload
	closed  atomic.Bool
}

func (r *payloadReader) Close() error {
	if r.closed.CompareAndSwap(false, true) {
		r.payload.release()
	}
	return nil
}

type payloadKey struct{}

// carrier puts the payload in place of the body that the pipeline carries,
// whose closing the pipeline hides from us.
type carrier struct{ next policy.Transporter }

func (c carrier) Do(req *http.Request) (*http.Response, error) {
	if p, ok := req.Context().Value(payloadKey{}).(*payload); ok {
		req.Body = p.open()
		req.GetBody = func() (io.ReadCloser, error) { return p.open(), nil }
	}
	return c.next.Do(req)
}

// withPayload marks the requests of a context as carrying p.
func withPayload(ctx context.Context, p *payload) context.Context {
	return context.WithValue(ctx, payloadKey{}, p)
}
