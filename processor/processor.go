package processor

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore"
	"github.com/Azure/azure-sdk-for-go/sdk/messaging/azeventhubs/v2"

	"warmpath/geo"
	"warmpath/telemetry"
)

// Processor shares the partitions of a hub with its peers and reads those it
// owns. Make one with New, run it once.
type Processor struct {
	config  Config
	hub     HubConfig
	store   azeventhubs.CheckpointStore
	decoder *geo.Decoder
	sink    Sink
	dead    DeadLetters
	tel     *telemetry.Telemetry
	log     *slog.Logger
	now     func() time.Time

	connected atomic.Bool // the hub has answered in this run
	halts     sync.Map    // partition id to the error that stopped it
}

// New checks the configuration and makes a processor. No connection is opened
// before Run.
func New(config Config, hub HubConfig, store azeventhubs.CheckpointStore, decoder *geo.Decoder, sink Sink, dead DeadLetters, tel *telemetry.Telemetry, log *slog.Logger, now func() time.Time) (*Processor, error) {
	if err := config.Validate(); err != nil {
		return nil, fmt.Errorf("processor: %w", err)
	}
	if err := hub.Validate(); err != nil {
		return nil, fmt.Errorf("processor: %w", err)
	}
	return &Processor{
		config: config, hub: hub, store: store, decoder: decoder,
		sink: sink, dead: dead, tel: tel, log: log, now: now,
	}, nil
}

// Ready tells why nothing can be received, or nil.
func (p *Processor) Ready() error {
	if !p.connected.Load() {
		return errors.New("the hub has not answered yet")
	}
	var halted error
	p.halts.Range(func(id, err any) bool {
		halted = fmt.Errorf("partition %v has stopped: %w", id, err.(error))
		return false
	})
	return halted
}

// Run reads until stop ends, then drains: it returns when every batch in hand
// is settled, or when hard ends, whichever comes first. hard must not end
// before stop. A connection or a store that fails is tried again with a
// back-off; only positions left unsettled at the deadline are an error.
func (p *Processor) Run(stop, hard context.Context) error {
	waits := newBackOff(200*time.Millisecond, 10*time.Second)
	var unsettled error
	for {
		started := p.now()
		err := p.runOnce(stop, hard, &unsettled)
		p.connected.Store(false)
		if stop.Err() != nil {
			return unsettled
		}
		if p.now().Sub(started) > time.Minute {
			waits.Reset()
		}
		p.tel.Restarted(restartReason(err))
		wait := waits.NextBackOff()
		p.log.Warn("the hub's processor ended, it is built again", "error", err, "retry_in", wait)
		_ = sleep(stop, wait) // its end shows at the top of the loop
	}
}

// restartReason puts the causes of a restart into a few classes.
func restartReason(err error) string {
	var hubErr *azeventhubs.Error
	var storeErr *azcore.ResponseError
	switch {
	case errors.As(err, &storeErr):
		return "store"
	case errors.As(err, &hubErr):
		return string(hubErr.Code)
	default:
		return "other"
	}
}

// runOnce builds client and processor, and runs them until stop ends or the
// SDK's processor gives up.
func (p *Processor) runOnce(stop, hard context.Context, unsettled *error) (err error) {
	client, err := newConsumer(p.hub)
	if err != nil {
		return err
	}
	defer func() {
		closing, cancel := context.WithTimeout(context.WithoutCancel(hard), closeTimeout)
		defer cancel()
		err = errors.Join(err, client.Close(closing))
	}()
	processor, err := azeventhubs.NewProcessor(client, p.store, p.options())
	if err != nil {
		return err
	}

	// The SDK's processor gives the partitions back when its context ends, so it
	// must outlive the loops: it has a context of its own.
	owning, giveBack := context.WithCancel(context.WithoutCancel(hard))
	defer giveBack()
	var runErr error
	ended := make(chan struct{}) // closed after runErr is set
	go func() {
		defer close(ended)
		runErr = processor.Run(owning)
	}()

	// The session of this client ends with stop, with the SDK's processor, or
	// when the hub refuses the key: only a new client asks for the key again.
	session, end := context.WithCancelCause(stop)
	defer end(nil)
	var loops sync.WaitGroup
	var mu sync.Mutex // covers unsettled while loops run
	loops.Go(func() { end(p.watchLag(session, client)) })
	accepted := make(chan struct{})
	go func() {
		defer close(accepted)
		for {
			next := processor.NextPartitionClient(session)
			if next == nil {
				return
			}
			p.connected.Store(true)
			loops.Go(func() {
				err := p.partition(next).run(session, hard)
				if err == nil {
					return
				}
				p.report(stop, next.PartitionID(), err)
				if unauthorized(err) {
					end(err)
				}
				if stop.Err() != nil {
					mu.Lock()
					*unsettled = errors.Join(*unsettled, fmt.Errorf("partition %s: %w", next.PartitionID(), err))
					mu.Unlock()
				}
			})
		}
	}()

	select {
	case <-ended:
		end(runErr)
	case <-session.Done():
	}
	// Drain, in this order:
	<-accepted   // 1. no new partition is taken
	loops.Wait() // 2. batches are settled and checkpoints written
	giveBack()   // 3. partitions are given back
	<-ended
	return context.Cause(session)
}

// unauthorized tells whether the hub refuses the key or the identity.
func unauthorized(err error) bool {
	var hubErr *azeventhubs.Error
	return errors.As(err, &hubErr) && hubErr.Code == azeventhubs.ErrorCodeUnauthorizedAccess
}

// options translates the configuration for the SDK.
func (p *Processor) options() *azeventhubs.ProcessorOptions {
	yes := true
	start := azeventhubs.StartPosition{Earliest: &yes}
	if p.config.Start == Newest {
		start = azeventhubs.StartPosition{Latest: &yes}
	}
	return &azeventhubs.ProcessorOptions{
		LoadBalancingStrategy:       azeventhubs.ProcessorStrategyGreedy,
		UpdateInterval:              p.config.OwnershipInterval,
		PartitionExpirationDuration: p.config.OwnershipExpiration,
		StartPositions:              azeventhubs.StartPositions{Default: start},
		Prefetch:                    p.config.Prefetch,
	}
}

// partition puts together what one owned partition needs.
func (p *Processor) partition(client *azeventhubs.ProcessorPartitionClient) *partition {
	id := client.PartitionID()
	account := p.tel.Ledger.Partition(id)
	log := p.log.With("partition", id)
	return &partition{
		id: id, client: client, account: account, config: p.config, halts: &p.halts, tracer: p.tel.Tracer, log: log, now: p.now,
		batcher: &batcher{
			config: p.config, partition: id, decoder: p.decoder, sink: p.sink, dead: p.dead,
			account: account, tel: p.tel, log: log, now: p.now,
		},
		checkpoint: &checkpointer{
			set: setThrough(client), interval: p.config.CheckpointInterval,
			account: account, tracer: p.tel.Tracer, log: log, now: p.now,
		},
	}
}

// report logs why a partition's loop ended before its time.
func (p *Processor) report(stop context.Context, id string, err error) {
	switch {
	case ownershipLost(err):
		p.log.Info("partition was taken over", "partition", id)
	case stop.Err() != nil:
		p.log.Error("partition is left unsettled at the end of the grace period", "partition", id, "error", err)
	default:
		p.log.Warn("partition failed, it is opened again", "partition", id, "error", err)
	}
}
