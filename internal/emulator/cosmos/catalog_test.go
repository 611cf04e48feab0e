package cosmos_test

import (
	"context"
	"net/http"
	"testing"

	"github.com/Azure/azure-sdk-for-go/sdk/data/azcosmos"

	"warmpath/internal/emulator/cosmos"
)

func TestContainersThroughTheSDK(t *testing.T) {
	s := newServer(t)
	client := newClient(t, s)
	ctx := context.Background()
	if _, err := client.CreateDatabase(ctx, azcosmos.DatabaseProperties{ID: testDB}, nil); err != nil {
		t.Fatal(err)
	}
	_, err := client.CreateDatabase(ctx, azcosmos.DatabaseProperties{ID: testDB}, nil)
	_ = wantStatus(t, err, http.StatusConflict, 0)
	db, err := client.NewDatabase(testDB)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := db.Read(ctx, nil); err != nil {
		t.Errorf("read database: %v", err)
	}

	props := azcosmos.ContainerProperties{
		ID:                     testColl,
		PartitionKeyDefinition: azcosmos.PartitionKeyDefinition{Paths: []string{"/deviceId"}, Version: 2},
		DefaultTimeToLive:      ptr(int32(3600)),
		IndexingPolicy: &azcosmos.IndexingPolicy{
			Automatic:      true,
			IndexingMode:   azcosmos.IndexingModeConsistent,
			IncludedPaths:  []azcosmos.IncludedPath{{Path: "/deviceId/?"}},
			ExcludedPaths:  []azcosmos.ExcludedPath{{Path: "/*"}},
			SpatialIndexes: []azcosmos.SpatialIndex{{Path: "/geometry/*", SpatialTypes: []azcosmos.SpatialType{azcosmos.SpatialTypePoint}}},
		},
	}
	throughput := azcosmos.NewManualThroughputProperties(1000)
	if _, err := db.CreateContainer(ctx, props, &azcosmos.CreateContainerOptions{ThroughputProperties: &throughput}); err != nil {
		t.Fatal(err)
	}
	_, err = db.CreateContainer(ctx, props, nil)
	_ = wantStatus(t, err, http.StatusConflict, 0)

	coll, err := db.NewContainer(testColl)
	if err != nil {
		t.Fatal(err)
	}
	res, err := coll.Read(ctx, nil)
	if err != nil {
		t.Fatal(err)
	}
	got := res.ContainerProperties
	if got.PartitionKeyDefinition.Version != 2 || got.PartitionKeyDefinition.Kind != azcosmos.PartitionKeyKindHash || got.PartitionKeyDefinition.Paths[0] != "/deviceId" {
		t.Errorf("partition key %+v", got.PartitionKeyDefinition)
	}
	if got.DefaultTimeToLive == nil || *got.DefaultTimeToLive != 3600 {
		t.Errorf("default time to live %v, want 3600", got.DefaultTimeToLive)
	}
	if got.IndexingPolicy == nil || len(got.IndexingPolicy.SpatialIndexes) != 1 || got.IndexingPolicy.SpatialIndexes[0].Path != "/geometry/*" {
		t.Errorf("spatial indexes were not echoed: %+v", got.IndexingPolicy)
	}
	if got.ResourceID == "" || got.SelfLink == "" || got.ETag == nil || got.LastModified.IsZero() {
		t.Errorf("system properties are missing: %+v", got)
	}

	offer, err := coll.ReadThroughput(ctx, nil)
	if err != nil {
		t.Fatalf("read throughput: %v", err)
	}
	if n, ok := offer.ThroughputProperties.ManualThroughput(); !ok || n != 1000 {
		t.Errorf("throughput %d, want 1000", n)
	}
	if _, err := coll.ReplaceThroughput(ctx, azcosmos.NewAutoscaleThroughputProperties(4000), nil); err != nil {
		t.Fatalf("replace throughput: %v", err)
	}
	offer, err = coll.ReadThroughput(ctx, nil)
	if err != nil {
		t.Fatal(err)
	}
	if n, ok := offer.ThroughputProperties.AutoscaleMaxThroughput(); !ok || n != 4000 {
		t.Errorf("autoscale maximum %d, want 4000", n)
	}

	got.DefaultTimeToLive = ptr(int32(-1))
	if _, err := coll.Replace(ctx, *got, nil); err != nil {
		t.Fatalf("replace: %v", err)
	}
	got.PartitionKeyDefinition.Paths = []string{"/deliveryId"}
	_, err = coll.Replace(ctx, *got, nil)
	_ = wantStatus(t, err, http.StatusBadRequest, 0)

	if _, err := coll.Delete(ctx, nil); err != nil {
		t.Fatalf("delete: %v", err)
	}
	_, err = coll.Read(ctx, nil)
	wantStatus(t, err, http.StatusNotFound, 1003)
	_, err = coll.UpsertItem(ctx, key("d1"), position("d1", "a", 1), nil)
	wantStatus(t, err, http.StatusNotFound, 1003)
	if _, err := db.Delete(ctx, nil); err != nil {
		t.Fatalf("delete database: %v", err)
	}
	_, err = db.Read(ctx, nil)
	wantStatus(t, err, http.StatusNotFound, 0)
}

