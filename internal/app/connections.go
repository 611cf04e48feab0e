package app

import (
	"fmt"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore"
	"github.com/Azure/azure-sdk-for-go/sdk/azcore/cloud"
	"github.com/Azure/azure-sdk-for-go/sdk/azidentity"

	"warmpath/geo"
	"warmpath/processor"
	"warmpath/sink"
)

// credential is the process's identity, nil when every connection brings a key.
func (c *Config) credential() (azcore.TokenCredential, error) {
	if c.HubConnectionString != "" && c.CosmosConnectionString != "" && (c.StorageConnectionString != "" || !c.needsStorage()) {
		return nil, nil
	}
	credential, err := azidentity.NewDefaultAzureCredential(&azidentity.DefaultAzureCredentialOptions{
		ClientOptions: azcore.ClientOptions{Cloud: clouds[c.Cloud]},
	})
	if err != nil {
		return nil, fmt.Errorf("find the process's identity: %w", err)
	}
	return credential, nil
}

// clouds are where identities are asked for. Services are found by their own
// addresses.
var clouds = map[string]cloud.Configuration{
	"public":     cloud.AzurePublic,
	"government": cloud.AzureGovernment,
	"china":      cloud.AzureChina,
}

// key returns the reader of a connection string, nil when there is none.
func key(s Secret) func() (string, error) {
	if s == "" {
		return nil
	}
	return s.Read
}

// hub is where events come from.
func (c *Config) hub(credential azcore.TokenCredential) processor.HubConfig {
	return processor.HubConfig{
		ConnectionString: key(c.HubConnectionString),
		Namespace:        c.HubNamespace,
		Credential:       credential,
		Hub:              c.HubName,
		ConsumerGroup:    c.ConsumerGroup,
		CustomEndpoint:   c.HubEndpoint,
		WebSockets:       c.HubWebSockets,
	}
}

// container is where documents go.
func (c *Config) container(credential azcore.TokenCredential) sink.ContainerConfig {
	return sink.ContainerConfig{
		ConnectionString: key(c.CosmosConnectionString),
		Endpoint:         c.CosmosEndpoint,
		Credential:       credential,
		Database:         c.CosmosDatabase,
		Container:        c.CosmosContainer,
		RequestTimeout:   c.RequestTimeout,
	}
}

// checkContainer refuses what the documents could not live in (promise 5).
func (c *Config) checkContainer(container *sink.Container) error {
	if err := container.CheckKey(geo.KeyPaths()); err != nil {
		return err
	}
	d := container.Definition()
	expires := c.TTL > 0 || d.DefaultTTL != nil && *d.DefaultTTL > 0
	if processor.Mode(c.Mode) == processor.Latest && d.KeyPaths[0] == "/deliveryId" && !expires && !c.AllowStaleDocuments {
		return fmt.Errorf("container %s/%s is partitioned by %s and nothing in it expires: a drone that changes its key leaves its last document behind; set --ttl (24h is usual), a default time to live of the container, or --allow-stale-documents",
			c.CosmosDatabase, c.CosmosContainer, d.KeyPaths[0])
	}
	return nil
}
