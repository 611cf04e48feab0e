package sink

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore"
	"github.com/Azure/azure-sdk-for-go/sdk/azcore/policy"
	"github.com/Azure/azure-sdk-for-go/sdk/data/azcosmos"
	"github.com/cenkalti/backoff/v5"
	"github.com/google/uuid"

	"warmpath/sink/bulk"
	"warmpath/telemetry"
)

// ContainerConfig says where documents go and as whom.
type ContainerConfig struct {
	// ConnectionString returns AccountEndpoint=...;AccountKey=...;. It is asked
	// again when the key is refused. When it is nil, Endpoint and Credential are
	// used.
	ConnectionString func() (string, error)
	Endpoint         string
	Credential       azcore.TokenCredential

	Database  string
	Container string

	// RequestTimeout bounds one request, answer included.
	RequestTimeout time.Duration
}

// Validate tells whether a client can be made of the configuration. It opens no
// connection.
func (c ContainerConfig) Validate() error {
	key, err := c.key()
	if err != nil {
		return err
	}
	client, err := newClient(c, key)
	if err != nil {
		return err
	}
	client.Close()
	return nil
}

// Definition is what the service knows of a container.
type Definition struct {
	KeyPaths   []string
	KeyVersion int            // 1 or 2; 1 hashes only the first 101 bytes of a key
	DefaultTTL *time.Duration // nil: nothing expires; negative: only items with a ttl of their own
}

// Container is an open Cosmos DB container. It is safe for concurrent use.
type Container struct {
	config     ContainerConfig
	tel        *telemetry.Telemetry
	definition Definition
	guard      *guard // nil: later writes win, whatever they hold
	client     atomic.Pointer[azcosmos.ContainerClient]

	mu  sync.Mutex // covers key
	key string     // the connection string that client was made of
}

// Open connects to the container and reads its definition, again and again
// with a back-off until it succeeds or the context ends; every failure that
// lasts is logged once in ten seconds. A client whose first read failed is
// thrown away: azcosmos v1.5.0 keeps that error for five minutes and answers
// every later call with it.
func Open(ctx context.Context, config ContainerConfig, tel *telemetry.Telemetry, log *slog.Logger) (*Container, error) {
	waits := backoff.ExponentialBackOff{
		InitialInterval:     200 * time.Millisecond,
		RandomizationFactor: backoff.DefaultRandomizationFactor,
		Multiplier:          2,
		MaxInterval:         10 * time.Second,
	}
	var reported time.Time
	for {
		c, err := open(ctx, config, tel)
		if err == nil {
			return c, nil
		}
		if ctx.Err() != nil || errors.Is(err, errSetting) {
			return nil, fmt.Errorf("open container %s/%s: %w", config.Database, config.Container, err)
		}
		if now := time.Now(); now.Sub(reported) >= 10*time.Second {
			reported = now
			log.Warn("waiting for Cosmos DB", "database", config.Database, "container", config.Container, "error", err)
		}
		if err := sleep(ctx, waits.NextBackOff()); err != nil {
			return nil, fmt.Errorf("open container %s/%s: %w", config.Database, config.Container, err)
		}
	}
}

// errSetting marks an error that no waiting can mend.
var errSetting = errors.New("bad setting")

func open(ctx context.Context, config ContainerConfig, tel *telemetry.Telemetry) (*Container, error) {
	c := &Container{config: config, tel: tel}
	client, err := c.connect()
	if err != nil {
		return nil, fmt.Errorf("%w: %w", errSetting, err)
	}
	if c.definition, err = c.read(ctx); err != nil {
		client.Close()
		return nil, err
	}
	return c, nil
}

// connect makes a client of the connection string as it is now.
func (c *Container) connect() (*azcosmos.Client, error) {
	key, err := c.config.key()
	if err != nil {
		return nil, err
	}
	client, err := newClient(c.config, key)
	if err != nil {
		return nil, err
	}
	container, err := client.NewContainer(c.config.Database, c.config.Container)
	if err != nil {
		return nil, err
	}
	c.key = key
	c.client.Store(container)
	return client, nil
}

// renew makes a new client if the key is another one now: the old one was
// refused. What is under way on the old client goes on there.
func (c *Container) renew() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if key, err := c.config.key(); err == nil && key != c.key {
		_, _ = c.connect() // on an error the old client stays, and is refused again
	}
}

// key is the connection string, "" for an identity.
func (c ContainerConfig) key() (string, error) {
	if c.ConnectionString == nil {
		return "", nil
	}
	return c.ConnectionString()
}

// newClient makes a client whose retries are off: the pool owns them.
func newClient(config ContainerConfig, key string) (*azcosmos.Client, error) {
	options := &azcosmos.ClientOptions{ClientOptions: azcore.ClientOptions{
		Retry: policy.RetryOptions{MaxRetries: -1},
	}}
	if key != "" {
		client, err := azcosmos.NewClientFromConnectionString(key, options)
		if err != nil {
			// The SDK's text may repeat the string, and the string holds the key.
			return nil, errors.New("the Cosmos DB connection string cannot be used, expected AccountEndpoint=https://...;AccountKey=...;")
		}
		return client, nil
	}
	return azcosmos.NewClient(config.Endpoint, config.Credential, options)
}

