package fleet

import (
	"strconv"
	"time"
)

// Event is one message of one drone, ready to be sent.
type Event struct {
	// DeviceID names the drone. It is the partition key, too.
	DeviceID string
	// Drone is the number of the drone in its fleet, from 0.
	Drone int
	// Number is the number of the event among those of its drone, from 0.
	Number int
	// Due is when the schedule wants the event sent.
	Due time.Time
	// Body is the payload.
	Body []byte
	// StaleBy is how long before the sending an IoT Hub took the message; zero
	// for a fresh one.
	StaleBy time.Duration
	// IoTHub says that the message carries the annotations of an IoT Hub.
	IoTHub bool
	// Positions are what a reader must find in the body, in its order, at least
	// one: a body that holds no position counts as one.
	Positions []Position
}

// ID is the message id of the event: the device id and the number of the event.
// Copies of an event that was sent more than once share it.
func (e *Event) ID() string { return e.DeviceID + ":" + strconv.Itoa(e.Number) }

// Position is what the fleet sent and the census knows of one position.
type Position struct {
	// Counter numbers the positions of a drone from 0. It skips those that the
	// drone measured but did not send.
	Counter int
	// Time is the device time, in whole milliseconds: unique within the drone
	// and rising strictly with Counter.
	Time time.Time
	// Verdict is what must become of the position.
	Verdict Verdict
	// Longitude and Latitude are in degrees with six decimals, exactly as sent.
	// They say nothing for a position that is OtherSensor or Malformed.
	Longitude, Latitude float64
}
