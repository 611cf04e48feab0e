package geo

import (
	"bytes"
	"strings"
)

// A tracker line has these fields, with blanks between them.
const (
	trackerDevice   = iota
	trackerTime     // yyyyMMddHHmmss in UTC
	trackerFix      // T: in three dimensions, F: without altitude
	trackerLat      // degrees
	trackerLon      // degrees
	trackerAltitude // metres
	trackerHDOP
	trackerSpeed // kilometres per hour
	trackerTrack // degrees clockwise from north
	trackerFields
)

const trackerTimeLayout = "20060102150405"

// readTracker reads tracker lines, each of which is one position. A text in
// which no line looks like one is something else altogether.
func (w *work) readTracker(text []byte) error {
	tracker := false
	for line := range bytes.Lines(text) {
		var fields trackerLine
		n := fields.split(line)
		if n == 0 {
			continue
		}
		tracker = tracker || fields.looksRight(n)
		if n != trackerFields {
			if err := w.addMalformed(errText("a tracker line has nine fields")); err != nil {
				return err
			}
			continue
		}
		item, note, err := w.next()
		if err != nil {
			return err
		}
		if err := fields.read(&item.Position); err != nil {
			item.Reason, item.Err = reasonOf(err), err
			note.final = item.Reason == Malformed
		}
	}
	if !tracker {
		return errText("body is neither JSON nor tracker lines")
	}
	return nil
}

type trackerLine [trackerFields][]byte

// split cuts a line into fields and returns how many there are; those beyond
// the last are counted, not kept.
func (l *trackerLine) split(line []byte) int {
	n := 0
	for field := range bytes.FieldsFuncSeq(line, isBlank) {
		if n < trackerFields {
			l[n] = field
		}
		n++
	}
	return n
}

func isBlank(r rune) bool { return strings.ContainsRune(blanks, r) }

// looksRight reports whether a line of n fields begins as a tracker line does.
func (l *trackerLine) looksRight(n int) bool {
	if n <= trackerFix || len(l[trackerTime]) != len(trackerTimeLayout) {
		return false
	}
	return digits(l[trackerTime]) >= 0
}

// read reads the fields into a position. A line of which one field does not
// follow the format is not trusted in the others.
func (l *trackerLine) read(p *Position) error {
	var numbers [trackerFields]float64
	for i := trackerLat; i < trackerFields; i++ {
		f, ok := parseText(l[i])
		if !ok {
			return errText("a number of the tracker line does not parse")
		}
		numbers[i] = f
	}
	t, ok := parseLayout(trackerTimeLayout, l[trackerTime])
	if !ok {
		return errText("the time of the tracker line does not parse")
	}
	switch string(l[trackerFix]) {
	case "T":
		p.Altitude = numbers[trackerAltitude]
	case "F":
	default:
		return errText("the fix of the tracker line is neither T nor F")
	}
	p.DeviceID = string(l[trackerDevice])
	p.Time = t
	p.HDOP = inRange(numbers[trackerHDOP], 0, maxHDOP)
	p.Speed = inRange(kilometresPerHour.of(numbers[trackerSpeed]), 0, maxSpeed)
	p.Heading = compass(numbers[trackerTrack])
	return p.place(numbers[trackerLon], numbers[trackerLat])
}
