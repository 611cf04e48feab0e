package bulk

import (
	"errors"
	"fmt"
	"net"
	"net/url"
	"strings"
)

// Target says where documents go and as whom.
type Target struct {
	Endpoint   string // of the account, such as https://fleet.documents.azure.com:443/
	Database   string
	Container  string
	Credential Credential
}

// ParseConnectionString returns the endpoint and the key of a connection string
// of the form AccountEndpoint=...;AccountKey=...;. An error does not repeat the
// string, which holds the key.
func ParseConnectionString(s string) (endpoint string, credential *KeyCredential, err error) {
	var key string
	for part := range strings.SplitSeq(s, ";") {
		name, value, _ := strings.Cut(part, "=")
		switch {
		case strings.EqualFold(strings.TrimSpace(name), "AccountEndpoint"):
			endpoint = strings.TrimSpace(value)
		case strings.EqualFold(strings.TrimSpace(name), "AccountKey"):
			key = strings.TrimSpace(value)
		}
	}
	if endpoint == "" || key == "" {
		return "", nil, errors.New("the connection string lacks AccountEndpoint or AccountKey, expected AccountEndpoint=https://...;AccountKey=...;")
	}
	if credential, err = NewKeyCredential(key); err != nil {
		return "", nil, err
	}
	return endpoint, credential, nil
}

// Validate names the first field that cannot be used. It opens no connection.
func (t Target) Validate() error {
	if _, err := t.endpoint(t.Endpoint); err != nil {
		return fmt.Errorf("endpoint is %q, %w", t.Endpoint, err)
	}
	if t.Database == "" {
		return errors.New("database is empty, expected the name of a database")
	}
	if t.Container == "" {
		return errors.New("container is empty, expected the name of a container")
	}
	if t.Credential == nil {
		return errors.New("credential is missing, expected a key or a token credential")
	}
	return nil
}

// endpoint reads an address of the account, the configured one or one that the
// service named.
func (t Target) endpoint(s string) (*url.URL, error) {
	u, err := url.Parse(s)
	if err != nil || u.Host == "" || u.Scheme != "https" && u.Scheme != "http" {
		return nil, errors.New("expected https://host:port/")
	}
	if _, isToken := t.Credential.(*tokenCredential); isToken && u.Scheme == "http" && !isLoopback(u.Hostname()) {
		// A key only signs, a token is the secret itself.
		return nil, errors.New("a token is sent in clear text to this machine only, expected https")
	}
	return &url.URL{Scheme: u.Scheme, Host: u.Host}, nil
}

func isLoopback(host string) bool {
	ip := net.ParseIP(host)
	return host == "localhost" || ip != nil && ip.IsLoopback()
}

// link is the container as signatures name it.
func (t Target) link() string { return "dbs/" + t.Database + "/colls/" + t.Container }

// path is the container's path in a URL.
func (t Target) path() string {
	return "/dbs/" + url.PathEscape(t.Database) + "/colls/" + url.PathEscape(t.Container)
}
