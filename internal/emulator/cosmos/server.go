package cosmos

import (
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"hash/fnv"
	"io"
	"log/slog"
	"math"
	"net"
	"net/http"
	"sync"
	"sync/atomic"
	"time"
)

// Server is a running server. All its methods may be called from any goroutine.
type Server struct {
	log         *slog.Logger
	now         func() time.Time
	key         string
	secret      []byte
	ranges      int
	window      Window
	noise       float64
	seed        uint64
	charges     ChargeModel
	keepJournal bool
	checkToken  func(string) bool

	listener net.Listener
	http     *http.Server
	closing  chan struct{} // closed when Close begins
	served   chan struct{} // closed when the accept loop has ended

	latency atomic.Int64  // of every request, in nanoseconds
	perUnit atomic.Uint64 // request units a range may use in a second, as bits of a float64
	version atomic.Uint64 // number of the last write to anything
	bodies  sync.Pool     // of *[]byte, for request bodies
	batches sync.Pool     // of *batch

	controls   controls
	advertised atomic.Pointer[[]string] // endpoints that the account names; nil: its own

	// mu covers what follows. It may be held when a container's mutex is taken,
	// never the other way round.
	mu        sync.RWMutex
	databases map[string]*database
	nextRID   uint64

	// life covers what follows and nothing else.
	life     sync.Mutex
	closed   bool
	inFlight sync.WaitGroup // requests being handled
}

// Start starts a server on loopback. It is empty: databases and containers are
// created by clients or by [Server.CreateContainer].
func Start(opts ...Option) (*Server, error) {
	cfg := defaultConfig()
	for _, opt := range opts {
		opt(&cfg)
	}
	secret, err := base64.StdEncoding.DecodeString(cfg.key)
	if err != nil || len(secret) == 0 {
		return nil, errors.New("cosmos emulator: the key is not base64")
	}
	if cfg.ranges < 1 || cfg.ranges > maxRanges {
		return nil, fmt.Errorf("cosmos emulator: %d ranges: want 1 to %d", cfg.ranges, maxRanges)
	}
	listener, err := net.Listen("tcp", cfg.address)
	if err != nil {
		return nil, fmt.Errorf("cosmos emulator: %w", err)
	}
	s := &Server{
		log: cfg.log, now: cfg.now, key: cfg.key, secret: secret, ranges: cfg.ranges,
		window: cfg.window, noise: cfg.noise, seed: cfg.seed, charges: cfg.charges,
		keepJournal: cfg.journal, checkToken: cfg.checkToken,
		listener:  listener,
		closing:   make(chan struct{}),
		served:    make(chan struct{}),
		databases: make(map[string]*database),
	}
	s.latency.Store(int64(cfg.latency))
	s.perUnit.Store(math.Float64bits(cfg.ruPerRange))
	s.http = &http.Server{
		Handler:           http.HandlerFunc(s.serve),
		ReadHeaderTimeout: 30 * time.Second,
		ErrorLog:          slog.NewLogLogger(cfg.log.Handler(), slog.LevelDebug),
	}
	go func() {
		defer close(s.served)
		if err := s.http.Serve(listener); !errors.Is(err, http.ErrServerClosed) {
			s.log.Error("cosmos emulator stopped accepting", "error", err)
		}
	}()
	s.log.Info("cosmos emulator started", "endpoint", s.Endpoint(), "ranges", s.ranges)
	return s, nil
}

// maxRanges keeps a mistaken setting from making a server of nothing but ranges.
const maxRanges = 10_000

// Endpoint is the URL of the account, such as http://127.0.0.1:8081/. A server
// that listens on every interface names the loopback one.
func (s *Server) Endpoint() string {
	addr := s.listener.Addr().(*net.TCPAddr)
	host := addr.IP.String()
	if addr.IP.IsUnspecified() {
		host = "127.0.0.1"
	}
	return "http://" + net.JoinHostPort(host, fmt.Sprint(addr.Port)) + "/"
}

// Key is the account key, in base64.
func (s *Server) Key() string { return s.key }

// ConnectionString holds the endpoint and the key, as SDKs take them.
func (s *Server) ConnectionString() string {
	return "AccountEndpoint=" + s.Endpoint() + ";AccountKey=" + s.key + ";"
}

// SetLatency changes what [WithLatency] set, for requests that begin from now
// on.
func (s *Server) SetLatency(d time.Duration) { s.latency.Store(int64(d)) }

// SetRUPerRange changes what [WithRUPerRange] set, for all containers at once.
func (s *Server) SetRUPerRange(n float64) {
	s.perUnit.Store(math.Float64bits(n))
	s.mu.RLock()
	defer s.mu.RUnlock()
	for _, c := range s.everyContainer() {
		for _, p := range c.routing.Load().ranges {
			p.mu.Lock()
			p.budget.perSecond = n
			p.mu.Unlock()
		}
	}
}

