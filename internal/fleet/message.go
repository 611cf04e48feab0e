package fleet

import (
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/messaging/azeventhubs/v2"
)

// contentType is what devices say of their bodies, of spoilt ones as well.
const contentType = "application/json"

// authMethod is how an IoT Hub says that a device came with a key of its own.
const authMethod = `{"scope":"device","type":"sas","issuer":"iothub","acceptingIpFilterRule":null}`

// message is the event as it goes to the hub at some time.
//
// The annotations are those that an IoT Hub puts on what it routes to an Event
// Hub (https://learn.microsoft.com/azure/iot-hub/iot-hub-devguide-messages-construct,
// system properties of device-to-cloud messages). The time counts from the
// sending, not from the time when the event was due: only then is an event that
// is sent late, or again, still as fresh or stale as it was meant to be.
func (e *Event) message(now time.Time) *azeventhubs.AMQPAnnotatedMessage {
	declared := contentType
	m := &azeventhubs.AMQPAnnotatedMessage{
		Body:       azeventhubs.AMQPAnnotatedMessageBody{Data: [][]byte{e.Body}},
		Properties: &azeventhubs.AMQPAnnotatedMessageProperties{MessageID: e.ID(), ContentType: &declared},
	}
	if e.IoTHub {
		m.MessageAnnotations = map[any]any{
			"iothub-connection-device-id":   e.DeviceID,
			"iothub-connection-auth-method": authMethod,
			"iothub-enqueuedtime":           now.Add(-e.StaleBy).Truncate(time.Millisecond),
			"iothub-message-source":         "Telemetry",
		}
	}
	return m
}
