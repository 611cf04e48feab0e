package app

import (
	"errors"
	"fmt"
	"time"

	"warmpath/processor"
	"warmpath/sink"
	"warmpath/sink/bulk"
)

// Config is every setting of the service. Flags and environment variables are
// both made from these fields by kong: --max-age is WARMPATH_MAX_AGE. The
// help text is the reference. A secret can be given as file:PATH; the file is read
// again when the key it held is refused.
type Config struct {
	HubConnectionString Secret `help:"Event Hubs connection string (Endpoint=sb://...;SharedAccessKeyName=...;SharedAccessKey=...), or file:PATH. Without it, --hub-namespace and the process's identity are used." group:"Hub"`
	HubNamespace        string `help:"Fully qualified namespace, such as fleet.servicebus.windows.net." group:"Hub"`
	HubName             string `help:"Name of the hub, unless the connection string has an EntityPath." group:"Hub"`
	HubEndpoint         string `help:"Another address to dial for the namespace, such as a private endpoint's host:port." group:"Hub"`
	HubWebSockets       bool   `name:"hub-websockets" help:"AMQP over WebSockets on port 443, where 5671 is closed; HTTPS_PROXY and NO_PROXY are obeyed." group:"Hub"`
	ConsumerGroup       string `help:"Consumer group, all lower case and used by nothing else." default:"warmpath" group:"Hub"`

	CosmosConnectionString Secret `help:"Cosmos DB connection string (AccountEndpoint=https://...;AccountKey=...;), or file:PATH. Without it, --cosmos-endpoint and the process's identity are used." group:"Cosmos DB"`
	CosmosEndpoint         string `help:"Account endpoint, such as https://fleet.documents.azure.com:443/." group:"Cosmos DB"`
	CosmosDatabase         string `help:"Database." default:"fleet" group:"Cosmos DB"`
	CosmosContainer        string `help:"Container; its partition key path is read from it and must be /deviceId, /deliveryId or /id." default:"positions" group:"Cosmos DB"`

	Mode                string        `help:"latest keeps one document per drone, history keeps every position." enum:"latest,history" default:"latest" group:"Documents"`
	MaxAge              time.Duration `help:"Positions older than this are dropped as stale; 0 drops none." default:"5m" group:"Documents"`
	TTL                 time.Duration `name:"ttl" help:"Time to live of each document in whole seconds; 0 leaves it to the container." default:"0s" group:"Documents"`
	MissingKey          string        `help:"What happens to a position without the partition key." enum:"deadletter,drop" default:"deadletter" group:"Documents"`
	MaxRejected         int           `help:"Documents that Cosmos DB rejects in a row before their partition stops; 0 never stops." default:"100" group:"Documents"`
	AllowStaleDocuments bool          `help:"Run in mode latest although the key is not /deviceId and nothing expires: a drone that changes its key leaves its last document behind." group:"Documents"`

	Decoding

	StorageConnectionString Secret `help:"Azure Storage connection string, or file:PATH. Without it, --storage-endpoint and the process's identity are used." group:"Storage"`
	StorageEndpoint         string `help:"Blob service, such as https://fleet.blob.core.windows.net/." group:"Storage"`
	CheckpointStore         string `help:"Where checkpoints and ownership are kept: blob, or memory, which forgets them at exit and shares them with nobody." enum:"blob,memory" default:"blob" group:"Storage"`
	CheckpointContainer     string `help:"Blob container of checkpoints and ownership; it must exist." default:"checkpoints" group:"Storage"`
	DeadLetterStore         string `help:"Where dead letters are kept: blob or file." enum:"blob,file" default:"blob" group:"Storage"`
	DeadLetterContainer     string `help:"Blob container of dead letters; it must exist." default:"deadletters" group:"Storage"`
	DeadLetterFile          string `help:"File of dead letters, one JSON object a line." default:"deadletters.ndjson" group:"Storage"`

	Start               string        `help:"Where a partition without a checkpoint begins." enum:"earliest,latest" default:"earliest" group:"Reading"`
	CheckpointInterval  time.Duration `help:"Time between two checkpoints of one partition." default:"10s" group:"Reading"`
	OwnershipInterval   time.Duration `help:"Time between two rounds of sharing the partitions with other replicas." default:"2s" group:"Reading"`
	OwnershipExpiration time.Duration `help:"A replica that does not renew its ownership for this long is taken for gone." default:"15s" group:"Reading"`
	Batch               int           `help:"Events of one partition handled together, 1 to 5000." default:"500" group:"Reading"`
	Prefetch            int32         `help:"Events the client keeps per partition, 1 to 5000." default:"1000" group:"Reading"`
	Linger              time.Duration `help:"How long a batch waits for more events once it holds one." default:"10ms" group:"Reading"`
	LagInterval         time.Duration `help:"Time between two questions to the hub for its last sequence numbers." default:"10s" group:"Reading"`

	Writer         string        `help:"bulk writes many documents in one request; point writes each in its own; auto is bulk where container and service take it." enum:"auto,bulk,point" default:"auto" group:"Writing"`
	Guard          string        `help:"etag keeps an older position from replacing a newer one across restarts and replicas, at the price of conditional writes; none gives that up." enum:"etag,none" default:"etag" group:"Writing"`
	MaxRUPerSecond float64       `name:"max-ru-per-second" help:"Most request units a second to spend on the container; 0 is no limit. Bulk writing only." default:"0" group:"Writing"`
	Lanes          int           `help:"Point writing: writes to Cosmos DB at the same time, 1 to 4096." default:"128" group:"Writing"`
	Queue          int           `help:"Point writing: documents waiting per lane, 1 to 65536." default:"16" group:"Writing"`
	RequestTimeout time.Duration `help:"Bound of one request to Cosmos DB." default:"10s" group:"Writing"`

	Cloud  string        `help:"Cloud of the process's identity." enum:"public,government,china" default:"public" group:"Running"`
	Listen string        `help:"Address of /healthz, /readyz and /metrics." default:":9090" group:"Running"`
	Grace  time.Duration `help:"How long SIGTERM waits for what is in flight." default:"20s" group:"Running"`
}

