package main

import (
	"context"
	"os"
	"os/signal"
	"syscall"
	"time"

	"warmpath/internal/app"
)

// deadletterCommand reads what could not be written.
type deadletterCommand struct {
	List   letterList   `cmd:"" help:"List dead letters, one a line."`
	Show   letterShow   `cmd:"" help:"Show one dead letter with its body, and what the settings of now make of it."`
	Resend letterResend `cmd:"" help:"Send dead letters again, into Cosmos DB as they would have been written then."`
}

type letterList struct{ app.DeadLetterList }

// Run implements the command.
func (c *letterList) Run() error {
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM, os.Interrupt)
	defer stop()
	return c.List(ctx, time.Now(), os.Stdout, os.Stderr)
}

type letterShow struct {
	app.DeadLetterShow
	Body   bool `help:"Write the body alone, as it came." env:"-"`
	Number int  `arg:"" help:"Number of the letter, as list has it."`
}

// Run implements the command.
func (c *letterShow) Run() error {
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM, os.Interrupt)
	defer stop()
	return c.Show(ctx, c.Number, c.Body, time.Now(), os.Stdout)
}

type letterResend struct {
	app.DeadLetterResend
	app.Logging
	Numbers []int `arg:"" optional:"" help:"Numbers of the letters, as list has them; --reason and --since choose among them."`
}

// Help implements [kong.HelpProvider].
func (letterResend) Help() string {
	return `Decodes the bodies with the settings of now and writes the positions with their
original enqueued times, sequence numbers and devices. What is stored and newer
stays. Positions older than --max-age are not written without --ignore-age.

A letter whose body was cut cannot be sent again. Letters stay where they are:
sending one twice changes nothing.`
}

// Run implements the command.
func (c *letterResend) Run() error {
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM, os.Interrupt)
	defer stop()
	return c.Resend(ctx, c.Numbers, c.Logger(os.Stderr), time.Now, os.Stdout, os.Stderr)
}
