package geo

// isEnvelope reports whether an object is what IoT Hub's routing makes of a
// message: its body as a member beside its properties, and no position.
func (f *fields) isEnvelope() bool {
	if len(f.body) == 0 || f.position != nil || f.latitude != nil || f.longitude != nil || f.geometry != nil || f.sensorType != nil {
		return false
	}
	switch f.body[0] {
	case '{', '[', '"':
		return true
	default:
		return f.systemProperties != nil
	}
}

// readEnvelope reads the message in an envelope. The hub embeds a body that is
// declared to be JSON in UTF-8 as it is, and any other as base64.
//
// The enqueued time in an envelope is not looked at: nothing but an annotation
// decides how old a message is.
func (w *work) readEnvelope(f *fields, who *sender) error {
	body := f.body
	if err := w.readSystemProperties(f.systemProperties, who); err != nil {
		return err
	}
	switch body[0] {
	case '{', '[':
		return w.readText(body, nil)
	case '"':
		text, err := w.unwrap(unquote(body), identity)
		if err != nil {
			return err
		}
		return w.readText(text, nil)
	default:
		return errText("the Body of the envelope is neither an object nor text")
	}
}

// readSystemProperties takes who sent the message from an envelope, unless the
// hub said so in an annotation: an annotation cannot be forged, an envelope
// can, and one that names a module would let a device speak for any other.
func (w *work) readSystemProperties(properties []byte, who *sender) error {
	if who.device != "" || len(properties) == 0 || properties[0] != '{' {
		return nil
	}
	var device, module, messageSource []byte
	w.inner.reset(properties)
	// Routing to storage and the hub's annotations name the same things differently.
	_ = w.inner.object(func(name, value []byte) { // read as a value before: it is valid
		switch string(name) {
		case "iothub-connection-device-id", "connectionDeviceId":
			device = value
		case "iothub-connection-module-id", "connectionModuleId":
			module = value
		case "iothub-message-source", "messageSource":
			messageSource = value
		}
	})
	who.device, who.module = textOf(device), textOf(module)
	if source := textOf(messageSource); source != "" && source != telemetrySource {
		return &verdict{NotTelemetry, errNotTelemetry}
	}
	return nil
}

// textOf returns the text of a JSON string, nothing for any other value.
func textOf(value []byte) string {
	if len(value) == 0 || value[0] != '"' {
		return ""
	}
	return string(unquote(value))
}
