package processor

import (
	"fmt"
	"time"
)

// Mode is which positions of a drone are kept.
type Mode string

const (
	// Latest keeps one document per (partition key, device): the newest position.
	Latest Mode = "latest"
	// History keeps every position as a document of its own.
	History Mode = "history"
)

// Config is how partitions are read and turned into documents.
type Config struct {
	Mode   Mode
	MaxAge time.Duration // older positions are dropped as stale; 0 drops none
	TTL    time.Duration // time to live of each document, whole seconds; 0 leaves it to the container
	Start  Start         // where a partition without a checkpoint begins

	KeyIsID        bool // the container is partitioned by /id
	DropMissingKey bool // drop positions without partition key instead of dead-lettering them

	MaxRejected int // rejected documents in a row that stop a partition; 0 never stops

	Batch    int           // events in one batch, 1 to 5,000
	Prefetch int32         // events the client keeps per partition, 1 to 5,000
	Linger   time.Duration // how long a batch waits for more once it holds an event

	CheckpointInterval  time.Duration // between two checkpoints of one partition
	OwnershipInterval   time.Duration // between two rounds of balancing and renewal
	OwnershipExpiration time.Duration // after which an owner that does not renew is gone
	LagInterval         time.Duration // between two questions to the hub for its last sequence numbers
}

// Start is where a partition without a checkpoint is begun.
type Start string

const (
	// Earliest begins at the oldest event that the hub still holds.
	Earliest Start = "earliest"
	// Newest begins with the first event enqueued after the partition is opened.
	Newest Start = "latest"
)

// DefaultConfig is what the service starts from.
func DefaultConfig() Config {
	return Config{
		Mode:                Latest,
		MaxAge:              5 * time.Minute,
		Start:               Earliest,
		MaxRejected:         100,
		Batch:               500,
		Prefetch:            1000,
		Linger:              10 * time.Millisecond,
		CheckpointInterval:  10 * time.Second,
		OwnershipInterval:   2 * time.Second,
		OwnershipExpiration: 15 * time.Second,
		LagInterval:         10 * time.Second,
	}
}

// Validate names the first field that is out of its range.
func (c Config) Validate() error {
	switch {
	case c.Mode != Latest && c.Mode != History:
		return fmt.Errorf("mode is %q, allowed are %s and %s", c.Mode, Latest, History)
	case c.Start != Earliest && c.Start != Newest:
		return fmt.Errorf("start is %q, allowed are %s and %s", c.Start, Earliest, Newest)
	case c.MaxAge < 0:
		return fmt.Errorf("max age is %v, allowed is 0 (off) or more", c.MaxAge)
	case c.TTL < 0 || c.TTL%time.Second != 0:
		return fmt.Errorf("time to live is %v, allowed are whole seconds, 0 (the container's) or more", c.TTL)
	case c.MaxRejected < 0:
		return fmt.Errorf("max rejected is %d, allowed is 0 (never stop) or more", c.MaxRejected)
	case c.Batch < 1 || c.Batch > 5000:
		return fmt.Errorf("batch is %d, allowed are 1 to 5000 events", c.Batch)
	case c.Prefetch < 1 || c.Prefetch > 5000:
		return fmt.Errorf("prefetch is %d, allowed are 1 to 5000 events", c.Prefetch)
	case c.Linger < 0 || c.Linger > 10*time.Second:
		return fmt.Errorf("linger is %v, allowed are 0s to 10s", c.Linger)
	case c.CheckpointInterval <= 0:
		return fmt.Errorf("checkpoint interval is %v, allowed is more than 0", c.CheckpointInterval)
	case c.OwnershipInterval <= 0:
		return fmt.Errorf("ownership interval is %v, allowed is more than 0", c.OwnershipInterval)
	case c.OwnershipExpiration < 3*c.OwnershipInterval:
		return fmt.Errorf("ownership expiration is %v, allowed is at least three ownership intervals (%v)", c.OwnershipExpiration, 3*c.OwnershipInterval)
	case c.LagInterval <= 0:
		return fmt.Errorf("lag interval is %v, allowed is more than 0", c.LagInterval)
	}
	return nil
}
