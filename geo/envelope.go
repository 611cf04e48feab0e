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
func (w *work) readEnvelope(f *fields) error {
	body := f.body
	if err := w.readSystemProperties(f.systemProperties); err != nil {
		return err
	}
	switch body[0] {
	case '{', '[':
		return w.readText(body, false)
	case '"':
		text, err := w.unwrap(unquote(body), identity)
		if err != nil {
			return err
		}
		return w.readText(text, false)
	default:
		return errText("the Body of the envelope is neither an object nor text")
	}
}

// readSystemProperties takes who sent the message from an envelope, unless the
// hub said so in an annotation: an annotation cannot be forged, an envelope
// can, and one that names a module would let a device speak for any other.
func (w *work) readSystemProperties(properties []byte) error {
	if w.who.device != "" || len(properties) == 0 || properties[0] != '{' {
		return nil
	}
	var sent fields
	_, _ = scanObject(properties, 0, 0, &sent) // read as a value before: it is valid
	w.who = sender{device: textOf(sent.hubDevice), module: textOf(sent.hubModule)}
	if source := textOf(sent.hubSource); source != "" && source != telemetrySource {
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
