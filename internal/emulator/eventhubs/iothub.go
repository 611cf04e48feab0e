package eventhubs

import (
	"fmt"
	"hash/fnv"
	"time"

	"warmpath/internal/emulator/amqp"
)

// Annotations that an IoT Hub sets on what it passes on.
const (
	iotDeviceID     = "iothub-connection-device-id"
	iotAuthMethod   = "iothub-connection-auth-method"
	iotGenerationID = "iothub-connection-auth-generation-id"
	iotEnqueued     = "iothub-enqueuedtime"
	iotSource       = "iothub-message-source"
)

// IoTHub says how a hub decorates what clients send, so that an ordinary Event
// Hubs producer can play the devices behind an IoT Hub.
type IoTHub struct {
	// DeviceProperty names the application property that holds the device id.
	// Without it, or on events that lack it, the partition key is the device id.
	DeviceProperty string
}

// decorate adds the annotations that a device's message has and the sender did
// not set itself. An event without any device id stays as it is.
func (i *IoTHub) decorate(r *record, now time.Time) {
	device := r.key
	if i.DeviceProperty != "" {
		if m, err := r.applicationProperties(); err == nil {
			if id := m.String(i.DeviceProperty); id != "" {
				device = id
			}
		}
	}
	if device == "" {
		return
	}
	// An IoT Hub partitions by device id, but sets no partition key annotation.
	r.hideKey = true
	r.annotate(iotDeviceID, device)
	r.annotate(iotAuthMethod, `{"scope":"device","type":"sas","issuer":"iothub","acceptingIpFilterRule":null}`)
	r.annotate(iotGenerationID, generationID(device))
	r.annotate(iotEnqueued, now)
	r.annotate(iotSource, "Telemetry")
}

// generationID is a number of the form that an IoT Hub gives a device identity,
// always the same for the same device.
func generationID(device string) string {
	h := fnv.New64a()
	_, _ = h.Write([]byte(device))
	return fmt.Sprintf("63%016d", h.Sum64()%1e16)
}

// TelemetryEvent is a device's message as an IoT Hub passes it on.
func TelemetryEvent(device string, body []byte, enqueued time.Time) Event {
	return iotEvent(device, "Telemetry", body, enqueued, nil)
}

// TwinChangeEvent reports a change of a device's twin; patch is JSON.
func TwinChangeEvent(device string, patch []byte, enqueued time.Time) Event {
	return iotEvent(device, "twinChangeEvents", patch, enqueued, map[string]any{
		"iothub-message-schema": "twinChangeNotification",
		"opType":                "updateTwin",
	})
}

// LifecycleEvent reports that a device identity was created or deleted; the body
// is the device's twin in JSON.
func LifecycleEvent(device string, created bool, twin []byte, enqueued time.Time) Event {
	operation := "deleteDeviceIdentity"
	if created {
		operation = "createDeviceIdentity"
	}
	return iotEvent(device, "deviceLifecycleEvents", twin, enqueued, map[string]any{
		"iothub-message-schema": "deviceLifecycleNotification",
		"opType":                operation,
	})
}

// ConnectionEvent reports that a device connected or disconnected.
func ConnectionEvent(device string, connected bool, enqueued time.Time) Event {
	operation := "deviceDisconnected"
	if connected {
		operation = "deviceConnected"
	}
	body := fmt.Appendf(nil, `{"sequenceNumber":"%040X"}`, enqueued.UnixMilli())
	return iotEvent(device, "deviceConnectionStateEvents", body, enqueued, map[string]any{
		"iothub-message-schema": "deviceConnectionStateNotification",
		"opType":                operation,
	})
}

func iotEvent(device, source string, body []byte, enqueued time.Time, properties map[string]any) Event {
	e := Event{
		Body:                  body,
		ApplicationProperties: properties,
		EnqueuedTime:          enqueued,
		Annotations: map[string]any{
			iotDeviceID: device,
			iotEnqueued: enqueued,
			iotSource:   source,
		},
	}
	if source == "Telemetry" {
		e.Annotations[iotAuthMethod] = `{"scope":"device","type":"sas","issuer":"iothub","acceptingIpFilterRule":null}`
		e.Annotations[iotGenerationID] = generationID(device)
		return e
	}
	e.Properties = amqp.Properties{ContentType: "application/json", ContentEncoding: "utf-8"}
	properties["hubName"] = "emulator"
	properties["deviceId"] = device
	properties["operationTimestamp"] = enqueued.UTC().Format(time.RFC3339Nano)
	return e
}
