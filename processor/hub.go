package processor

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"net/url"
	"strings"
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore"
	"github.com/Azure/azure-sdk-for-go/sdk/messaging/azeventhubs/v2"
	"github.com/coder/websocket"
)

// HubConfig says which hub is read and as whom.
type HubConfig struct {
	// ConnectionString returns Endpoint=sb://...;SharedAccessKeyName=...;SharedAccessKey=...
	// It is asked whenever a client is built, so that a rotated key is found. When
	// it is nil, Namespace and Credential are used.
	ConnectionString func() (string, error)
	Namespace        string // fully qualified, such as fleet.servicebus.windows.net
	Credential       azcore.TokenCredential

	Hub           string
	ConsumerGroup string

	// CustomEndpoint is another address to dial for the same namespace, as a
	// private endpoint or an emulator needs it; empty for none.
	CustomEndpoint string
	TLS            *tls.Config // nil for the default
	WebSockets     bool        // AMQP over WebSockets on port 443
}

// retryOptions keep the SDK's own retries short: while it retries to attach
// one partition, the ownership of all partitions goes unrenewed.
var retryOptions = azeventhubs.RetryOptions{
	MaxRetries:    2,
	RetryDelay:    250 * time.Millisecond,
	MaxRetryDelay: 2 * time.Second,
}

// Validate tells whether a client can be made of the configuration. It opens no
// connection.
func (c HubConfig) Validate() error {
	client, err := newConsumer(c)
	if err != nil {
		return fmt.Errorf("hub: %w", err)
	}
	return client.Close(context.Background())
}

// newConsumer makes a consumer client. It opens no connection yet.
func newConsumer(c HubConfig) (*azeventhubs.ConsumerClient, error) {
	options := &azeventhubs.ConsumerClientOptions{
		RetryOptions:   retryOptions,
		CustomEndpoint: c.CustomEndpoint,
		TLSConfig:      c.TLS,
	}
	if c.WebSockets {
		options.NewWebSocketConn = dialWebSocket
	}
	if c.ConnectionString == nil {
		return azeventhubs.NewConsumerClient(c.Namespace, c.Hub, c.ConsumerGroup, c.Credential, options)
	}
	key, hub, err := c.keyAndHub()
	if err != nil {
		return nil, err
	}
	return azeventhubs.NewConsumerClientFromConnectionString(key, hub, c.ConsumerGroup, options)
}

// NewProducer makes a client that sends to the hub. It opens no connection yet.
// The service only reads; this is for those who put dead letters back.
func NewProducer(c HubConfig) (*azeventhubs.ProducerClient, error) {
	options := &azeventhubs.ProducerClientOptions{
		RetryOptions:   retryOptions,
		CustomEndpoint: c.CustomEndpoint,
		TLSConfig:      c.TLS,
	}
	if c.WebSockets {
		options.NewWebSocketConn = dialWebSocket
	}
	if c.ConnectionString == nil {
		return azeventhubs.NewProducerClient(c.Namespace, c.Hub, c.Credential, options)
	}
	key, hub, err := c.keyAndHub()
	if err != nil {
		return nil, err
	}
	return azeventhubs.NewProducerClientFromConnectionString(key, hub, options)
}

// keyAndHub reads the connection string and returns it with the hub's name, which
// is empty when the string has it: the SDK refuses to be told twice.
func (c HubConfig) keyAndHub() (key, hub string, err error) {
	if key, err = c.ConnectionString(); err != nil {
		return "", "", err
	}
	if err := checkConnectionString(key); err != nil {
		return "", "", err
	}
	properties, err := azeventhubs.ParseConnectionString(key)
	if err != nil || properties.EntityPath == nil {
		return key, c.Hub, nil // checked above
	}
	if c.Hub != "" && c.Hub != *properties.EntityPath {
		return "", "", fmt.Errorf("hub is %q, but the connection string is for %q", c.Hub, *properties.EntityPath)
	}
	return key, "", nil
}

// dialWebSocket opens a connection for AMQP frames. Its context ends with the
// dialling, not with the connection.
func dialWebSocket(ctx context.Context, params azeventhubs.WebSocketConnParams) (net.Conn, error) {
	socket, response, err := websocket.Dial(ctx, params.Host, &websocket.DialOptions{Subprotocols: []string{"amqp"}})
	if response != nil && response.Body != nil {
		_ = response.Body.Close()
	}
	if err != nil {
		return nil, fmt.Errorf("dial %s: %w", params.Host, err)
	}
	return websocket.NetConn(context.Background(), socket, websocket.MessageBinary), nil
}

// checkConnectionString refuses what cannot be meant. No error repeats the
// string: it holds the key (promise 9).
func checkConnectionString(s string) error {
	properties, err := azeventhubs.ParseConnectionString(s)
	if err != nil {
		return errors.New("the hub's connection string cannot be used, expected Endpoint=sb://NAMESPACE;SharedAccessKeyName=NAME;SharedAccessKey=KEY")
	}
	if !properties.Emulator {
		return nil
	}
	endpoint, err := url.Parse(properties.Endpoint)
	if err != nil || !localHost(endpoint.Hostname()) {
		return errors.New("UseDevelopmentEmulator=true sends the key unencrypted and is allowed only for loopback, private and single-label hosts")
	}
	return nil
}

// localHost tells whether a host can only be near: loopback, a private
// address, or a name without a dot, as containers of one network have.
func localHost(host string) bool {
	if ip, err := netip.ParseAddr(host); err == nil {
		return ip.IsLoopback() || ip.IsPrivate()
	}
	return host != "" && !strings.Contains(host, ".")
}
