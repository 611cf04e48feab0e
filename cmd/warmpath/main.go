// Command warmpath reads drone positions from IoT Hub or Event Hubs, turns them
// into GeoJSON and writes them to Cosmos DB.
package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"runtime/debug"
	"strings"
	"syscall"
	"time"

	"github.com/alecthomas/kong"

	"warmpath/internal/app"
)

// version is set by the release build.
var version = "dev"

// commands is the whole command line; kong makes flags, variables and help from it.
type commands struct {
	Run        runCommand        `cmd:"" help:"Read positions and write them until told to stop."`
	Check      checkCommand      `cmd:"" help:"Try every connection and permission without disturbing production."`
	Decode     decodeCommand     `cmd:"" help:"Try what becomes of a payload, or a file of them."`
	Deadletter deadletterCommand `cmd:"" help:"List, show and send again what could not be written."`
	Version    versionCommand    `cmd:"" help:"Print the version."`
}

func main() { os.Exit(run(os.Args[1:])) }

// Exit codes.
const (
	exitOK       = 0
	exitFailed   = 1 // what was asked for did not succeed
	exitSettings = 2 // a setting is wrong; nothing was started
)

// settingError marks an error as a wrong setting.
type settingError struct{ error }

func run(args []string) int {
	var cli commands
	exited := -1
	parser, err := kong.New(&cli,
		kong.Name("warmpath"),
		kong.Description("Drone positions from IoT Hub or Event Hubs into Cosmos DB, as GeoJSON.\n\nEvery flag can be given as an environment variable: --max-age is WARMPATH_MAX_AGE."),
		kong.DefaultEnvars(app.EnvironmentPrefix),
		kong.Vars{"log_level": "info"},
		kong.ConfigureHelp(kong.HelpOptions{Compact: true}),
		kong.Exit(func(code int) { exited = code }),
		kong.UsageOnError(),
	)
	if err != nil {
		fmt.Fprintln(os.Stderr, "warmpath:", err)
		return exitSettings
	}
	if len(args) == 0 {
		args = []string{"--help"}
	}
	parsed, err := parser.Parse(args)
	if exited >= 0 {
		return exited // --help was answered
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "warmpath:", err)
		return exitSettings
	}
	if unknown := app.UnknownVariables(parser.Model, os.Environ()); len(unknown) > 0 {
		fmt.Fprintf(os.Stderr, "warmpath: ignoring unknown environment variables: %s\n", strings.Join(unknown, ", "))
	}
	if err := parsed.Run(); err != nil {
		fmt.Fprintln(os.Stderr, "warmpath:", err)
		if errors.As(err, &settingError{}) {
			return exitSettings
		}
		return exitFailed
	}
	return exitOK
}

type runCommand struct {
	app.Config
	app.Logging
}

// Run implements the command: SIGTERM or an interrupt drains, a second one forces.
func (c *runCommand) Run() error {
	service, err := app.New(c.Config, version, os.Getenv, c.Logger(os.Stderr), time.Now)
	if err != nil {
		return settingError{err}
	}
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM, os.Interrupt)
	defer stop()
	context.AfterFunc(ctx, stop) // from now on a signal has its default effect: it ends the process
	return service.Run(ctx)
}

type checkCommand struct{ app.Config }

// Run implements the command.
func (c *checkCommand) Run() error {
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM, os.Interrupt)
	defer stop()
	return app.Check(ctx, c.Config, os.Stdout)
}

type versionCommand struct{}

// Run prints the version and, where the build recorded it, the revision.
func (versionCommand) Run() error {
	revision := ""
	if info, ok := debug.ReadBuildInfo(); ok {
		for _, s := range info.Settings {
			if s.Key == "vcs.revision" {
				revision = " (" + s.Value + ")"
			}
		}
	}
	fmt.Println("warmpath " + version + revision)
	return nil
}
