// Package npm installs npm packages at pinned versions for tests, into the
// folder .test of the repository. It is a test's own set-up: product code never
// imports it. Test binaries may install at the same time.
package npm

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
)

// Node returns the path of Node.js. A test that cannot do without fails by the
// error: what only other people's programs can prove would otherwise go
// unproven.
func Node() (string, error) {
	node, err := exec.LookPath("node")
	if err != nil {
		return "", errors.New("this test needs Node.js 20 or later with npm, and there is no node in PATH")
	}
	return node, nil
}

// Install puts packages (as npm names them, such as "azurite@3.37.0") into a
// folder of a name of their own below .test, unless they are there, and returns
// it. Below it is node_modules. A file lock keeps test binaries that run at the
// same time out of each other's way.
func Install(name string, packages ...string) (folder string, err error) {
	root, err := repository()
	if err != nil {
		return "", fmt.Errorf("install %s: %w", name, err)
	}
	folder = filepath.Join(root, ".test", name)
	if err := os.MkdirAll(folder, 0o755); err != nil {
		return "", fmt.Errorf("install %s: %w", name, err)
	}
	lock, err := os.OpenFile(filepath.Join(folder, "lock"), os.O_RDWR|os.O_CREATE, 0o644)
	if err != nil {
		return "", fmt.Errorf("install %s: %w", name, err)
	}
	defer func() { _ = lock.Close() }() // releases the lock
	if err := syscall.Flock(int(lock.Fd()), syscall.LOCK_EX); err != nil {
		return "", fmt.Errorf("install %s: lock: %w", name, err)
	}
	// The list is written last, so that what was cut short is done again, and
	// holds the versions, so that a changed list is installed.
	done := filepath.Join(folder, "installed")
	list := strings.Join(packages, "\n") + "\n"
	if have, err := os.ReadFile(done); err == nil && string(have) == list {
		return folder, nil
	}
	args := []string{"install", "--prefix", folder, "--no-fund", "--no-audit", "--no-package-lock"}
	if output, err := exec.Command("npm", slices.Concat(args, packages)...).CombinedOutput(); err != nil {
		return "", fmt.Errorf("npm install %s: %w\n%s", strings.Join(packages, " "), err, output)
	}
	return folder, os.WriteFile(done, []byte(list), 0o644)
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
			return "", errors.New("no go.mod above the working directory")
		}
		dir = parent
	}
}
