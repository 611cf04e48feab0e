package app

import (
	"fmt"
	"log/slog"
	"os"
	"strings"
)

// Secret is a setting that is never printed (promise 9).
type Secret string

const redacted = "(secret)"

// String implements [fmt.Stringer]; it also serves the %v and %s verbs.
func (s Secret) String() string {
	if s == "" {
		return ""
	}
	return redacted
}

// GoString implements [fmt.GoStringer] for %#v.
func (s Secret) GoString() string { return s.String() }

// LogValue implements [slog.LogValuer].
func (s Secret) LogValue() slog.Value { return slog.StringValue(s.String()) }

// MarshalText keeps encoders from printing it.
func (s Secret) MarshalText() ([]byte, error) { return []byte(s.String()), nil }

// UnmarshalText takes the value as it is given.
func (s *Secret) UnmarshalText(text []byte) error {
	*s = Secret(text)
	return nil
}

// filePrefix begins a secret that stands in a file, such as one that Kubernetes
// mounts.
const filePrefix = "file:"

// Read returns the value for the one use it has. One given as file:PATH is read
// from there each time, so that a rotated key is found without a restart.
func (s Secret) Read() (string, error) {
	path, ok := strings.CutPrefix(string(s), filePrefix)
	if !ok {
		return string(s), nil
	}
	text, err := os.ReadFile(path)
	if err != nil {
		return "", fmt.Errorf("read secret: %w", err)
	}
	return strings.TrimSpace(string(text)), nil
}
