package processor

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore/streaming"
	"github.com/Azure/azure-sdk-for-go/sdk/messaging/azeventhubs/v2"
	"github.com/google/uuid"

	"warmpath/sink"
)

// CheckHub tries whether the hub can be read, without disturbing those who do:
// its receiver has no owner level, so it can take a partition from nobody. It
// returns what it found in one line.
func CheckHub(ctx context.Context, c HubConfig) (found string, err error) {
	client, err := newConsumer(c)
	if err != nil {
		return "", err
	}
	defer func() { err = errors.Join(err, client.Close(context.WithoutCancel(ctx))) }()
	properties, err := client.GetEventHubProperties(ctx, nil)
	if err != nil {
		return "", fmt.Errorf("read the hub's properties: %w", err)
	}
	found = fmt.Sprintf("%s has %d partitions, consumer group %s", properties.Name, len(properties.PartitionIDs), c.ConsumerGroup)
	if c.ConsumerGroup != strings.ToLower(c.ConsumerGroup) {
		found += " (it has capitals: KEDA's scaler will not find its checkpoints)"
	}
	if len(properties.PartitionIDs) == 0 {
		return "", errors.New("the hub has no partitions")
	}
	latest := true
	receiver, err := client.NewPartitionClient(properties.PartitionIDs[0], &azeventhubs.PartitionClientOptions{
		StartPosition: azeventhubs.StartPosition{Latest: &latest}, Prefetch: -1,
	})
	if err != nil {
		return "", err
	}
	defer func() { err = errors.Join(err, receiver.Close(context.WithoutCancel(ctx))) }()
	// The link is opened by the first receive. Whether an event comes is no
	// matter: the deadline of an open link is a success.
	_, err = receiver.ReceiveEvents(ctx, 1, nil)
	switch {
	case err == nil, errors.Is(err, context.DeadlineExceeded):
		return found, nil
	case strings.Contains(err.Error(), "amqp:link:stolen"):
		// Somebody with an owner level reads it. The SDK says so in no other way.
		return found + ", read by somebody now", nil
	default:
		return "", fmt.Errorf("receive from partition %s as consumer group %s: %w", properties.PartitionIDs[0], c.ConsumerGroup, err)
	}
}

// Check tries whether the container can be listed and written, with a blob of
// its own that it removes again.
func (s *BlobStore) Check(ctx context.Context) error {
	name := "warmpath-check/" + uuid.NewString()
	client := s.container.NewBlockBlobClient(name)
	if _, err := client.Upload(ctx, streaming.NopCloser(strings.NewReader("")), nil); err != nil {
		return fmt.Errorf("write %s: %w", name, sink.Brief(err))
	}
	if _, err := client.Delete(ctx, nil); err != nil {
		return fmt.Errorf("remove %s: %w", name, sink.Brief(err))
	}
	_, err := s.ListCheckpoints(ctx, "warmpath-check", "none", "none", nil)
	return err
}