func TestHashVersionOneWhenNoneIsGiven(t *testing.T) {
	s := newServer(t)
	coll := newContainer(t, s, cosmos.Container{PartitionKey: cosmos.PartitionKey{Paths: []string{"/deviceId"}}})
	res, err := coll.Read(context.Background(), nil)
	if err != nil {
		t.Fatal(err)
	}
	if v := res.ContainerProperties.PartitionKeyDefinition.Version; v > 1 {
		t.Errorf("version %d for a container made without one, want none or 1", v)
	}
	upsert(t, coll, "d1", "a", 1)
}

func TestRangesAreServed(t *testing.T) {
	s := newServer(t, cosmos.WithRanges(4))
	coll := newContainer(t, s, cosmos.Container{})
	got, err := coll.ReadFeedRanges(context.Background(), nil)
	if err != nil {
		t.Fatal(err)
	}
	want := []azcosmos.FeedRange{
		{MinInclusive: "", MaxExclusive: "0FFFFFFFFFFFFFFFFFFFFFFFFFFFFFFF"},
		{MinInclusive: "0FFFFFFFFFFFFFFFFFFFFFFFFFFFFFFF", MaxExclusive: "1FFFFFFFFFFFFFFFFFFFFFFFFFFFFFFF"},
		{MinInclusive: "1FFFFFFFFFFFFFFFFFFFFFFFFFFFFFFF", MaxExclusive: "2FFFFFFFFFFFFFFFFFFFFFFFFFFFFFFF"},
		{MinInclusive: "2FFFFFFFFFFFFFFFFFFFFFFFFFFFFFFF", MaxExclusive: "FF"},
	}
	if len(got) != len(want) {
		t.Fatalf("feed ranges %v, want %v", got, want)
	}
	for i := range want {
		if got[i] != want[i] {
			t.Errorf("feed range %d = %v, want %v", i, got[i], want[i])
		}
	}
}

func TestDefinitionsRefused(t *testing.T) {
	s := newServer(t)
	deviceID := cosmos.PartitionKey{Paths: []string{"/deviceId"}, Version: 2}
	tests := []struct {
		name string
		c    cosmos.Container
	}{
		{"no id", cosmos.Container{PartitionKey: deviceID}},
		{"id with a slash", cosmos.Container{ID: "a/b", PartitionKey: deviceID}},
		{"no key", cosmos.Container{ID: "a"}},
		{"path without a slash", cosmos.Container{ID: "a", PartitionKey: cosmos.PartitionKey{Paths: []string{"deviceId"}}}},
		{"two paths of kind Hash", cosmos.Container{ID: "a", PartitionKey: cosmos.PartitionKey{Paths: []string{"/a", "/b"}}}},
		{"MultiHash of version 1", cosmos.Container{ID: "a", PartitionKey: cosmos.PartitionKey{Paths: []string{"/a", "/b"}, Kind: "MultiHash"}}},
		{"version 3", cosmos.Container{ID: "a", PartitionKey: cosmos.PartitionKey{Paths: []string{"/a"}, Version: 3}}},
		{"ttl below -1", cosmos.Container{ID: "a", PartitionKey: deviceID, DefaultTTL: -2}},
		{"unknown kind", cosmos.Container{ID: "a", PartitionKey: cosmos.PartitionKey{Paths: []string{"/a"}, Kind: "Range"}}},
		{"indexing policy that is no object", cosmos.Container{ID: "a", PartitionKey: deviceID, IndexingPolicy: []byte(`[]`)}},
		{"indexing path without a slash", cosmos.Container{ID: "a", PartitionKey: deviceID, IndexingPolicy: []byte(`{"includedPaths":[{"path":"x"}]}`)}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if err := s.CreateContainer(testDB, tt.c); err == nil {
				t.Error("accepted")
			}
		})
	}
}

func TestPoliciesThatWouldNotBeKeptAreRefused(t *testing.T) {
	s := newServer(t)
	db, err := newClient(t, s).NewDatabase(testDB)
	if err != nil {
		t.Fatal(err)
	}
	if err := s.CreateDatabase(testDB); err != nil {
		t.Fatal(err)
	}
	props := azcosmos.ContainerProperties{
		ID:                     testColl,
		PartitionKeyDefinition: azcosmos.PartitionKeyDefinition{Paths: []string{"/deviceId"}, Version: 2},
		UniqueKeyPolicy:        &azcosmos.UniqueKeyPolicy{UniqueKeys: []azcosmos.UniqueKey{{Paths: []string{"/n"}}}},
	}
	_, err = db.CreateContainer(context.Background(), props, nil)
	wantStatus(t, err, http.StatusBadRequest, 0)
	props.UniqueKeyPolicy = &azcosmos.UniqueKeyPolicy{UniqueKeys: []azcosmos.UniqueKey{}}
	if _, err := db.CreateContainer(context.Background(), props, nil); err != nil {
		t.Errorf("an empty policy: %v", err)
	}
}
