// Package azurite starts Microsoft's storage emulator for tests. It is a test's
// own set-up: it has the npm package installed at a pinned version on first use.
// Product code never imports it.
package azurite

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"os/exec"
	"path/filepath"
	"regexp"
	"testing"
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/storage/azblob/container"

	"warmpath/internal/npm"
)

// Version is the npm version that is installed.
const Version = "3.37.0"

// The development account and key are Microsoft's well-known ones.
const (
	account = "devstoreaccount1"
	key     = "Eby8vdM02xNOcqFlqUwJPLlmEtlCDXJ1OUzFT50uSRZ6IFsuFq2UVErCz4I6tq/K1SZFPTOtr/KBHBeksoGMGw=="
)

// Server is a running Azurite blob service on a port of its own, kept in memory.
type Server struct{ endpoint string }

// Start starts a server that ends with the test. A machine without Node.js
// fails the test: what only Azurite can prove would otherwise go unproven.
func Start(t testing.TB) *Server {
	t.Helper()
	node, err := npm.Node()
	if err != nil {
		t.Fatal(err)
	}
	folder, err := npm.Install("azurite-"+Version, "azurite@"+Version)
	if err != nil {
		t.Fatal(err)
	}
	// The version check is off because azblob names a service version that this
	// Azurite does not know yet; nothing we use depends on it.
	command := exec.Command(node, filepath.Join(folder, "node_modules/azurite/dist/src/blob/main.js"),
		"--blobHost", "127.0.0.1", "--blobPort", "0", "--inMemoryPersistence", "--skipApiVersionCheck", "--disableTelemetry")
	output, err := command.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	command.Stderr = command.Stdout
	if err := command.Start(); err != nil {
		t.Fatalf("start azurite: %v", err)
	}
	address := make(chan string, 1)
	read := make(chan struct{})
	go func() {
		defer close(read)
		findAddress(output, address)
	}()
	t.Cleanup(func() {
		_ = command.Process.Kill()
		<-read
		_ = command.Wait()
	})
	select {
	case endpoint, ok := <-address:
		if !ok {
			t.Fatal("azurite ended before it listened")
		}
		return &Server{endpoint: endpoint}
	case <-time.After(30 * time.Second):
		t.Fatal("azurite did not listen within 30 seconds")
	}
	return nil
}

var listening = regexp.MustCompile(`successfully listens on (http://\S+)`)

// findAddress sends the address that Azurite prints and reads on until it ends.
func findAddress(output io.Reader, address chan<- string) {
	defer close(address)
	lines := bufio.NewScanner(output)
	for lines.Scan() {
		if found := listening.FindStringSubmatch(lines.Text()); found != nil {
			address <- found[1]
		}
	}
}

// Endpoint is the blob service's address, account included.
func (s *Server) Endpoint() string { return s.endpoint + "/" + account }

// ConnectionString is what a client is configured with.
func (s *Server) ConnectionString() string {
	return fmt.Sprintf("DefaultEndpointsProtocol=http;AccountName=%s;AccountKey=%s;BlobEndpoint=%s;", account, key, s.Endpoint())
}

// Container creates a container and returns a client for it.
func (s *Server) Container(t testing.TB, name string) *container.Client {
	t.Helper()
	client, err := container.NewClientFromConnectionString(s.ConnectionString(), name, nil)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := client.Create(context.Background(), nil); err != nil {
		t.Fatalf("create container %s: %v", name, err)
	}
	return client
}
