package cosmos_test

import (
	"context"
	"math"
	"testing"

	"github.com/Azure/azure-sdk-for-go/sdk/data/azcosmos"

	"warmpath/internal/emulator/cosmos"
)

// The document of the service, about 430 bytes.
const fullDocument = `{"id":"drone-0007","deviceId":"drone-0007","deliveryId":"d-4711","type":"Feature",` +
	`"geometry":{"type":"Point","coordinates":[-121.989734,47.757084,93.98]},` +
	`"properties":{"timestamp":"2026-11-30T12:00:00.123Z","speed":12.2,"heading":83,"battery":0.71},` +
	`"source":{"enqueuedTime":"2026-11-30T12:00:00.456Z","partition":"3","sequenceNumber":123,"index":0}}`

func TestChargesFollowTheIndexingPolicy(t *testing.T) {
	tests := []struct {
		name   string
		policy string
		insert float64
	}{
		{"default", ``, 11},
		{"lean with a spatial index", `{"indexingMode":"consistent","includedPaths":[{"path":"/deviceId/?"},{"path":"/source/enqueuedTime/?"}],
			"excludedPaths":[{"path":"/*"}],"spatialIndexes":[{"path":"/geometry/*","types":["Point"]}]}`, 6.3},
		{"all but a part", `{"indexingMode":"consistent","includedPaths":[{"path":"/*"}],"excludedPaths":[{"path":"/source/*"},{"path":"/properties/battery/?"}]}`, 9},
		{"elements of an array", `{"indexingMode":"consistent","includedPaths":[{"path":"/geometry/coordinates/[]/?"}],"excludedPaths":[{"path":"/*"}]}`, 5.7},
		{"none", `{"indexingMode":"none"}`, 4.5},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			coll := newContainer(t, newServer(t), cosmos.Container{IndexingPolicy: []byte(tt.policy)})
			charge := func() float64 {
				res, err := coll.UpsertItem(context.Background(), key("drone-0007"), []byte(fullDocument), nil)
				if err != nil {
					t.Fatal(err)
				}
				return float64(res.RequestCharge)
			}
			first, second := charge(), charge()
			if math.Abs(first-tt.insert) > 0.25 {
				t.Errorf("insert charged %.2f RU, want about %.1f", first, tt.insert)
			}
			if math.Abs(second-2*first) > 0.02 {
				t.Errorf("overwrite charged %.2f RU, want twice %.2f", second, first)
			}
		})
	}
}

func TestChargesAreSettable(t *testing.T) {
	m := cosmos.DefaultCharges()
	m.WriteBase, m.WritePerKB, m.PerIndexedValue = 3, 0, 0
	m.OverwriteFactor, m.DeleteFactor, m.ReadBase, m.Failed = 4, 5, 6, 7
	coll := newContainer(t, newServer(t, cosmos.WithCharges(m)), cosmos.Container{})
	ctx := context.Background()
	if got := upsert(t, coll, "d1", "a", 1).RequestCharge; got != 3 {
		t.Errorf("insert %v, want 3", got)
	}
	if got := upsert(t, coll, "d1", "a", 1).RequestCharge; got != 12 {
		t.Errorf("overwrite %v, want 12", got)
	}
	read, err := coll.ReadItem(ctx, key("d1"), "a", nil)
	if err != nil || read.RequestCharge != 6 {
		t.Errorf("read %v (error %v), want 6", read.RequestCharge, err)
	}
	_, err = coll.CreateItem(ctx, key("d1"), position("d1", "a", 1), &azcosmos.ItemOptions{})
	re := wantStatus(t, err, 409, 0)
	if got := re.RawResponse.Header.Get("x-ms-request-charge"); got != "7" {
		t.Errorf("conflict %v, want 7", got)
	}
	deleted, err := coll.DeleteItem(ctx, key("d1"), "a", nil)
	if err != nil || deleted.RequestCharge != 15 {
		t.Errorf("delete %v (error %v), want 15", deleted.RequestCharge, err)
	}
}
