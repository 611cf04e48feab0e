package bulk

import (
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore"
	"github.com/Azure/azure-sdk-for-go/sdk/azcore/policy"
)

// Credential proves to the service who is writing: [NewKeyCredential] or
// [NewTokenCredential] makes one. A credential may be shared by writers.
type Credential interface {
	// authorize returns the value of the authorization header for a request at
	// a time, and the date that belongs to it.
	authorize(ctx context.Context, s scope, at time.Time) (authorization, date string, err error)
	// refused tells of an authorization that the service answered with 401.
	refused(authorization string)
}

// scope is what a request is for, as signatures and tokens have it.
type scope struct {
	verb         string // upper case
	resourceType string // such as docs
	link         string // such as dbs/fleet/colls/positions
	audience     string // scheme and host of the account
}

// KeyCredential is an account key. It is safe for concurrent use.
type KeyCredential struct {
	key  atomic.Pointer[[]byte]
	last atomic.Pointer[signature]
}

// signature is a computed header. It depends on nothing but the scope, the key
// and the second, so almost every request reuses the one before it.
type signature struct {
	scope               scope
	key                 *[]byte
	second              int64
	authorization, date string
}

// NewKeyCredential makes a credential of a primary or secondary account key in
// base64.
func NewKeyCredential(key string) (*KeyCredential, error) {
	c := new(KeyCredential)
	if err := c.Update(key); err != nil {
		return nil, err
	}
	return c, nil
}

// Update replaces the key, for requests from now on. Writers go on with the new
// key without being opened again.
func (c *KeyCredential) Update(key string) error {
	raw, err := base64.StdEncoding.DecodeString(strings.TrimSpace(key))
	if err != nil || len(raw) == 0 {
		return errors.New("the account key is not base64") // and is not repeated here
	}
	c.key.Store(&raw)
	return nil
}

// authorize signs as described on
// learn.microsoft.com/rest/api/cosmos-db/access-control-on-cosmosdb-resources.
func (c *KeyCredential) authorize(_ context.Context, s scope, at time.Time) (string, string, error) {
	key, second := c.key.Load(), at.Unix()
	if last := c.last.Load(); last != nil && last.second == second && last.key == key && last.scope == s {
		return last.authorization, last.date, nil
	}
	date := at.UTC().Format(http.TimeFormat)
	mac := hmac.New(sha256.New, *key)
	mac.Write([]byte(strings.ToLower(s.verb) + "\n" + s.resourceType + "\n" + s.link + "\n" + strings.ToLower(date) + "\n\n"))
	authorization := url.QueryEscape("type=master&ver=1.0&sig=" + base64.StdEncoding.EncodeToString(mac.Sum(nil)))
	c.last.Store(&signature{s, key, second, authorization, date})
	return authorization, date, nil
}

// refused has nothing to forget but a signature that a wrong clock may have made.
func (c *KeyCredential) refused(string) { c.last.Store(nil) }

// tokenMargin is how long before its end a token is renewed.
const tokenMargin = 5 * time.Minute

// tokenCredential keeps a Microsoft Entra token for as long as it lasts.
type tokenCredential struct {
	source azcore.TokenCredential

	renewing sync.Mutex // held by whoever asks the source
	token    atomic.Pointer[cachedToken]
}

type cachedToken struct {
	audience      string
	authorization string
	renew, end    time.Time
}

// NewTokenCredential makes a credential of a Microsoft Entra identity, such as
// one of the azidentity module. The identity needs a data-plane role that can
// read metadata and write items.
func NewTokenCredential(source azcore.TokenCredential) Credential {
	return &tokenCredential{source: source}
}

func (c *tokenCredential) authorize(ctx context.Context, s scope, at time.Time) (string, string, error) {
	date := at.UTC().Format(http.TimeFormat)
	token := c.token.Load()
	good := token != nil && token.audience == s.audience && at.Before(token.end)
	if good && at.Before(token.renew) {
		return token.authorization, date, nil
	}
	if good {
		// One request renews; the others go on with what is still good.
		if !c.renewing.TryLock() {
			return token.authorization, date, nil
		}
	} else {
		c.renewing.Lock()
	}
	defer c.renewing.Unlock()
	if again := c.token.Load(); again != token && again != nil && again.audience == s.audience {
		return again.authorization, date, nil
	}
	fresh, err := c.source.GetToken(ctx, policy.TokenRequestOptions{Scopes: []string{s.audience + "/.default"}})
	if err != nil {
		if good {
			return token.authorization, date, nil
		}
		return "", "", fmt.Errorf("get a token for %s: %w", s.audience, err)
	}
	renew := fresh.ExpiresOn.Add(-tokenMargin)
	if !fresh.RefreshOn.IsZero() {
		renew = fresh.RefreshOn
	}
	token = &cachedToken{
		audience:      s.audience,
		authorization: "type=aad&ver=1.0&sig=" + fresh.Token,
		renew:         renew,
		end:           fresh.ExpiresOn,
	}
	c.token.Store(token)
	return token.authorization, date, nil
}

// refused forgets the token, unless another one has taken its place since.
func (c *tokenCredential) refused(authorization string) {
	if token := c.token.Load(); token != nil && token.authorization == authorization {
		c.token.CompareAndSwap(token, nil)
	}
}
