package processor

import (
	"context"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/messaging/azeventhubs/v2"
	"github.com/coder/websocket"

	"warmpath/internal/emulator/eventhubs"
)

// AMQP over WebSockets: a gateway takes the sockets apart and hands the frames
// to the emulator, as the service's front does on port 443.
func TestAMQPOverWebSockets(t *testing.T) {
	hub, err := eventhubs.Start(eventhubs.WithHub("telemetry", 2, "warmpath"))
	if err != nil {
		t.Fatal(err)
	}
	var bridges sync.WaitGroup
	gateway := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		socket, err := websocket.Accept(w, r, &websocket.AcceptOptions{Subprotocols: []string{"amqp"}})
		if err != nil || socket.Subprotocol() != "amqp" {
			t.Errorf("accept: %v, subprotocol %q", err, socket.Subprotocol())
			return
		}
		front := websocket.NetConn(context.Background(), socket, websocket.MessageBinary)
		back, err := net.Dial("tcp", hub.Addr())
		if err != nil {
			t.Error(err)
			return
		}
		bridges.Add(2)
		pipe := func(to, from net.Conn) {
			defer bridges.Done()
			_, _ = io.Copy(to, from)
			_ = to.Close()
			_ = from.Close()
		}
		go pipe(front, back)
		go pipe(back, front)
	}))
	t.Cleanup(func() {
		_ = hub.Close()
		bridges.Wait()
		gateway.Close()
	})
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
	defer cancel()
	client, err := azeventhubs.NewConsumerClientFromConnectionString(hub.ConnectionString(), "telemetry", "warmpath", &azeventhubs.ConsumerClientOptions{
		NewWebSocketConn: func(ctx context.Context, params azeventhubs.WebSocketConnParams) (net.Conn, error) {
			if !strings.HasPrefix(params.Host, "wss://") {
				t.Errorf("the SDK asks for %s", params.Host)
			}
			params.Host = "ws" + strings.TrimPrefix(gateway.URL, "http") // no TLS within the test
			return dialWebSocket(ctx, params)
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	properties, err := client.GetEventHubProperties(ctx, nil)
	if err != nil || len(properties.PartitionIDs) != 2 {
		t.Errorf("properties %+v, %v", properties, err)
	}
	if err := client.Close(ctx); err != nil {
		t.Error(err)
	}
	if _, err := dialWebSocket(ctx, azeventhubs.WebSocketConnParams{Host: "ws://127.0.0.1:1/"}); err == nil {
		t.Error("a closed port was dialled")
	}
}
