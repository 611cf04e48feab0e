package app

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/messaging/azeventhubs/v2"

	"warmpath/processor"
)

// warningToHub is said before anything is sent to a hub.
const warningToHub = `warmpath: the hub gives each message a new enqueued time: all its positions count as the newest of their drones, whatever has been written since`

// toHub sends the messages of letters to the hub's partitions that they came
// from, each once however many letters it has.
func (d *DeadLetterResend) toHub(ctx context.Context, letters []letter, out, complain io.Writer) (failed int, err error) {
	c := d.config()
	credential, err := c.credential()
	if err != nil {
		return 0, err
	}
	producer, err := processor.NewProducer(c.hub(credential))
	if err != nil {
		return 0, fmt.Errorf("hub: %w", err)
	}
	defer func() {
		closing, cancel := context.WithTimeout(context.WithoutCancel(ctx), 5*time.Second)
		defer cancel()
		err = errors.Join(err, producer.Close(closing))
	}()
	fmt.Fprintln(complain, warningToHub)
	type message struct {
		partition string
		sequence  int64
		enqueued  int64
	}
	done := map[message]bool{}
	for _, l := range letters {
		m := message{l.Partition, l.SequenceNumber, l.EnqueuedTime.UnixMilli()}
		words := "sent           to partition " + printable(l.Partition)
		err := sendable(l)
		if err == nil && done[m] {
			words = "sent           with a letter before it, of the same message"
		} else if err == nil {
			err = sendToHub(ctx, producer, l)
			done[m] = err == nil
		}
		if err != nil {
			failed++
			words = "refused        " + printable(err.Error())
		}
		fmt.Fprintf(out, "%6d  %s\n", l.number, words)
		if ctx.Err() != nil {
			return failed, ctx.Err()
		}
	}
	return failed, nil
}

// sendToHub sends one message with what the hub said of it, as far as a sender
// can say it.
func sendToHub(ctx context.Context, producer *azeventhubs.ProducerClient, l letter) error {
	batch, err := producer.NewEventDataBatch(ctx, &azeventhubs.EventDataBatchOptions{PartitionID: &l.Partition})
	if err != nil {
		return err
	}
	m := &azeventhubs.AMQPAnnotatedMessage{
		Properties:         &azeventhubs.AMQPAnnotatedMessageProperties{},
		Body:               azeventhubs.AMQPAnnotatedMessageBody{Data: [][]byte{l.Body}},
		MessageAnnotations: map[any]any{},
	}
	if l.ContentType != "" {
		m.Properties.ContentType = &l.ContentType
	}
	if l.ContentEncoding != "" {
		m.Properties.ContentEncoding = &l.ContentEncoding
	}
	if l.HubDeviceID != "" {
		m.MessageAnnotations[processor.AnnotationDevice] = l.HubDeviceID
	}
	if l.ModuleID != "" {
		m.MessageAnnotations[processor.AnnotationModule] = l.ModuleID
	}
	if err := batch.AddAMQPAnnotatedMessage(m, nil); err != nil {
		return err
	}
	return producer.SendEventDataBatch(ctx, batch, nil)
}
