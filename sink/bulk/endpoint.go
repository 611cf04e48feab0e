package bulk

import (
	"context"
	"fmt"
	"net/url"
	"slices"
	"sync"
	"time"
)

const (
	// endpointInterval is the shortest time between two questions where the
	// account can be written.
	endpointInterval = 2 * time.Second
	// endpointFailures is how many connections in a row must fail before
	// another address is tried.
	endpointFailures = 3
)

// endpoints knows the addresses at which the account accepts writes. The
// service names them; the configured address is the one of last resort, for
// accounts (and emulators) that name one which cannot be reached from here.
type endpoints struct {
	client     *client
	configured string
	audience   string // of tokens

	// mu covers what follows; no other lock is taken while it is held.
	mu        sync.Mutex
	addresses []string // by preference, the configured one among them
	at        int
	failures  int       // connections in a row that failed at the current one
	asked     time.Time // when the account was last asked
}

func newEndpoints(configured *url.URL, c *client) *endpoints {
	return &endpoints{
		client:     c,
		configured: configured.String(),
		audience:   configured.Scheme + "://" + configured.Hostname(),
		addresses:  []string{configured.String()},
	}
}

// current is the address to write to.
func (e *endpoints) current() string {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.addresses[e.at]
}

// reached tells that an address answered.
func (e *endpoints) reached(address string) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.addresses[e.at] == address {
		e.failures = 0
	}
}

// failed tells that an address did not answer, and whether it could not even be
// connected to. After some of those in a row the next address is tried.
func (e *endpoints) failed(address string, connect bool) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if !connect || e.addresses[e.at] != address {
		return
	}
	if e.failures++; e.failures >= endpointFailures {
		e.next()
	}
}

// refused tells that an address takes no writes any more.
func (e *endpoints) refused(address string) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.addresses[e.at] == address {
		e.next()
	}
}

// next turns to the next address. The caller holds mu.
func (e *endpoints) next() {
	e.failures = 0
	e.at = (e.at + 1) % len(e.addresses)
}

// discover asks the account for its addresses. Failures are not remembered.
func (e *endpoints) discover(ctx context.Context) error {
	e.mu.Lock()
	e.asked = e.client.now()
	known := []string{e.configured}
	for _, a := range e.addresses {
		if a != e.configured {
			known = append(known, a)
		}
	}
	e.mu.Unlock()
	var account struct {
		Writable []struct {
			Endpoint string `json:"databaseAccountEndpoint"`
		} `json:"writableLocations"`
	}
	var err error
	for _, address := range known {
		if _, err = e.client.get(ctx, address, "/", "", "", e.client.common, &account); err == nil {
			break
		}
	}
	if err != nil {
		return fmt.Errorf("read account: %w", err)
	}
	var addresses []string
	for _, l := range account.Writable {
		u, err := e.client.target.endpoint(l.Endpoint)
		if err != nil {
			return fmt.Errorf("read account: writable location %q: %w", l.Endpoint, err)
		}
		if !slices.Contains(addresses, u.String()) {
			addresses = append(addresses, u.String())
		}
	}
	if !slices.Contains(addresses, e.configured) {
		addresses = append(addresses, e.configured)
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	if !slices.Equal(addresses, e.addresses) {
		// Otherwise the one in use stays in use, and one that was given up does
		// not get another turn merely because it was named again.
		e.addresses, e.at, e.failures = addresses, 0, 0
	}
	return nil
}

// isDue tells whether the account may be asked again.
func (e *endpoints) isDue() bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.client.now().Sub(e.asked) >= endpointInterval
}
