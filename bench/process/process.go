// Package process runs a benchmark's other half in a process of its own, so that
// CPU time and memory of the measured half are its own.
package process

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"syscall"
	"time"
)

// Child is this program once more, with other flags. Both talk in lines of JSON
// over standard input and output.
type Child struct {
	command *exec.Cmd
	in      io.WriteCloser
	out     *bufio.Reader
}

// Start starts this program with the given flags. The context's end kills it.
func Start(ctx context.Context, flags ...string) (*Child, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	c := &Child{command: exec.CommandContext(ctx, self, flags...)}
	c.command.Stderr = os.Stderr
	if c.in, err = c.command.StdinPipe(); err != nil {
		return nil, err
	}
	out, err := c.command.StdoutPipe()
	if err != nil {
		return nil, err
	}
	c.out = bufio.NewReader(out)
	return c, c.command.Start()
}

// Send says something to the child.
func (c *Child) Send(v any) error { return json.NewEncoder(c.in).Encode(v) }

// Receive waits for what the child says next.
func (c *Child) Receive(v any) error {
	line, err := c.out.ReadBytes('\n')
	if err != nil {
		return fmt.Errorf("the child process: %w", err)
	}
	return json.Unmarshal(line, v)
}

// Close ends the conversation and waits for the child's end.
func (c *Child) Close() error { return errors.Join(c.in.Close(), c.command.Wait()) }

// Parent is the other end of the conversation, in the child.
type Parent struct {
	in  *bufio.Scanner
	out *json.Encoder
}

// NewParent speaks over this process's standard input and output.
func NewParent() *Parent {
	in := bufio.NewScanner(os.Stdin)
	in.Buffer(nil, 1<<20)
	return &Parent{in, json.NewEncoder(os.Stdout)}
}

// Say says something to the parent.
func (p *Parent) Say(v any) error { return p.out.Encode(v) }

// Hear waits for what the parent says next.
func (p *Parent) Hear(v any) error {
	if !p.in.Scan() {
		return errors.New("the measuring process is gone")
	}
	return json.Unmarshal(p.in.Bytes(), v)
}

// CPUTime is the user and system time of this process so far.
func CPUTime() time.Duration {
	u := usage()
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// PeakRSS is the most memory that this process had resident, in megabytes.
func PeakRSS() float64 { return float64(usage().Maxrss) / 1024 } // kilobytes on Linux

func usage() (u syscall.Rusage) {
	_ = syscall.Getrusage(syscall.RUSAGE_SELF, &u) // cannot fail with a valid pointer (getrusage(2))
	return u
}
