package main

import (
	"os"
	"os/exec"
	"strings"
	"testing"
)

// The tests run this binary again as the command, so that exit codes and what
// goes where are seen as a shell sees them.
func TestMain(m *testing.M) {
	if os.Getenv("BE_WARMPATH") == "1" {
		os.Exit(run(os.Args[1:]))
	}
	os.Exit(m.Run())
}

// command runs warmpath and returns its output, its errors and its exit code.
func command(t *testing.T, environment []string, args ...string) (stdout, stderr string, code int) {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	var out, errs strings.Builder
	c := exec.Command(self, args...)
	c.Env = append([]string{"BE_WARMPATH=1", "PATH=" + os.Getenv("PATH")}, environment...)
	c.Stdout, c.Stderr = &out, &errs
	_ = c.Run() // the exit code says it
	return out.String(), errs.String(), c.ProcessState.ExitCode()
}

func TestExitCodesAndMessages(t *testing.T) {
	for _, test := range []struct {
		name           string
		environment    []string
		args           []string
		code           int
		stdout, stderr string
	}{
		{"help", nil, nil, 0, "Usage: warmpath <command>", ""},
		{"version", nil, []string{"version"}, 0, "warmpath dev", ""},
		{"a misspelt variable", []string{"WARMPATH_MAXAGE=1m"}, []string{"version"}, 0, "warmpath", "ignoring unknown environment variables: WARMPATH_MAXAGE"},
		{"an unknown command", nil, []string{"walk"}, 2, "", "unexpected argument walk"},
		{"nothing set", nil, []string{"run"}, 2, "", "--hub-connection-string and --hub-namespace are both empty"},
		{"a bad value", []string{"WARMPATH_MAX_AGE=soon"}, []string{"run"}, 2, "", `expected duration but got "soon"`},
		{"a hub string that is none", []string{
			"WARMPATH_HUB_CONNECTION_STRING=sesame", "WARMPATH_COSMOS_CONNECTION_STRING=AccountEndpoint=https://localhost;AccountKey=c2VzYW1l;",
			"WARMPATH_CHECKPOINT_STORE=memory", "WARMPATH_DEAD_LETTER_STORE=file", "WARMPATH_HUB_NAME=h",
		}, []string{"run"}, 2, "", "the hub's connection string cannot be used"},
	} {
		t.Run(test.name, func(t *testing.T) {
			stdout, stderr, code := command(t, test.environment, test.args...)
			if code != test.code || !strings.Contains(stdout, test.stdout) || !strings.Contains(stderr, test.stderr) {
				t.Errorf("exit %d, want %d\nstdout: %s\nstderr: %s\nwant %q and %q", code, test.code, stdout, stderr, test.stdout, test.stderr)
			}
			if strings.Contains(stdout+stderr, "sesame") {
				t.Errorf("a secret was printed: %s%s", stdout, stderr)
			}
		})
	}
}
