package local

import (
	"bufio"
	"encoding/json"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"warmpath/internal/azurite"
	"warmpath/processor"
)

// binary is the service as it is shipped, built with the race detector once for
// all tests of this package.
var binary = sync.OnceValues(func() (string, error) {
	folder, err := os.MkdirTemp("", "warmpath-test-")
	if err != nil {
		return "", err
	}
	path := filepath.Join(folder, "warmpath")
	build := exec.Command("go", "build", "-race", "-o", path, "warmpath/cmd/warmpath")
	build.Stderr = os.Stderr
	return path, build.Run()
})

// child is a service in a process of its own.
type child struct {
	t       *testing.T
	command *exec.Cmd
	address chan string // of /metrics, once it listens

	mu  sync.Mutex
	log []string
	end chan struct{} // the log is read to its end
}

// startChild starts the service against this world, with checkpoints in the
// given Azurite.
func startChild(t *testing.T, w *World, store *azurite.Server, mode processor.Mode, flags ...string) *child {
	t.Helper()
	path, err := binary()
	if err != nil {
		t.Fatalf("build the service: %v", err)
	}
	c := &child{t: t, address: make(chan string, 1), end: make(chan struct{})}
	c.command = exec.Command(path, append([]string{"run", "--mode", string(mode), "--listen", "127.0.0.1:0", "--log-format", "json",
		"--hub-name", Hub, "--cosmos-database", Database, "--cosmos-container", Container,
		"--checkpoint-interval", "200ms", "--ownership-interval", "300ms", "--ownership-expiration", "2s", "--lag-interval", "200ms",
		"--dead-letter-store", "file", "--dead-letter-file", filepath.Join(w.folder, "dead.ndjson")}, flags...)...)
	c.command.Env = []string{
		"WARMPATH_HUB_CONNECTION_STRING=" + w.Hub.ConnectionString(),
		"WARMPATH_COSMOS_CONNECTION_STRING=" + w.Cosmos.ConnectionString(),
		"WARMPATH_STORAGE_CONNECTION_STRING=" + store.ConnectionString(),
	}
	output, err := c.command.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := c.command.Start(); err != nil {
		t.Fatal(err)
	}
	go c.read(output)
	t.Cleanup(func() {
		_ = c.command.Process.Kill()
		<-c.end
		_ = c.command.Wait()
		if t.Failed() {
			t.Logf("log of child %d:\n%s", c.command.Process.Pid, strings.Join(c.lines(), "\n"))
		}
	})
	return c
}

// read keeps the log and looks for the address in it.
func (c *child) read(output io.Reader) {
	defer close(c.end)
	lines := bufio.NewScanner(output)
	for lines.Scan() {
		c.mu.Lock()
		c.log = append(c.log, lines.Text())
		c.mu.Unlock()
		var line struct{ Msg, Listen string }
		if json.Unmarshal(lines.Bytes(), &line) == nil && line.Msg == "started" {
			c.address <- line.Listen
		}
	}
}

func (c *child) lines() []string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return append([]string(nil), c.log...)
}

// listening waits for the address of /metrics.
func (c *child) listening() string {
	c.t.Helper()
	select {
	case address := <-c.address:
		c.address <- address
		return address
	case <-c.end:
		c.t.Fatal("the service ended before it had started")
	case <-time.After(30 * time.Second):
		c.t.Fatal("the service did not start within 30 seconds")
	}
	return ""
}

// kill ends the child at once, as the kernel or a node failure would.
func (c *child) kill() {
	_ = c.command.Process.Kill()
	<-c.end
	_ = c.command.Wait()
}

// terminate asks the child to drain and returns its exit code.
func (c *child) terminate() int {
	_ = c.command.Process.Signal(syscall.SIGTERM)
	<-c.end
	_ = c.command.Wait()
	return c.command.ProcessState.ExitCode()
}

// settled tells whether the child owns all partitions of the world, has read
// them to their ends, and has nothing in flight.
func (c *child) settled(w *World) bool {
	families, err := scrape(c.listening())
	if err != nil {
		return false
	}
	owned := byPartition(families, "warmpath_partition_owned")
	lag := byPartition(families, "warmpath_partition_lag")
	inFlight := byPartition(families, "warmpath_positions_in_flight")
	for _, partition := range w.partitions {
		lagged, known := lag[partition]
		if owned[partition] != 1 || !known || lagged > 0 || inFlight[partition] > 0 {
			return false
		}
	}
	return true
}
