package local

import (
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"strconv"
	"time"

	"github.com/alecthomas/kong"

	"warmpath/internal/app"
	"warmpath/internal/emulator/cosmos"
	"warmpath/internal/emulator/eventhubs"
	"warmpath/processor"
)

// Names within the emulators.
const (
	Hub           = "telemetry"
	ConsumerGroup = "warmpath"
	Database      = "fleet"
	Container     = "positions"
)

// Options say what the world is like.
type Options struct {
	Partitions   int           // of the hub
	KeyPath      string        // of the container
	Ranges       int           // physical ranges of the container
	RUPerRange   float64       // request units a second of each range, 0 is no limit
	WriteLatency time.Duration // of every request to Cosmos DB
	Folder       string        // for the dead letters
	NoJournal    bool          // keep no journal of writes, which grows for as long as the world lasts
}

// DefaultOptions are a hub of eight partitions and a container that answers
// after six milliseconds, as the service does within a region.
func DefaultOptions() Options {
	return Options{Partitions: 8, KeyPath: "/deviceId", Ranges: 5, WriteLatency: 6 * time.Millisecond}
}

// World is a running pair of emulators.
type World struct {
	Hub    *eventhubs.Server
	Cosmos *cosmos.Server
	folder string

	partitions []string
}

// indexing indexes what is asked for - where, whose, when - and nothing else:
// every index costs request units with every write.
const indexing = `{"indexingMode":"consistent","automatic":true,
	"includedPaths":[{"path":"/deviceId/?"},{"path":"/deliveryId/?"},{"path":"/properties/timestamp/?"}],
	"excludedPaths":[{"path":"/*"}],
	"spatialIndexes":[{"path":"/geometry/*","types":["Point"]}]}`

// Start starts both emulators on loopback and creates hub and container.
func Start(o Options) (*World, error) {
	hub, err := eventhubs.Start(eventhubs.WithHub(Hub, o.Partitions, ConsumerGroup))
	if err != nil {
		return nil, fmt.Errorf("start the Event Hubs emulator: %w", err)
	}
	options := []cosmos.Option{cosmos.WithRanges(o.Ranges), cosmos.WithRUPerRange(o.RUPerRange), cosmos.WithLatency(o.WriteLatency)}
	if o.NoJournal {
		options = append(options, cosmos.WithoutJournal())
	}
	store, err := cosmos.Start(options...)
	if err != nil {
		return nil, errors.Join(fmt.Errorf("start the Cosmos DB emulator: %w", err), hub.Close())
	}
	w := &World{Hub: hub, Cosmos: store, folder: o.Folder}
	for i := range o.Partitions {
		w.partitions = append(w.partitions, strconv.Itoa(i))
	}
	err = store.CreateDatabase(Database)
	if err == nil {
		err = store.CreateContainer(Database, cosmos.Container{
			ID:             Container,
			PartitionKey:   cosmos.PartitionKey{Paths: []string{o.KeyPath}, Kind: "Hash", Version: 2},
			IndexingPolicy: json.RawMessage(indexing),
		})
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("create the container: %w", err), w.Close())
	}
	return w, nil
}

// Close ends both emulators.
func (w *World) Close() error { return errors.Join(w.Hub.Close(), w.Cosmos.Close()) }

// Config is how a service reads this world.
func (w *World) Config(mode processor.Mode) (app.Config, error) {
	return Config(w.Hub.ConnectionString(), w.Cosmos.ConnectionString(), w.folder, mode)
}

// Config is how a service reads a world whose emulators listen elsewhere: the
// settings' defaults but for the connections, and for intervals that suit
// somebody who is watching.
func Config(hub, cosmos, folder string, mode processor.Mode) (app.Config, error) {
	c := app.Config{
		HubConnectionString: app.Secret(hub), HubName: Hub, ConsumerGroup: ConsumerGroup,
		CosmosConnectionString: app.Secret(cosmos), CosmosDatabase: Database, CosmosContainer: Container,
		CheckpointStore: "memory", DeadLetterStore: "file", DeadLetterFile: filepath.Join(folder, "deadletters.ndjson"),
		Mode:   string(mode),
		Listen: "127.0.0.1:0",

		CheckpointInterval: time.Second, OwnershipInterval: time.Second, LagInterval: time.Second,
	}
	if err := kong.ApplyDefaults(&c); err != nil { // of whatever is not set above
		return c, fmt.Errorf("settings of the local service: %w", err)
	}
	return c, nil
}
