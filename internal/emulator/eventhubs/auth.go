package eventhubs

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"fmt"
	"net/url"
	"strconv"
	"strings"
	"sync"
	"time"
)

type accessKey struct{ name, key string }

// gate decides who may do what. Tokens are checked when they are put and when a
// link is attached; a link outlives the token it was attached with.
type gate struct {
	now        func() time.Time
	checkToken func(string) error

	mu   sync.RWMutex // covers keys
	keys []accessKey
}

// open tells whether nothing is demanded.
func (g *gate) open() bool {
	g.mu.RLock()
	defer g.mu.RUnlock()
	return len(g.keys) == 0 && g.checkToken == nil
}

// first is a key that clients may use.
func (g *gate) first() accessKey {
	g.mu.RLock()
	defer g.mu.RUnlock()
	if len(g.keys) == 0 {
		return accessKey{anyKeyName, anyKey}
	}
	return g.keys[0]
}

// plain judges a SASL PLAIN login: a key's name and the key itself, or, as
// clients of an IoT Hub do, <name>@sas.root.<hub> and a signature.
func (g *gate) plain(user, password string) error {
	if g.open() {
		return nil
	}
	if signature, ok := strings.CutPrefix(password, "SharedAccessSignature "); ok && strings.Contains(user, "@sas.") {
		_, err := g.verify(signature)
		return err
	}
	g.mu.RLock()
	defer g.mu.RUnlock()
	for _, k := range g.keys {
		if k.name == user && hmac.Equal([]byte(k.key), []byte(password)) {
			return nil
		}
	}
	return fmt.Errorf("no key named %q matches", user)
}

// claim is what a valid token gives its connection.
type claim struct {
	path    string // entity path in lower case; "" is the whole namespace
	expires time.Time
}

func (c claim) covers(path string) bool {
	return c.path == "" || path == c.path || strings.HasPrefix(path, c.path+"/")
}

// admit judges a token that a client puts for an audience.
func (g *gate) admit(audience, token string) (claim, error) {
	requested := claim{path: entityPath(audience)}
	if g.open() {
		return requested, nil
	}
	signature, isSAS := strings.CutPrefix(token, "SharedAccessSignature ")
	if !isSAS {
		if g.checkToken == nil {
			return claim{}, errors.New("only shared access signatures are accepted")
		}
		if err := g.checkToken(token); err != nil {
			return claim{}, fmt.Errorf("token: %w", err)
		}
		return requested, nil
	}
	granted, err := g.verify(signature)
	if err != nil {
		return claim{}, fmt.Errorf("shared access signature: %w", err)
	}
	if !granted.covers(requested.path) {
		return claim{}, fmt.Errorf("shared access signature for %q does not cover %q", granted.path, requested.path)
	}
	return granted, nil
}

// verify checks the fields of a shared access signature: HMAC-SHA256 over the
// resource as it stands there, a line feed and the expiry.
func (g *gate) verify(signature string) (claim, error) {
	fields := make(map[string]string, 4)
	for field := range strings.SplitSeq(signature, "&") {
		name, value, _ := strings.Cut(field, "=")
		fields[name] = value
	}
	resource, err := url.QueryUnescape(fields["sr"])
	if err != nil {
		return claim{}, fmt.Errorf("resource: %w", err)
	}
	seconds, err := strconv.ParseInt(fields["se"], 10, 64)
	if err != nil {
		return claim{}, fmt.Errorf("expiry: %w", err)
	}
	if expires := time.Unix(seconds, 0); !g.now().Before(expires) {
		return claim{}, fmt.Errorf("expired at %v", expires.UTC())
	}
	encoded, err := url.QueryUnescape(fields["sig"])
	if err != nil {
		return claim{}, fmt.Errorf("signature: %w", err)
	}
	got, err := base64.StdEncoding.DecodeString(encoded)
	if err != nil {
		return claim{}, fmt.Errorf("signature: %w", err)
	}
	g.mu.RLock()
	defer g.mu.RUnlock()
	for _, k := range g.keys {
		if k.name == fields["skn"] && k.made(got, fields["sr"]+"\n"+fields["se"]) {
			return claim{path: entityPath(resource), expires: time.Unix(seconds, 0)}, nil
		}
	}
	return claim{}, fmt.Errorf("no key named %q made it", fields["skn"])
}

// made tells whether the key signed text. Event Hubs clients use the key as it
// stands, those of an IoT Hub what it is the base64 form of.
func (k accessKey) made(signature []byte, text string) bool {
	secrets := [][]byte{[]byte(k.key)}
	if decoded, err := base64.StdEncoding.DecodeString(k.key); err == nil {
		secrets = append(secrets, decoded)
	}
	for _, secret := range secrets {
		mac := hmac.New(sha256.New, secret)
		_, _ = mac.Write([]byte(text))
		if hmac.Equal(signature, mac.Sum(nil)) {
			return true
		}
	}
	return false
}

// entityPath is what follows the host in an audience: amqp://host/hub/... or
// host/hub/...
func entityPath(audience string) string {
	if _, after, ok := strings.Cut(audience, "://"); ok {
		audience = after
	}
	_, path, _ := strings.Cut(audience, "/")
	return strings.ToLower(strings.Trim(path, "/"))
}
