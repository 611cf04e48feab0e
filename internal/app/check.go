package app

import (
	"context"
	"fmt"
	"io"
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore"

	"warmpath/processor"
	"warmpath/sink"
	"warmpath/telemetry"
)

// checkTimeout bounds each check; waiting at an open link takes all of it.
const checkTimeout = 5 * time.Second

// Check tries every connection and permission that Run would need, without
// disturbing production, and writes one line for each. It returns an error when
// any of them failed.
func Check(ctx context.Context, c Config, out io.Writer) error {
	if err := c.Validate(); err != nil {
		return err
	}
	credential, err := c.credential()
	if err != nil {
		return err
	}
	failed := 0
	try := func(what string, check func(context.Context) (string, error)) {
		ctx, cancel := context.WithTimeout(ctx, checkTimeout)
		defer cancel()
		found, err := check(ctx)
		if err != nil {
			failed++
			_, _ = fmt.Fprintf(out, "FAIL  %-12s %v\n", what, err)
			return
		}
		_, _ = fmt.Fprintf(out, "ok    %-12s %s\n", what, found)
	}
	try("hub", func(ctx context.Context) (string, error) { return processor.CheckHub(ctx, c.hub(credential)) })
	try("Cosmos DB", func(ctx context.Context) (string, error) { return c.tryContainer(ctx, credential) })
	try("checkpoints", func(ctx context.Context) (string, error) { return c.tryCheckpoints(ctx, credential) })
	try("dead letters", func(ctx context.Context) (string, error) { return c.tryDeadLetters(ctx, credential) })
	if failed > 0 {
		return fmt.Errorf("%d of 4 checks failed", failed)
	}
	return nil
}

func (c *Config) tryContainer(ctx context.Context, credential azcore.TokenCredential) (string, error) {
	tel, err := telemetry.New(telemetry.Options{Now: time.Now})
	if err != nil {
		return "", err
	}
	defer func() { _ = tel.Shutdown(context.WithoutCancel(ctx)) }()
	container, err := sink.CheckContainer(ctx, c.container(credential), tel)
	if err != nil {
		return "", err
	}
	if err := c.checkContainer(container); err != nil {
		return "", err
	}
	return fmt.Sprintf("%s/%s is partitioned by %s and can be written", c.CosmosDatabase, c.CosmosContainer, container.Definition().KeyPaths[0]), nil
}

func (c *Config) tryCheckpoints(ctx context.Context, credential azcore.TokenCredential) (string, error) {
	if c.CheckpointStore == "memory" {
		return "are kept in memory and forgotten at exit", nil
	}
	client, err := c.blobContainer("--checkpoint-container", c.CheckpointContainer, credential)
	if err != nil {
		return "", err
	}
	return "container " + c.CheckpointContainer + " can be written", processor.NewBlobStore(client).Check(ctx)
}

func (c *Config) tryDeadLetters(ctx context.Context, credential azcore.TokenCredential) (string, error) {
	if c.DeadLetterStore == "file" {
		file, err := sink.OpenFileDeadLetters(c.DeadLetterFile)
		if err != nil {
			return "", err
		}
		return "file " + c.DeadLetterFile + " can be written", file.Close()
	}
	client, err := c.blobContainer("--dead-letter-container", c.DeadLetterContainer, credential)
	if err != nil {
		return "", err
	}
	return "container " + c.DeadLetterContainer + " can be written", sink.NewBlobDeadLetters(client, time.Now).Check(ctx)
}