// Validate names the first setting that is wrong, its value and what is
// allowed. What kong checks by itself (types, enumerations) is not repeated.
func (c *Config) Validate() error {
	if err := c.validateHub(); err != nil {
		return err
	}
	return c.validateWriting()
}

// validateHub checks where events come from.
func (c *Config) validateHub() error {
	switch {
	case c.HubConnectionString == "" && c.HubNamespace == "":
		return errors.New("--hub-connection-string and --hub-namespace are both empty, one of them is needed")
	case c.HubConnectionString != "" && c.HubNamespace != "":
		return fmt.Errorf("--hub-namespace is %q, but --hub-connection-string is given as well: one of them is needed", c.HubNamespace)
	case c.HubNamespace != "" && c.HubName == "":
		return errors.New("--hub-name is empty, with --hub-namespace it is needed")
	case c.ConsumerGroup == "":
		return errors.New("--consumer-group is empty, a name is needed")
	default:
		return nil
	}
}

// validateWriting checks all but where events come from.
func (c *Config) validateWriting() error {
	switch {
	case c.CosmosConnectionString == "" && c.CosmosEndpoint == "":
		return errors.New("--cosmos-connection-string and --cosmos-endpoint are both empty, one of them is needed")
	case c.CosmosConnectionString != "" && c.CosmosEndpoint != "":
		return fmt.Errorf("--cosmos-endpoint is %q, but --cosmos-connection-string is given as well: one of them is needed", c.CosmosEndpoint)
	case c.needsStorage() && c.StorageConnectionString == "" && c.StorageEndpoint == "":
		return fmt.Errorf("--storage-connection-string and --storage-endpoint are both empty, with --checkpoint-store=%s and --dead-letter-store=%s one of them is needed", c.CheckpointStore, c.DeadLetterStore)
	case c.StorageConnectionString != "" && c.StorageEndpoint != "":
		return fmt.Errorf("--storage-endpoint is %q, but --storage-connection-string is given as well: one of them is needed", c.StorageEndpoint)
	case c.RequestTimeout <= 0:
		return fmt.Errorf("--request-timeout is %v, allowed is more than 0", c.RequestTimeout)
	case c.Grace <= 0:
		return fmt.Errorf("--grace is %v, allowed is more than 0", c.Grace)
	}
	if err := c.validateDecoding(); err != nil {
		return err
	}
	if err := c.processor().Validate(); err != nil {
		return fmt.Errorf("settings for reading: %w", err)
	}
	if err := errors.Join(c.pool().Validate(), c.bulk().Writer.Validate()); err != nil {
		return fmt.Errorf("settings for writing: %w", err)
	}
	return nil
}

// needsStorage tells whether anything is kept in blobs.
func (c *Config) needsStorage() bool {
	return c.CheckpointStore == "blob" || c.DeadLetterStore == "blob"
}

func (c *Config) processor() processor.Config {
	return processor.Config{
		Mode:                processor.Mode(c.Mode),
		MaxAge:              c.MaxAge,
		TTL:                 c.TTL,
		Start:               processor.Start(c.Start),
		DropMissingKey:      c.MissingKey == "drop",
		MaxRejected:         c.MaxRejected,
		Batch:               c.Batch,
		Prefetch:            c.Prefetch,
		Linger:              c.Linger,
		CheckpointInterval:  c.CheckpointInterval,
		OwnershipInterval:   c.OwnershipInterval,
		OwnershipExpiration: c.OwnershipExpiration,
		LagInterval:         c.LagInterval,
	}
}

// guarded tells whether older versions are kept from replacing newer ones across
// processes. In history no document is written twice.
func (c *Config) guarded() bool {
	return c.Guard == "etag" && processor.Mode(c.Mode) == processor.Latest
}

func (c *Config) bulk() sink.BulkConfig {
	b := sink.BulkConfig{Writer: bulk.DefaultConfig(), MaxAge: c.MaxAge, Guard: c.guarded(), Remember: remember}
	b.Writer.MaxRUPerSecond, b.Writer.RequestTimeout = c.MaxRUPerSecond, c.RequestTimeout
	return b
}

// remember is for how many documents the guard remembers what stands: about 200
// bytes each.
const remember = 1 << 18

func (c *Config) pool() sink.PoolConfig {
	p := sink.DefaultPoolConfig()
	p.Lanes, p.Queue, p.MaxAge = c.Lanes, c.Queue, c.MaxAge
	p.NewestWins = processor.Mode(c.Mode) == processor.Latest
	return p
}
