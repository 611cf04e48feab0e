package local

import (
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"warmpath/geo"
	"warmpath/internal/emulator/cosmos"
	"warmpath/internal/fleet"
	"warmpath/processor"
	"warmpath/telemetry"
)

// document is what the proof needs of a stored document.
type document struct {
	ID       string `json:"id"`
	DeviceID string `json:"deviceId"`
	Geometry struct {
		Coordinates []float64 `json:"coordinates"`
	} `json:"geometry"`
	Properties struct {
		Timestamp time.Time `json:"timestamp"`
	} `json:"properties"`
	Source struct {
		EnqueuedTime   time.Time `json:"enqueuedTime"`
		SequenceNumber int64     `json:"sequenceNumber"`
		Index          int       `json:"index"`
	} `json:"source"`
}

func parse(body []byte) (document, error) {
	var d document
	if err := json.Unmarshal(body, &d); err != nil {
		return d, fmt.Errorf("stored document: %w", err)
	}
	if len(d.Geometry.Coordinates) < 2 {
		return d, fmt.Errorf("stored document %s has no coordinates", d.ID)
	}
	return d, nil
}

// Documents returns what the container holds, as the census wants to see it.
func (w *World) Documents() ([]fleet.Doc, error) {
	var docs []fleet.Doc
	for stored := range w.Cosmos.Documents(Database, Container) {
		d, err := parse(stored.Body)
		if err != nil {
			return nil, err
		}
		docs = append(docs, fleet.Doc{
			ID: d.ID, DeviceID: d.DeviceID, Timestamp: d.Properties.Timestamp,
			Longitude: d.Geometry.Coordinates[0], Latitude: d.Geometry.Coordinates[1],
		})
	}
	return docs, nil
}

// Prove holds a drained service against the fleet's census. It is nil when the
// ledger balances with nothing in flight, every position met the verdict that
// the fleet meant for it, and the container holds exactly what it should.
func (w *World) Prove(mode processor.Mode, census *fleet.Census, ledger telemetry.Snapshot) error {
	errs := []error{ledger.Balance(), tally(census.Totals(), ledger.Total())}
	docs, err := w.Documents()
	if err != nil {
		return errors.Join(append(errs, err)...)
	}
	if mode == processor.History {
		errs = append(errs, census.CheckHistory(docs))
	} else {
		errs = append(errs, census.CheckLatest(docs), w.NeverBack())
	}
	return errors.Join(errs...)
}

// tally compares the counters with what the fleet sent. Copies that the hub may
// hold because a send was repeated are received and settled once more.
func tally(sent fleet.Totals, got telemetry.Row) error {
	var errs []error
	check := func(what string, got int64, want fleet.Tally) {
		most := want.Positions + sent.Repeated.Positions + sent.Unacknowledged.Positions
		if got < int64(want.Positions) || got > int64(most) {
			errs = append(errs, fmt.Errorf("%s: %d positions, the fleet sent %d (up to %d copies)", what, got, want.Positions, most-want.Positions))
		}
	}
	check("received", got.Received, sent.Acknowledged)
	check("written and superseded", got.Written+got.Superseded, sent.ByVerdict[fleet.Good])
	check("dropped as stale", got.Dropped[string(geo.Stale)], sent.ByVerdict[fleet.Stale])
	check("dropped as other sensor", got.Dropped[string(geo.OtherSensor)], sent.ByVerdict[fleet.OtherSensor])
	check("dead-lettered as malformed", got.DeadLettered[string(geo.Malformed)], sent.ByVerdict[fleet.Malformed])
	check("dead-lettered as out of range", got.DeadLettered[string(geo.OutOfRange)], sent.ByVerdict[fleet.OutOfRange])
	if got.InFlight != 0 {
		errs = append(errs, fmt.Errorf("%d positions are in flight after the drain", got.InFlight))
	}
	return errors.Join(errs...)
}

// NeverBack reads the journal of accepted writes and fails on one step back of
// any document (promise 3): not the end state alone counts.
func (w *World) NeverBack() error { return neverBack(w.Cosmos.Journal(Database, Container)) }

func neverBack(journal []cosmos.Write) error {
	type name struct{ key, id string }
	last := map[name]geo.Order{}
	for _, write := range journal {
		d, err := parse(write.Body)
		if err != nil {
			return err
		}
		n := name{write.Key, write.ID}
		now := geo.Order{Enqueued: d.Source.EnqueuedTime.UnixMilli(), Sequence: d.Source.SequenceNumber, Index: d.Source.Index}
		if before, ok := last[n]; ok && before.Newer(now) {
			return fmt.Errorf("document %s went back from %+v to %+v", d.ID, before, now)
		}
		last[n] = now
	}
	return nil
}
