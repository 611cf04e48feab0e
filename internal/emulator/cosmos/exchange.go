package cosmos

import (
	"crypto/rand"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"strings"
	"time"
)

// exchange is one request on its way to its answer.
type exchange struct {
	s        *Server
	r        *http.Request
	target   target
	body     []byte // reused after the answer
	activity string
	fault    Fault
}

// op is what controllers know the request as.
func (x *exchange) op() Op {
	switch x.target.kind {
	case kindAccount:
		return AccountRequest
	case kindRanges:
		return RangesRequest
	case kindDocument:
		return PointRequest
	case kindDocuments:
		h := x.r.Header
		switch {
		case x.r.Method == http.MethodGet || isQuery(x.r):
			return QueryRequest
		case !isBatch(x.r):
			return PointRequest
		case strings.EqualFold(h.Get(headerBatchAtomic), "true"):
			return BatchRequest
		default:
			return BulkRequest
		}
	}
	return MetadataRequest
}

// call describes the request to controllers, or an operation in it.
func (x *exchange) call(rangeID string, op *operation) Call {
	c := Call{
		Method:    x.r.Method,
		Path:      x.r.URL.Path,
		Database:  x.target.database,
		Container: x.target.coll,
		Range:     rangeID,
	}
	if op != nil {
		c.Key, c.ID = keyJSON(string(op.key)), string(op.id)
	}
	return c
}

// takeDelay returns the delay before the call takes effect, once.
func (f *Fault) takeDelay() time.Duration {
	d := f.Delay
	f.Delay = 0
	return d
}

// unanswered tells that the connection is to be broken before anything takes
// effect.
func (x *exchange) unanswered() bool { return x.fault.Reset && !x.fault.Applied }

// run serves the request under its fault: delay, effect, delay.
func (x *exchange) run() *reply {
	latency := time.Duration(x.s.latency.Load())
	x.fault = x.s.controls.fault(x.op(), func() Call { return x.call(x.r.Header.Get(headerRangeID), nil) })
	answered := x.fault // what operations add concerns the connection only
	x.s.wait(latency/2 + x.fault.takeDelay())
	var out *reply
	switch {
	case x.unanswered():
		out = &reply{}
	case answered.Status != 0 && !answered.Applied:
		out = answered.reply(&x.s.charges)
	default:
		if out = x.s.dispatch(x); answered.Status != 0 {
			out = answered.reply(&x.s.charges)
		}
	}
	x.s.wait(latency - latency/2 + x.fault.DelayAnswer)
	return out
}

// send sends the answer, or breaks the connection as the fault wants.
func (x *exchange) send(w http.ResponseWriter, out *reply) {
	switch {
	case x.fault.Reset, x.fault.Truncate && len(out.body) == 0 && out.message == "":
		breakConnection(w)
	case x.fault.Truncate:
		out.write(w, x.activity, true)
	default:
		out.write(w, x.activity, false)
	}
}

// breakConnection ends a connection the way a crashed peer does.
func breakConnection(w http.ResponseWriter) {
	conn, _, err := http.NewResponseController(w).Hijack()
	if err != nil {
		panic(http.ErrAbortHandler) // ends it as well, less rudely
	}
	if tcp, ok := conn.(*net.TCPConn); ok {
		_ = tcp.SetLinger(0) // a reset instead of a goodbye
	}
	_ = conn.Close()
}

// isBatch tells a request of many operations.
func isBatch(r *http.Request) bool {
	return strings.EqualFold(r.Header.Get(headerIsBatch), "true")
}

// minimal tells that a client does not want to see what it wrote.
func minimal(r *http.Request) bool {
	return strings.EqualFold(r.Header.Get(headerPrefer), "return=minimal")
}

// decode reads JSON into a struct; its errors speak to clients.
func decode(body []byte, into any) error {
	err := json.Unmarshal(body, into)
	var syntax *json.SyntaxError
	var kind *json.UnmarshalTypeError
	switch {
	case errors.As(err, &syntax):
		return fmt.Errorf("invalid json at offset %d", syntax.Offset)
	case errors.As(err, &kind):
		return fmt.Errorf("%q must not be a json %s", kind.Field, kind.Value)
	}
	return err
}

// newActivityID names a request whose client did not, in the form of a UUID.
func newActivityID() string {
	var b [16]byte
	_, _ = rand.Read(b[:]) // never fails
	b[6], b[8] = b[6]&0x0f|0x40, b[8]&0x3f|0x80
	h := hex.EncodeToString(b[:])
	return h[:8] + "-" + h[8:12] + "-" + h[12:16] + "-" + h[16:20] + "-" + h[20:]
}