func (s *Server) newBudget(rangeID string) budget {
	h := fnv.New64a()
	_, _ = h.Write([]byte(rangeID)) // never fails
	return newBudget(math.Float64frombits(s.perUnit.Load()), s.window, s.noise, s.seed^h.Sum64())
}

// Close stops the server and waits for its goroutines. Requests that wait for
// their latency are answered at once. What was stored can still be looked at.
func (s *Server) Close() error {
	s.life.Lock()
	first := !s.closed
	s.closed = true
	s.life.Unlock()
	if !first {
		<-s.served
		return nil
	}
	close(s.closing)
	// 1. Requests end by themselves once closing is closed, except those reading
	// a body from a client that sends none.
	answered := make(chan struct{})
	go func() {
		s.inFlight.Wait()
		close(answered)
	}()
	select {
	case <-answered:
	case <-time.After(2 * time.Second):
	}
	// 2. What they answered is sent.
	ctx, cancel := context.WithTimeout(context.Background(), 250*time.Millisecond)
	defer cancel()
	err := s.http.Shutdown(ctx)
	// 3. Connections that are left, unused ones among them, are broken.
	if errors.Is(err, context.DeadlineExceeded) {
		err = s.http.Close()
	}
	<-s.served
	<-answered
	s.log.Info("cosmos emulator closed")
	return err
}

// begin counts a request in, unless the server is closing.
func (s *Server) begin() bool {
	s.life.Lock()
	defer s.life.Unlock()
	if s.closed {
		return false
	}
	s.inFlight.Add(1)
	return true
}

// serve handles one request: signature, body, effect, answer.
func (s *Server) serve(w http.ResponseWriter, r *http.Request) {
	x := &exchange{s: s, r: r, activity: r.Header.Get(headerActivity)}
	if x.activity == "" {
		x.activity = newActivityID()
	}
	if !s.begin() {
		x.send(w, failure(http.StatusServiceUnavailable, 0, "The server is shutting down."))
		return
	}
	defer s.inFlight.Done()

	var ok bool
	if x.target, ok = parseTarget(r.URL.EscapedPath()); !ok {
		x.send(w, badRequest("The path is malformed."))
		return
	}
	if refused := s.authenticate(r, &x.target); refused != nil {
		x.send(w, refused)
		return
	}
	buf := s.getBody()
	defer s.bodies.Put(buf)
	body, tooLarge, err := readBody(r, *buf)
	*buf = body
	switch {
	case err != nil: // the client went away
	case tooLarge:
		x.send(w, failure(http.StatusRequestEntityTooLarge, 0, messageTooLarge))
	default:
		x.body = body
		x.send(w, x.run())
	}
}

// dispatch runs the request on the resource it addresses.
func (s *Server) dispatch(x *exchange) *reply {
	r, t := x.r, &x.target
	switch t.kind {
	case kindAccount:
		return s.serveAccount(r)
	case kindDatabases:
		return s.serveDatabases(r, x.body)
	case kindDatabase:
		return s.serveDatabase(r, t.database)
	case kindContainers:
		return s.serveContainers(r, t.database, x.body)
	case kindContainer:
		return s.serveContainer(r, t.database, t.coll, x.body)
	case kindOffers:
		return s.serveOffers(r, x.body)
	case kindOffer:
		return s.serveOffer(r, t.item, x.body)
	case kindUnknown:
		return unsupported(r)
	}
	c := s.container(t.database, t.coll)
	if c == nil {
		return notFound(subOwnerMissing)
	}
	switch t.kind {
	case kindRanges:
		return s.serveRanges(r, c)
	case kindDocuments:
		return c.serveDocuments(x)
	default:
		return c.serveDocument(x)
	}
}

// wait sleeps, unless the server is closing.
func (s *Server) wait(d time.Duration) {
	if d <= 0 {
		return
	}
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-s.closing:
	}
}

func (s *Server) getBody() *[]byte {
	if b, ok := s.bodies.Get().(*[]byte); ok {
		return b
	}
	return new([]byte)
}

// maxBody leaves room for a document of the largest size with white space
// around it, so that the document's own limit decides.
const maxBody = maxDocument + 4096

// readBody reads a request's body into buf, or tells that it is too large. What
// is too large is read to its end, within reason: a client that is still
// sending would otherwise see its connection reset rather than the answer.
func readBody(r *http.Request, buf []byte) (body []byte, tooLarge bool, err error) {
	if r.ContentLength > maxBody {
		_, err = io.CopyN(io.Discard, r.Body, 16*maxBody)
		if errors.Is(err, io.EOF) {
			err = nil
		}
		return buf[:0], true, err
	}
	if r.ContentLength >= 0 {
		n := int(r.ContentLength)
		if cap(buf) < n {
			buf = make([]byte, n+n/4)
		}
		buf = buf[:n]
		_, err = io.ReadFull(r.Body, buf)
		return buf, false, err
	}
	buf, err = io.ReadAll(io.LimitReader(r.Body, maxBody+1))
	return buf, len(buf) > maxBody, err
}
