package main

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/messaging/azeventhubs/v2"

	"warmpath/bench/process"
	"warmpath/internal/emulator/eventhubs"
	"warmpath/internal/local"
	"warmpath/processor"
)

// world is the child that holds the emulators: it fills the hub, says where it
// is, and counts documents when asked.
func (s *settings) world(context.Context) (err error) {
	options := local.DefaultOptions()
	options.Partitions, options.NoJournal = s.Partitions, true
	w, err := local.Start(options)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, w.Close()) }()
	if err := s.fill(w); err != nil {
		return err
	}
	parent := process.NewParent()
	if err := parent.Say(struct{ Hub, Cosmos string }{w.Hub.ConnectionString(), w.Cosmos.ConnectionString()}); err != nil {
		return err
	}
	for question := ""; parent.Hear(&question) == nil; {
		n := 0
		for range w.Cosmos.Documents(local.Database, local.Container) {
			n++
		}
		if err := parent.Say(n); err != nil {
			return err
		}
	}
	return nil
}

// fill publishes the backlog as an IoT Hub would: all of a drone in one partition.
func (s *settings) fill(w *local.World) error {
	var body []byte
	for i := range s.Events {
		drone := i % s.Drones
		device := fmt.Sprintf("drone-%07d", drone)
		body = fmt.Appendf(body[:0], `{"deviceId":%q,"deliveryId":"d-%d","sensorType":"drone-event-sensor;v1","position":"+47.%06d|-122.%06d|93.98","velocity":"12.2|0.1|0.3","acceleration":"0.1|0|0","flightStatus":"InProgress","occurrenceUtcTime":%q}`,
			device, drone, i%1_000_000, drone%1_000_000, time.Now().UTC().Format(time.RFC3339Nano))
		if _, err := w.Hub.Publish(local.Hub, strconv.Itoa(drone%s.Partitions), eventhubs.TelemetryEvent(device, body, time.Now())); err != nil {
			return err
		}
	}
	return nil
}

// read is the bare loop: one client, one goroutine per partition, the prefetch
// and batch size of the service, and nothing done with the events.
func (s *settings) read(ctx context.Context) error {
	defaults := processor.DefaultConfig()
	client, err := azeventhubs.NewConsumerClientFromConnectionString(s.Hub, local.Hub, local.ConsumerGroup, nil)
	if err != nil {
		return err
	}
	began, cpu := time.Now(), process.CPUTime()
	reading, stop := context.WithCancel(ctx)
	defer stop()
	var received atomic.Int64
	var loops sync.WaitGroup
	faults := make(chan error, s.Partitions)
	earliest := true
	for i := range s.Partitions {
		partition, err := client.NewPartitionClient(strconv.Itoa(i), &azeventhubs.PartitionClientOptions{
			StartPosition: azeventhubs.StartPosition{Earliest: &earliest}, Prefetch: defaults.Prefetch,
		})
		if err != nil {
			return err
		}
		loops.Go(func() {
			defer func() { _ = partition.Close(context.WithoutCancel(ctx)) }()
			for {
				// A batch that does not fill ends with the deadline, as in the service.
				batch, cancel := context.WithTimeout(reading, defaults.Linger)
				events, err := partition.ReceiveEvents(batch, defaults.Batch, nil)
				cancel()
				if errors.Is(err, context.DeadlineExceeded) && reading.Err() == nil {
					continue
				}
				if received.Add(int64(len(events))) >= int64(s.Events) {
					stop()
				}
				if err != nil {
					if reading.Err() == nil {
						faults <- err
						stop()
					}
					return
				}
			}
		})
	}
	<-reading.Done()
	took, spent := time.Since(began), process.CPUTime()-cpu
	loops.Wait()
	r := result{Events: received.Load(), Seconds: took.Seconds(), CPU: perEvent(spent, received.Load()), RSS: process.PeakRSS()}
	select {
	case err := <-faults:
		r.Fault = err.Error()
	default:
	}
	return errors.Join(client.Close(ctx), process.NewParent().Say(r))
}
