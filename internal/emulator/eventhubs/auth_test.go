package eventhubs_test

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"crypto/tls"
	"crypto/x509"
	"encoding/base64"
	"errors"
	"fmt"
	"math/big"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore"
	"github.com/Azure/azure-sdk-for-go/sdk/azcore/policy"
	"github.com/Azure/azure-sdk-for-go/sdk/messaging/azeventhubs/v2"
	client "github.com/Azure/go-amqp"

	"warmpath/internal/emulator/eventhubs"
)

// quick retries once, at once.
var quick = azeventhubs.RetryOptions{MaxRetries: 1, RetryDelay: time.Millisecond, MaxRetryDelay: time.Millisecond}

// properties asks for the test hub's properties with a connection string.
func properties(t *testing.T, connection string) error {
	t.Helper()
	c, err := azeventhubs.NewConsumerClientFromConnectionString(connection, testHub, "$Default", &azeventhubs.ConsumerClientOptions{RetryOptions: quick})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close(background())
	_, err = c.GetEventHubProperties(deadline(t), nil)
	return err
}

func signature(resource, key, name string, expires time.Time) string {
	sr := strings.ToLower(url.QueryEscape(resource))
	se := fmt.Sprint(expires.Unix())
	mac := hmac.New(sha256.New, []byte(key))
	mac.Write([]byte(sr + "\n" + se))
	return fmt.Sprintf("SharedAccessSignature sr=%s&sig=%s&se=%s&skn=%s",
		sr, url.QueryEscape(base64.StdEncoding.EncodeToString(mac.Sum(nil))), se, name)
}

func TestKeyIsDemanded(t *testing.T) {
	s := newServer(t, eventhubs.WithHub(testHub, 1), eventhubs.WithKey("listen", "primary"), eventhubs.WithKey("listen", "secondary"))
	endpoint := "Endpoint=sb://" + s.Addr()
	for _, test := range []struct {
		name, connection string
		ok               bool
	}{
		{"as offered", s.ConnectionString(), true},
		{"secondary key", endpoint + ";SharedAccessKeyName=listen;SharedAccessKey=secondary;UseDevelopmentEmulator=true", true},
		{"wrong key", endpoint + ";SharedAccessKeyName=listen;SharedAccessKey=guess;UseDevelopmentEmulator=true", false},
		{"wrong name", endpoint + ";SharedAccessKeyName=send;SharedAccessKey=primary;UseDevelopmentEmulator=true", false},
		{"signature", endpoint + ";SharedAccessSignature=" + signature("sb://"+s.Addr()+"/"+testHub, "primary", "listen", time.Now().Add(time.Hour)) + ";UseDevelopmentEmulator=true", true},
		{"signature for the namespace", endpoint + ";SharedAccessSignature=" + signature(s.Addr(), "primary", "listen", time.Now().Add(time.Hour)) + ";UseDevelopmentEmulator=true", true},
		{"signature for another hub", endpoint + ";SharedAccessSignature=" + signature("sb://"+s.Addr()+"/other", "primary", "listen", time.Now().Add(time.Hour)) + ";UseDevelopmentEmulator=true", false},
		{"expired signature", endpoint + ";SharedAccessSignature=" + signature("sb://"+s.Addr()+"/"+testHub, "primary", "listen", time.Now().Add(-time.Minute)) + ";UseDevelopmentEmulator=true", false},
	} {
		t.Run(test.name, func(t *testing.T) {
			err := properties(t, test.connection)
			switch {
			case test.ok && err != nil:
				t.Error(err)
			case !test.ok && (err == nil || !strings.Contains(err.Error(), "status code 401")):
				t.Errorf("got %v, want status 401", err)
			}
		})
	}
}

func TestRotatedKeys(t *testing.T) {
	s := newServer(t, eventhubs.WithHub(testHub, 1), eventhubs.WithKey("listen", "old"))
	old := s.ConnectionString()
	if err := properties(t, old); err != nil {
		t.Fatal(err)
	}
	s.SetKeys("listen", "new")
	if err := properties(t, old); err == nil {
		t.Error("the old key is still accepted")
	}
	if err := properties(t, s.ConnectionString()); err != nil {
		t.Errorf("new key: %v", err)
	}
}

