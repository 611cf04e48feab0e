package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"time"

	"warmpath/internal/app"
)

type decodeCommand struct {
	app.Preview
	Cases string `help:"File of payloads with what must become of them, one JSON object a line, instead of a message." env:"-" placeholder:"FILE.jsonl"`
	File  string `arg:"" optional:"" help:"File with the body of one message; - is standard input."`
}

// Help implements [kong.HelpProvider].
func (decodeCommand) Help() string {
	return `Prints for each position of a message the document that "run" would write, or
what else would become of it and why. The positions are one batch: in mode latest
an older one of a drone is superseded.

With --cases, each case that fails is printed with what was wanted and what was
got; the last line counts. The exit code is 1 when any has failed.`
}

// Run implements the command.
func (c *decodeCommand) Run() error {
	switch {
	case c.Cases == "" && c.File == "":
		return settingError{errors.New("neither a file nor --cases is given, one of them is needed")}
	case c.Cases != "" && c.File != "":
		return settingError{fmt.Errorf("--cases is %q, but the file %q is given as well: one of them is needed", c.Cases, c.File)}
	}
	if c.Cases != "" {
		in, err := open(c.Cases)
		if err != nil {
			return err
		}
		defer func() { _ = in.Close() }() // it was only read
		return c.DecodeCases(in, time.Now(), os.Stdout)
	}
	in, err := open(c.File)
	if err != nil {
		return err
	}
	defer func() { _ = in.Close() }() // it was only read
	body, err := io.ReadAll(in)
	if err != nil {
		return fmt.Errorf("read %s: %w", c.File, err)
	}
	return c.Decode(body, time.Now(), os.Stdout)
}

// open opens a file to read; "-" is standard input.
func open(path string) (*os.File, error) {
	if path == "-" {
		return os.Stdin, nil
	}
	return os.Open(path)
}
