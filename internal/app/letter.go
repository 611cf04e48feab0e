package app

import (
	"errors"
	"fmt"
	"time"

	"warmpath/geo"
	"warmpath/processor"
	"warmpath/sink"
)

// letterReader decodes dead letters once more, with the settings of now.
type letterReader struct {
	decoder *geo.Decoder
	config  processor.Config
}

// newLetterReader makes a reader. The age of a letter is not its business: the
// sink asks for it.
func newLetterReader(decoding geo.Config, config processor.Config) (*letterReader, error) {
	decoder, err := geo.NewDecoder(decoding)
	if err != nil {
		return nil, err
	}
	config.MaxAge = 0
	return &letterReader{decoder, config}, nil
}

// Why a letter cannot be sent again.
var (
	errTruncated  = fmt.Errorf("only the first %d bytes of its body were kept", sink.MaxDeadLetterBody)
	errUnreadable = errors.New("the hub's client could not hand the event over, there is no body")
	errNoTime     = errors.New("it has no enqueued time, and any other would make it newer than it is")
	errNoPosition = errors.New("its body does not hold as many positions any more")
)

// sendable tells what makes it impossible to send a letter again.
func sendable(l letter) error {
	switch {
	case l.Truncated:
		return errTruncated
	case l.Reason == string(geo.Unreadable):
		return errUnreadable
	case l.EnqueuedTime.IsZero():
		return errNoTime
	default:
		return nil
	}
}

// read tells what becomes of the positions that a letter stands for: its own
// position, or all of the body where the body was refused as a whole. Its other
// positions have been written, or have letters of their own.
func (r *letterReader) read(l letter, now time.Time) ([]processor.Preview, error) {
	if err := sendable(l); err != nil {
		return nil, err
	}
	previews, err := r.decode(l, l.Event(), now)
	if err != nil {
		return nil, err
	}
	// Of a message without a sender the letter may know the device better than
	// its body says it now.
	if l.HubDeviceID == "" && l.DeviceID != "" && (len(previews) != 1 || previews[0].DeviceID != l.DeviceID) {
		event := l.Event()
		event.HubDeviceID = l.DeviceID
		if again, err := r.decode(l, event, now); err == nil && len(again) == 1 && again[0].DeviceID == l.DeviceID {
			return again, nil
		}
	}
	if len(previews) == 0 {
		return nil, errNoPosition
	}
	return previews, nil
}

func (r *letterReader) decode(l letter, event geo.Event, now time.Time) ([]processor.Preview, error) {
	message := processor.Message{Event: event, Enqueued: l.EnqueuedTime, Sequence: l.SequenceNumber}
	all, err := processor.PreviewBatch(r.config, r.decoder, l.Partition, []processor.Message{message}, now)
	if err != nil {
		return nil, err
	}
	if wholeBody(l) {
		return all, nil
	}
	if l.Index >= len(all) || l.Index < 0 {
		return nil, nil
	}
	return all[l.Index : l.Index+1], nil
}

// wholeBody tells whether a letter may stand for a body that was refused as a
// whole. Where it stands for the first of several positions only, the others are
// sent once more than needed, which changes nothing: they are no newer.
func wholeBody(l letter) bool {
	return l.Index == 0 && (l.Reason == string(geo.Malformed) || l.Reason == string(geo.TooLarge))
}
