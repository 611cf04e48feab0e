package geo

import (
	"bytes"
	"strings"
	"time"
	"unsafe"
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

const errNoFormat = errText("body is neither JSON nor tracker lines")

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
		c, err := w.next()
		if err != nil {
			return err
		}
		if n != trackerFields {
			c.before, c.err = Malformed, errText("a tracker line has nine fields")
			continue
		}
		fields.read(c)
	}
	if !tracker {
		return errNoFormat
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
	for _, c := range l[trackerTime] {
		if c < '0' || c > '9' {
			return false
		}
	}
	return true
}

// read reads the fields into a candidate. A line of which a field does not
// follow the format is not trusted in the others.
func (l *trackerLine) read(c *candidate) {
	refuse := func(detail errText) { c.before, c.err = Malformed, detail }
	var numbers [trackerFields]float64
	for i := trackerLat; i < trackerFields; i++ {
		f, ok := parseText(l[i])
		if !ok {
			refuse("a number of the tracker line does not parse")
			return
		}
		numbers[i] = f
	}
	// The string lives only as long as the call, and nobody writes the field meanwhile.
	stamp := unsafe.String(unsafe.SliceData(l[trackerTime]), len(l[trackerTime]))
	t, err := time.Parse(trackerTimeLayout, stamp)
	if err != nil {
		refuse("the time of the tracker line does not parse")
		return
	}
	p := &c.position
	switch string(l[trackerFix]) {
	case "T":
		p.Altitude = numbers[trackerAltitude]
	case "F":
	default:
		refuse("the fix of the tracker line is neither T nor F")
		return
	}
	p.DeviceID = string(l[trackerDevice])
	p.Time = t
	p.HDOP = inRange(numbers[trackerHDOP], 0, maxHDOP)
	p.Speed = inRange(numbers[trackerSpeed]/3.6, 0, maxSpeed)
	p.Heading = compass(numbers[trackerTrack])
	if err := p.place(numbers[trackerLon], numbers[trackerLat]); err != nil {
		c.after, c.err = reasonOf(err), err
	}
}
