package main

import (
	"bufio"
	"context"
	"io"
	"strings"
	"testing"
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/data/azcosmos"
	"github.com/Azure/azure-sdk-for-go/sdk/messaging/azeventhubs/v2"
)

// What the daemon prints is what clients are configured with: so it is read
// from there and used with the production SDKs.
func TestThePrintedConnectionStringsWork(t *testing.T) {
	s := settings{
		Hub: []string{"telemetry:3:warmpath", "other:1"}, Container: []string{"fleet/positions:/deviceId", "fleet/history:/deviceId"},
		HubAddress: "127.0.0.1:0", CosmosAddress: "127.0.0.1:0", Ranges: 2,
	}
	read, write := io.Pipe()
	ctx, stop := context.WithCancel(context.Background())
	served := make(chan error, 1)
	go func() { served <- s.serve(ctx, write) }()
	var hub, store string
	lines := bufio.NewScanner(read)
	for hub == "" || store == "" {
		if !lines.Scan() {
			t.Fatal("the output ended")
		}
		switch line := strings.TrimSpace(lines.Text()); {
		case strings.HasPrefix(line, "Endpoint="):
			hub = line
		case strings.HasPrefix(line, "AccountEndpoint="):
			store = line
		}
	}

	deadline, cancel := context.WithTimeout(ctx, 20*time.Second)
	defer cancel()
	consumer, err := azeventhubs.NewConsumerClientFromConnectionString(hub, "telemetry", "warmpath", nil)
	if err != nil {
		t.Fatal(err)
	}
	properties, err := consumer.GetEventHubProperties(deadline, nil)
	if err != nil || len(properties.PartitionIDs) != 3 {
		t.Errorf("hub: %+v, %v", properties, err)
	}
	if err := consumer.Close(deadline); err != nil {
		t.Error(err)
	}
	client, err := azcosmos.NewClientFromConnectionString(store, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	container, err := client.NewContainer("fleet", "history")
	if err != nil {
		t.Fatal(err)
	}
	response, err := container.Read(deadline, nil)
	if err != nil || response.ContainerProperties.PartitionKeyDefinition.Paths[0] != "/deviceId" {
		t.Errorf("container: %v", err)
	}
	stop()
	if err := <-served; err != nil {
		t.Error(err)
	}
}

func TestWrongFlagsNameThemselves(t *testing.T) {
	for want, s := range map[string]settings{
		`--hub is "telemetry", expected NAME:PARTITIONS`:                {Hub: []string{"telemetry"}},
		`--hub is "telemetry:none", its partitions must be a number`:    {Hub: []string{"telemetry:none"}},
		`--container is "positions", expected DATABASE/CONTAINER:KEYPA`: {Hub: []string{"t:1"}, Container: []string{"positions"}, HubAddress: "127.0.0.1:0", CosmosAddress: "127.0.0.1:0", Ranges: 1},
	} {
		if err := s.serve(context.Background(), io.Discard); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want %s", err, want)
		}
	}
}
