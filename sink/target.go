package sink

import (
	"net/http"
	"strings"
	"time"

	"golang.org/x/time/rate"

	"warmpath/sink/bulk"
	"warmpath/telemetry"
)

// target makes the configuration into what the bulk writer wants, and a function
// that looks for a rotated key.
func (c ContainerConfig) target() (_ bulk.Target, rekey func(), err error) {
	t := bulk.Target{Endpoint: c.Endpoint, Database: c.Database, Container: c.Container}
	if c.ConnectionString == nil {
		t.Credential = bulk.NewTokenCredential(c.Credential)
		return t, func() {}, t.Validate()
	}
	text, err := c.ConnectionString()
	if err != nil {
		return t, nil, err
	}
	endpoint, credential, err := bulk.ParseConnectionString(text)
	if err != nil {
		return t, nil, err
	}
	t.Endpoint, t.Credential = endpoint, credential
	rekey = func() {
		if text, err := c.ConnectionString(); err == nil {
			_ = credential.Update(accountKey(text)) // one that cannot be used leaves the old one in place
		}
	}
	return t, rekey, t.Validate()
}

// accountKey finds the key in a connection string, "" if there is none.
func accountKey(connectionString string) string {
	for part := range strings.SplitSeq(connectionString, ";") {
		if name, value, _ := strings.Cut(strings.TrimSpace(part), "="); strings.EqualFold(name, "AccountKey") {
			return value
		}
	}
	return ""
}

// observer passes the bulk writer's measurements on, and has the key looked for
// when the service refuses it.
type observer struct {
	tel     *telemetry.Telemetry
	rekey   func()
	refused *rate.Sometimes
}

// Requested implements [bulk.Observer].
func (o observer) Requested(r *bulk.Request) {
	o.tel.Request("bulk", r.Status, r.Duration, r.Charge)
	o.tel.BulkRequest(r.Operations)
	for range r.Throttled {
		o.tel.Throttled(r.Range)
	}
	for _, t := range r.Tally {
		o.tel.Operations(t.Kind.String(), t.Status, t.Operations)
	}
	if r.Status == http.StatusUnauthorized {
		o.refused.Do(o.rekey)
	}
}

// Paused implements [bulk.Observer].
func (o observer) Paused(rangeID string, d time.Duration) { o.tel.Paused(rangeID, d) }

// Refreshed implements [bulk.Observer].
func (o observer) Refreshed(err error) { o.tel.RangesRead(err == nil) }
