package app

import (
	"fmt"
	"net/url"
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore"
	"github.com/Azure/azure-sdk-for-go/sdk/messaging/azeventhubs/v2"
	"github.com/Azure/azure-sdk-for-go/sdk/storage/azblob/container"

	"warmpath/processor"
	"warmpath/sink"
)

// stores are where checkpoints, ownership and dead letters are kept.
type stores struct {
	checkpoints azeventhubs.CheckpointStore
	dead        processor.DeadLetters
	close       func()
}

// openStores makes the stores that the settings name. Blob stores make no
// request before they are used: one that is down delays its users, not the start.
func (c *Config) openStores(credential azcore.TokenCredential, now func() time.Time) (*stores, error) {
	s := &stores{checkpoints: processor.NewMemoryStore(now), close: func() {}}
	if c.CheckpointStore == "blob" {
		container, err := c.blobContainer("--checkpoint-container", c.CheckpointContainer, credential)
		if err != nil {
			return nil, err
		}
		s.checkpoints = processor.NewBlobStore(container)
	}
	if c.DeadLetterStore == "blob" {
		container, err := c.blobContainer("--dead-letter-container", c.DeadLetterContainer, credential)
		if err != nil {
			return nil, err
		}
		s.dead = sink.NewBlobDeadLetters(container, now)
		return s, nil
	}
	file, err := sink.OpenFileDeadLetters(c.DeadLetterFile)
	if err != nil {
		return nil, fmt.Errorf("--dead-letter-file is %q: %w", c.DeadLetterFile, err)
	}
	s.dead, s.close = file, func() { _ = file.Close() } // every Put has synced
	return s, nil
}

// blobContainer makes a client for a container, whose name the given setting holds.
func (c *Config) blobContainer(setting, name string, credential azcore.TokenCredential) (*container.Client, error) {
	if name == "" {
		return nil, fmt.Errorf("%s is empty, a container's name is needed", setting)
	}
	if c.StorageConnectionString != "" {
		client, err := keyedContainer(c.StorageConnectionString, name)
		if err != nil {
			return nil, fmt.Errorf("--storage-connection-string: %w", err)
		}
		return client, nil
	}
	address, err := url.JoinPath(c.StorageEndpoint, name)
	if err != nil {
		return nil, fmt.Errorf("--storage-endpoint is %q, expected an address such as https://fleet.blob.core.windows.net/", c.StorageEndpoint)
	}
	return container.NewClient(address, credential, nil)
}
