package eventhubs_test

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/messaging/azeventhubs/v2"
	client "github.com/Azure/go-amqp"

	"warmpath/internal/emulator/eventhubs"
)

func TestIoTHubDecoration(t *testing.T) {
	now := newClock()
	s := newServer(t, eventhubs.WithClock(now.now), eventhubs.WithHubConfig(eventhubs.HubConfig{
		Name: testHub, Partitions: 1, IoTHub: &eventhubs.IoTHub{DeviceProperty: "device"}}))
	p, c := newProducer(t, s), newConsumer(t, s)
	send(t, p, &azeventhubs.EventDataBatchOptions{PartitionKey: to("drone-1")},
		body("by key"),
		&azeventhubs.EventData{Body: []byte("by property"), Properties: map[string]any{"device": "drone-2"}})
	send(t, p, nil, body("by nobody"))
	events := receive(t, newPartition(t, c, "0", nil), 3)
	for i, device := range []string{"drone-1", "drone-2"} {
		got := events[i].SystemProperties
		if got["iothub-connection-device-id"] != device || got["iothub-message-source"] != "Telemetry" {
			t.Errorf("event %d: %v, want telemetry of %s", i, got, device)
		}
		if at, _ := got["iothub-enqueuedtime"].(time.Time); !at.Equal(now.now()) {
			t.Errorf("event %d: iothub-enqueuedtime is %v, want %v", i, got["iothub-enqueuedtime"], now.now())
		}
		if id, _ := got["iothub-connection-auth-generation-id"].(string); len(id) != 18 {
			t.Errorf("event %d: generation id is %q", i, id)
		}
		if events[i].PartitionKey != nil {
			t.Errorf("event %d has partition key %q; an IoT Hub sets none", i, *events[i].PartitionKey)
		}
	}
	if len(events[2].SystemProperties) != 0 {
		t.Errorf("an event of no device was decorated: %v", events[2].SystemProperties)
	}
}

func TestIoTHubEvents(t *testing.T) {
	s := newServer(t, eventhubs.WithHub(testHub, 1))
	at := time.Date(2026, 4, 5, 6, 7, 8, 0, time.UTC)
	for _, e := range []eventhubs.Event{
		eventhubs.TelemetryEvent("d", []byte("{}"), at),
		eventhubs.TwinChangeEvent("d", []byte(`{"properties":{}}`), at),
		eventhubs.LifecycleEvent("d", true, []byte("{}"), at),
		eventhubs.ConnectionEvent("d", false, at),
	} {
		if _, err := s.Publish(testHub, "", e); err != nil {
			t.Fatal(err)
		}
	}
	events := receive(t, newPartition(t, newConsumer(t, s), "0", nil), 4)
	for i, want := range []struct{ source, operation string }{
		{"Telemetry", "<nil>"},
		{"twinChangeEvents", "updateTwin"},
		{"deviceLifecycleEvents", "createDeviceIdentity"},
		{"deviceConnectionStateEvents", "deviceDisconnected"},
	} {
		e := events[i]
		if e.SystemProperties["iothub-message-source"] != want.source || fmt.Sprint(e.Properties["opType"]) != want.operation ||
			e.SystemProperties["iothub-connection-device-id"] != "d" {
			t.Errorf("event %d is %v %v, want %+v", i, e.SystemProperties, e.Properties, want)
		}
	}
}

// A client that knows only the IoT Hub is sent to the Event Hubs-compatible
// endpoint.
func TestRedirect(t *testing.T) {
	s := newServer(t, eventhubs.WithHub(testHub, 1), eventhubs.WithRedirect(testHub, ""))
	conn, err := client.Dial(deadline(t), "amqp://"+s.Addr(), &client.ConnOptions{SASLType: client.SASLTypePlain("service@sas.root.hub", "signature")})
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	session, err := conn.NewSession(deadline(t), nil)
	if err != nil {
		t.Fatal(err)
	}
	_, err = session.NewReceiver(deadline(t), "messages/events/ConsumerGroups/$Default/Partitions/0", nil)
	var redirect *client.Error
	if !errors.As(err, &redirect) || redirect.Condition != client.ErrCondLinkRedirect {
		t.Fatalf("got %v, want a redirect", err)
	}
	if got, want := redirect.Info["address"], "amqp://"+s.Addr()+"/"+testHub+"/ConsumerGroups/$Default/Partitions/0"; got != want {
		t.Errorf("address is %v, want %v", got, want)
	}
	if redirect.Info["hostname"] != "127.0.0.1" || redirect.Info["port"] == nil {
		t.Errorf("info is %v", redirect.Info)
	}
}
