package geo

// Event is what the hub says of one message. Text that the message does not
// carry is empty.
type Event struct {
	// Body is the data section, or sections joined. A value section is handed
	// over as the JSON of its value. Decode neither changes nor keeps it.
	Body []byte
	// ContentType is kept for dead letters. What a body is, its bytes say:
	// devices that set a content type set it wrong often enough.
	ContentType     string
	ContentEncoding string // AMQP content-encoding
	HubDeviceID     string // annotation iothub-connection-device-id
	ModuleID        string // annotation iothub-connection-module-id
	MessageSource   string // annotation iothub-message-source
}

// telemetrySource is the iothub-message-source of what devices send. All other
// sources are the hub's own voice.
const telemetrySource = "Telemetry"

// Telemetry reports whether the event comes from a device, as far as its
// annotations say.
func (ev *Event) Telemetry() bool {
	return ev.MessageSource == "" || ev.MessageSource == telemetrySource
}
