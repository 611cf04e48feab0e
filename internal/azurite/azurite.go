// Package azurite starts Microsoft's storage emulator for tests. It is a test's
// own set-up: it installs the npm package at a pinned version on first use, into
// the folder .test of the repository. Product code never imports it.
package azurite

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"syscall"
	"testing"
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/storage/azblob/container"
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
	node, err := exec.LookPath("node")
	if err != nil {
		t.Fatal("this test needs Node.js for Azurite, and there is no node in PATH")
	}
	folder, err := install()
	if err != nil {
		t.Fatalf("install azurite: %v", err)
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

// install puts the npm package into the repository's .test folder unless it is
// there, and returns where. A file lock keeps test binaries that run at the same
// time out of each other's way.
func install() (string, error) {
	root, err := repository()
	if err != nil {
		return "", err
	}
	folder := filepath.Join(root, ".test", "azurite-"+Version)
	if err := os.MkdirAll(folder, 0o755); err != nil {
		return "", err
	}
	lock, err := os.OpenFile(filepath.Join(folder, "lock"), os.O_RDWR|os.O_CREATE, 0o644)
	if err != nil {
		return "", err
	}
	defer func() { _ = lock.Close() }() // releases the lock
	if err := syscall.Flock(int(lock.Fd()), syscall.LOCK_EX); err != nil {
		return "", err
	}
	done := filepath.Join(folder, "installed")
	if _, err := os.Stat(done); err == nil {
		return folder, nil
	}
	npm := exec.Command("npm", "install", "--prefix", folder, "--no-fund", "--no-audit", "--no-package-lock", "azurite@"+Version)
	if output, err := npm.CombinedOutput(); err != nil {
		return "", fmt.Errorf("npm install: %w\n%s", err, output)
	}
	return folder, os.WriteFile(done, nil, 0o644)
}

// repository finds the folder that holds go.mod.
func repository() (string, error) {
	dir, err := os.Getwd()
	if err != nil {
		return "", err
	}
	for {
		if _, err := os.Stat(filepath.Join(dir, "go.mod")); err == nil {
			return dir, nil
		}
		parent := filepath.Dir(dir)
		if parent == dir {
			return "", fmt.Errorf("no go.mod above the working directory")
		}
		dir = parent
	}
}
