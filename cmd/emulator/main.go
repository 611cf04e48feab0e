// Command emulator runs the Event Hubs and the Cosmos DB emulator as a daemon,
// on the ports of Microsoft's own, and prints the connection strings.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/signal"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/alecthomas/kong"

	"warmpath/internal/emulator/cosmos"
	"warmpath/internal/emulator/eventhubs"
)

// settings are the flags; kong makes the help from them.
type settings struct {
	Hub           []string `help:"Hubs to create, as NAME:PARTITIONS[:GROUP...]; $$Default is always a group." default:"telemetry:8:warmpath"`
	HubAddress    string   `help:"Address of the Event Hubs emulator (AMQP without TLS)." default:"127.0.0.1:5672"`
	IoTHub        bool     `name:"iot-hub" help:"Decorate events as IoT Hub does; the partition key is the device."`
	CosmosAddress string   `help:"Address of the Cosmos DB emulator (HTTP)." default:"127.0.0.1:8081"`
	Container     []string `help:"Containers to create, as DATABASE/CONTAINER:KEYPATH." default:"fleet/positions:/deviceId"`

	Ranges     int           `help:"Physical ranges of a container." default:"1"`
	RUPerRange float64       `name:"ru-per-range" help:"Request units a second of each range; 0 is no limit." default:"0"`
	Window     string        `help:"How the request units of a second are counted: fixed or sliding." enum:"fixed,sliding" default:"fixed"`
	Latency    time.Duration `help:"Time that Cosmos DB takes for a request." default:"0s"`
	Verbose    bool          `help:"Log what clients do wrong."`
}

func main() { os.Exit(run(os.Args[1:], os.Stdout)) }

// run parses the flags and serves until it is told to stop. Exit codes: 0 after
// a signal, 1 when something failed, 2 for a wrong flag.
func run(args []string, out io.Writer) int {
	var s settings
	exited := -1
	parser, err := kong.New(&s, kong.Name("emulator"), kong.Exit(func(code int) { exited = code }),
		kong.Description("Event Hubs and Cosmos DB emulators in one process. Everything is kept in memory and gone at exit."))
	if err == nil {
		_, err = parser.Parse(args)
	}
	if exited >= 0 {
		return exited
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "emulator:", err)
		return 2
	}
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM, os.Interrupt)
	defer stop()
	if err := s.serve(ctx, out); err != nil {
		fmt.Fprintln(os.Stderr, "emulator:", err)
		if errors.Is(err, errSetting) {
			return 2
		}
		return 1
	}
	return 0
}

// errSetting marks an error as a wrong flag.
var errSetting = errors.New("wrong setting")

// serve runs both emulators until the context ends.
func (s *settings) serve(ctx context.Context, out io.Writer) (err error) {
	log := slog.New(slog.DiscardHandler)
	if s.Verbose {
		log = slog.New(slog.NewTextHandler(os.Stderr, &slog.HandlerOptions{Level: slog.LevelDebug}))
	}
	options := []eventhubs.Option{eventhubs.WithAddress(s.HubAddress), eventhubs.WithLogger(log)}
	var hubs []string
	for _, text := range s.Hub {
		hub, err := parseHub(text)
		if err != nil {
			return err
		}
		if s.IoTHub {
			hub.IoTHub = &eventhubs.IoTHub{}
		}
		hubs = append(hubs, hub.Name)
		options = append(options, eventhubs.WithHubConfig(hub))
	}
	hub, err := eventhubs.Start(options...)
	if err != nil {
		return fmt.Errorf("start the Event Hubs emulator on --hub-address=%s: %w", s.HubAddress, err)
	}
	defer func() { err = errors.Join(err, hub.Close()) }()

	window := cosmos.FixedSecond
	if s.Window == "sliding" {
		window = cosmos.Sliding
	}
	store, err := cosmos.Start(cosmos.WithAddress(s.CosmosAddress), cosmos.WithLogger(log), cosmos.WithRanges(s.Ranges),
		cosmos.WithRUPerRange(s.RUPerRange), cosmos.WithWindow(window), cosmos.WithLatency(s.Latency), cosmos.WithoutJournal())
	if err != nil {
		return fmt.Errorf("start the Cosmos DB emulator on --cosmos-address=%s: %w", s.CosmosAddress, err)
	}
	defer func() { err = errors.Join(err, store.Close()) }()
	for _, text := range s.Container {
		if err := createContainer(store, text); err != nil {
			return err
		}
	}

	_, _ = fmt.Fprintf(out, "Event Hubs  %s  hubs %s\n  %s\nCosmos DB   %s  containers %s\n  %s\n",
		hub.Addr(), strings.Join(hubs, ", "), hub.ConnectionString(), store.Endpoint(), strings.Join(s.Container, ", "), store.ConnectionString())
	<-ctx.Done()
	return nil
}

// parseHub reads NAME:PARTITIONS[:GROUP...].
func parseHub(text string) (eventhubs.HubConfig, error) {
	parts := strings.Split(text, ":")
	if len(parts) < 2 {
		return eventhubs.HubConfig{}, fmt.Errorf("%w: --hub is %q, expected NAME:PARTITIONS[:GROUP...]", errSetting, text)
	}
	partitions, err := strconv.Atoi(parts[1])
	if err != nil || partitions < 1 {
		return eventhubs.HubConfig{}, fmt.Errorf("%w: --hub is %q, its partitions must be a number from 1", errSetting, text)
	}
	return eventhubs.HubConfig{Name: parts[0], Partitions: partitions, ConsumerGroups: parts[2:]}, nil
}

// createContainer reads DATABASE/CONTAINER:KEYPATH and creates both. It indexes
// what the service's readers ask for: whose, when and where.
func createContainer(store *cosmos.Server, text string) error {
	name, path, ok := strings.Cut(text, ":")
	database, container, named := strings.Cut(name, "/")
	if !ok || !named || !strings.HasPrefix(path, "/") {
		return fmt.Errorf("%w: --container is %q, expected DATABASE/CONTAINER:KEYPATH such as fleet/positions:/deviceId", errSetting, text)
	}
	// A second container in a database is no error.
	_ = store.CreateDatabase(database)
	return store.CreateContainer(database, cosmos.Container{
		ID:           container,
		PartitionKey: cosmos.PartitionKey{Paths: []string{path}, Kind: "Hash", Version: 2},
		IndexingPolicy: json.RawMessage(`{"indexingMode":"consistent","automatic":true,"includedPaths":[{"path":"/deviceId/?"},{"path":"/properties/timestamp/?"}],
			"excludedPaths":[{"path":"/*"}],"spatialIndexes":[{"path":"/geometry/*","types":["Point"]}]}`),
	})
}