// read asks for the container's definition.
func (c *Container) read(ctx context.Context) (Definition, error) {
	ctx, cancel := context.WithTimeout(ctx, c.config.RequestTimeout)
	defer cancel()
	started := time.Now()
	response, err := c.client.Load().Read(ctx, nil)
	c.record("read_container", started, response.Response, err)
	if err != nil {
		return Definition{}, classify(err)
	}
	properties := response.ContainerProperties
	d := Definition{
		KeyPaths:   properties.PartitionKeyDefinition.Paths,
		KeyVersion: properties.PartitionKeyDefinition.Version,
	}
	if properties.DefaultTimeToLive != nil {
		ttl := time.Duration(*properties.DefaultTimeToLive) * time.Second
		d.DefaultTTL = &ttl
	}
	return d, nil
}

// Definition returns what was read when the container was opened.
func (c *Container) Definition() Definition { return c.definition }

// CheckKey refuses a container whose key path documents with the given
// available paths could not carry (promise 5).
func (c *Container) CheckKey(available []string) error {
	paths := c.definition.KeyPaths
	if len(paths) == 1 && slices.Contains(available, paths[0]) {
		return nil
	}
	return fmt.Errorf("container %s/%s is partitioned by %s, which documents cannot carry; available are %s",
		c.config.Database, c.config.Container, strings.Join(paths, " + "), strings.Join(available, ", "))
}

// KeyPathChanged implements [Store].
func (c *Container) KeyPathChanged(ctx context.Context) (bool, error) {
	d, err := c.read(ctx)
	if err != nil {
		return false, err
	}
	return !slices.Equal(d.KeyPaths, c.definition.KeyPaths), nil
}

// Guarded makes the container keep older versions from replacing newer ones,
// across restarts and replicas (promise 3); it remembers the versions of so many
// documents. It must be called before the first write.
func (c *Container) Guarded(remember int) { c.guard = newGuard(remember) }

// WriteDocument implements [Store] by one request without retries: an upsert,
// or the guard's next step.
func (c *Container) WriteDocument(ctx context.Context, d *Document) (Outcome, error) {
	ctx, cancel := context.WithTimeout(ctx, c.config.RequestTimeout)
	defer cancel()
	if c.guard == nil {
		_, _, _, err := c.request(ctx, d, step{kind: bulk.Upsert})
		return Written, err
	}
	s := d.next
	if !d.planned {
		s = c.guard.next(d)
	}
	d.planned = false
	if s.over {
		return s.outcome, nil
	}
	status, etag, body, err := c.request(ctx, d, s)
	next, ok := c.guard.answered(d, s.kind, status, etag, body)
	switch {
	case !ok:
		return Unsettled, err
	case next.over:
		return next.outcome, nil
	default:
		d.next, d.planned = next, true
		return Unsettled, errAgain
	}
}

// request asks the store one thing about a document. The status is 0 when there
// was no answer; the body is that of a read document.
func (c *Container) request(ctx context.Context, d *Document, s step) (status int, etag string, body []byte, err error) {
	key, client, started := azcosmos.NewPartitionKeyString(d.Key), c.client.Load(), time.Now()
	var response azcosmos.ItemResponse
	switch s.kind {
	case bulk.Create:
		response, err = client.CreateItem(ctx, key, d.Body, nil)
	case bulk.Replace:
		match := azcore.ETag(s.ifMatch)
		response, err = client.ReplaceItem(ctx, key, d.ID, d.Body, &azcosmos.ItemOptions{IfMatchEtag: &match})
	case bulk.Read:
		response, err = client.ReadItem(ctx, key, d.ID, nil)
	default:
		response, err = client.UpsertItem(ctx, key, d.Body, nil)
	}
	c.record(strings.ToLower(s.kind.String()), started, response.Response, err)
	if err != nil {
		f := classify(err)
		if f.status == http.StatusUnauthorized {
			c.renew()
		}
		if f.status == http.StatusNotFound && f.subStatus == subOwnerNotFound {
			return 0, "", nil, err // the container is gone, not the document
		}
		return f.status, "", nil, err
	}
	return response.RawResponse.StatusCode, string(response.ETag), response.Value, nil
}

// CheckContainer opens the container once, without retries, and tries whether
// documents can be changed by deleting one that does not exist: nothing in the
// container is touched.
func CheckContainer(ctx context.Context, config ContainerConfig, tel *telemetry.Telemetry) (*Container, error) {
	c, err := open(ctx, config, tel)
	if err != nil {
		return nil, err
	}
	missing := "warmpath-check-" + uuid.NewString()
	_, err = c.client.Load().DeleteItem(ctx, azcosmos.NewPartitionKeyString(missing), missing, nil)
	if f := classify(err); err == nil || f.status != http.StatusNotFound {
		return nil, fmt.Errorf("delete a document that does not exist: %w", f)
	}
	return c, nil
}

// record measures one request, answered or not.
func (c *Container) record(operation string, started time.Time, answer azcosmos.Response, err error) {
	raw, units := answer.RawResponse, float64(answer.RequestCharge)
	var refused *azcore.ResponseError
	if errors.As(err, &refused) && refused.RawResponse != nil {
		raw = refused.RawResponse
		units = chargeOf(raw.Header)
	}
	status := 0
	if raw != nil {
		status = raw.StatusCode
	}
	c.tel.Request(operation, status, time.Since(started), units)
	if status == http.StatusTooManyRequests {
		at := rangeOf(raw.Header)
		c.tel.Throttled(at)
		c.tel.Paused(at, retryAfter(raw.Header))
	}
}
