package app

import (
	"io"
	"log/slog"
	"os"
)

// Logging is how the process writes its log. Each command embeds it.
type Logging struct {
	LogFormat string `help:"auto is text on a terminal and JSON elsewhere." enum:"auto,text,json" default:"auto" group:"Running"`
	LogLevel  string `help:"Least level that is logged. Bodies of events appear at debug only." enum:"debug,info,warn,error" default:"${log_level}" group:"Running"`
}

// Logger makes the process's logger.
func (l Logging) Logger(out *os.File) *slog.Logger {
	return slog.New(l.handler(out, l.LogFormat == "text" || l.LogFormat == "auto" && isTerminal(out)))
}

func (l Logging) handler(out io.Writer, text bool) slog.Handler {
	var level slog.Level
	_ = level.UnmarshalText([]byte(l.LogLevel)) // kong has checked the enumeration
	options := &slog.HandlerOptions{Level: level}
	if text {
		return slog.NewTextHandler(out, options)
	}
	return slog.NewJSONHandler(out, options)
}

// isTerminal tells whether somebody is looking.
func isTerminal(f *os.File) bool {
	info, err := f.Stat()
	return err == nil && info.Mode()&os.ModeCharDevice != 0
}
