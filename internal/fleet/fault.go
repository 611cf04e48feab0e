package fleet

// fault is a way in which an event is malformed.
type fault int

// Faults of the coordinates spoil one position of an event, the others spoil
// the whole body. All are known from the fleets of others.
const (
	sound          fault = iota
	noNumbers            // a position without a fix, sent all the same
	fewCoordinates       // a coordinate is missing
	cutShort             // the modem lost its connection halfway
	plainText            // the modem's own words
	binary               // bytes that are no text
	empty                // no bytes at all
	faults         = iota
)

// ofCoordinates reports whether the fault spoils a single position.
func (f fault) ofCoordinates() bool { return f == noNumbers || f == fewCoordinates }

// spoil makes a sound body one with the fault.
func (f fault) spoil(body []byte, draw *chance) []byte {
	switch f {
	case cutShort:
		half := len(body) / 2
		return body[:half+draw.IntN(len(body)-half)]
	case plainText:
		return []byte("ERROR 17: GPS TIMEOUT, NO FIX")
	case binary:
		noise := make([]byte, 48)
		for i := range noise {
			noise[i] = 0x80 | byte(draw.IntN(0x80)) // continuation bytes without a beginning are not UTF-8
		}
		noise[0] = 0xFF
		return noise
	case empty:
		return nil
	}
	return body
}
