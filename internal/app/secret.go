package app

import "log/slog"

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

// Reveal returns the value for the one use it has.
func (s Secret) Reveal() string { return string(s) }