// A client that puts no token gets no link, one that logs in by SASL PLAIN needs
// none.
func TestPlainLogin(t *testing.T) {
	s := newServer(t, eventhubs.WithHub(testHub, 1), eventhubs.WithKey("name", "key"))
	for _, test := range []struct {
		name   string
		sasl   client.SASLType
		dials  bool
		sender bool
	}{
		{"anonymous without token", client.SASLTypeAnonymous(), true, false},
		{"plain", client.SASLTypePlain("name", "key"), true, true},
		{"plain with a signature", client.SASLTypePlain("name@sas.root.hub", signature("hub.azure-devices.net", "key", "name", time.Now().Add(time.Hour))), true, true},
		{"plain with a wrong key", client.SASLTypePlain("name", "guess"), false, false},
	} {
		t.Run(test.name, func(t *testing.T) {
			conn, err := client.Dial(deadline(t), "amqp://"+s.Addr(), &client.ConnOptions{SASLType: test.sasl})
			if (err == nil) != test.dials {
				t.Fatalf("dial: %v", err)
			}
			if err != nil {
				return
			}
			defer conn.Close()
			session, err := conn.NewSession(deadline(t), nil)
			if err != nil {
				t.Fatal(err)
			}
			_, err = session.NewSender(deadline(t), testHub, nil)
			var refused *client.Error
			if test.sender && err != nil || !test.sender && (!errors.As(err, &refused) || refused.Condition != client.ErrCondUnauthorizedAccess) {
				t.Errorf("attach: %v", err)
			}
		})
	}
}

// credential gives the same token for everything.
type credential string

func (c credential) GetToken(context.Context, policy.TokenRequestOptions) (azcore.AccessToken, error) {
	return azcore.AccessToken{Token: string(c), ExpiresOn: time.Now().Add(time.Hour)}, nil
}

// certificate makes a self-signed one for a host name.
func certificate(t *testing.T, host string) (tls.Certificate, *x509.CertPool) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), DNSNames: []string{host}, IsCA: true, BasicConstraintsValid: true,
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	if err != nil {
		t.Fatal(err)
	}
	leaf, err := x509.ParseCertificate(der)
	if err != nil {
		t.Fatal(err)
	}
	pool := x509.NewCertPool()
	pool.AddCert(leaf)
	return tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key}, pool
}

// The constructors that a deployment uses: TLS, a token credential, and a custom
// endpoint for a namespace that does not resolve.
func TestProductionConstructor(t *testing.T) {
	const namespace = "fleet.servicebus.windows.net"
	pair, roots := certificate(t, namespace)
	s := newServer(t,
		eventhubs.WithHub(testHub, 1),
		eventhubs.WithTLS(&tls.Config{Certificates: []tls.Certificate{pair}}),
		eventhubs.WithTokenCheck(func(token string) error {
			if token != "good" {
				return errors.New("not the good one")
			}
			return nil
		}))
	publish(t, s, "0", 3)
	for token, want := range map[credential]bool{"good": true, "bad": false} {
		c, err := azeventhubs.NewConsumerClient(namespace, testHub, "$Default", token, &azeventhubs.ConsumerClientOptions{
			CustomEndpoint: s.Addr(), TLSConfig: &tls.Config{RootCAs: roots}, RetryOptions: quick})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = c.Close(background()) })
		p := newPartition(t, c, "0", nil)
		if want {
			receive(t, p, 3)
			continue
		}
		_, err = p.ReceiveEvents(deadline(t), 1, nil)
		var unauthorized *azeventhubs.Error
		if !errors.As(err, &unauthorized) || unauthorized.Code != azeventhubs.ErrorCodeUnauthorizedAccess {
			t.Errorf("got %v, want unauthorized", err)
		}
	}
	if strings.Contains(s.ConnectionString(), "UseDevelopmentEmulator") {
		t.Error("the connection string of a TLS server says that it has none")
	}
}

func TestStableConnectionString(t *testing.T) {
	s := newServer(t, eventhubs.WithHub(testHub, 1), eventhubs.WithNamespace("lab"))
	c, err := azeventhubs.NewConsumerClientFromConnectionString(s.StableConnectionString(), testHub, "$Default",
		&azeventhubs.ConsumerClientOptions{CustomEndpoint: s.Addr()})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close(background())
	if _, err := c.GetEventHubProperties(deadline(t), nil); err != nil {
		t.Error(err)
	}
	if got, err := azeventhubs.ParseConnectionString(s.StableConnectionString()); err != nil || got.FullyQualifiedNamespace != "lab" {
		t.Errorf("namespace %q, error %v, want lab", got.FullyQualifiedNamespace, err)
	}
}
