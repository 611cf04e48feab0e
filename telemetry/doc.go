// Package telemetry holds every instrument of Warmpath - its name, unit and
// description - the exporters, and the ledger that proves that nothing was lost.
//
// The ledger keeps one account per hub partition. An account changes state
// under one lock, and every reader (the metrics endpoint, the page, the checks)
// reads one [Snapshot] of it, so that what follows holds at every read:
//
// Promise 1 (balance): received = written + superseded + dropped +
// dead-lettered + in flight, per partition and in all. In flight is counted by
// walking the positions that open batches really hold, never by subtraction;
// a lost or doubled settlement therefore shows as an imbalance instead of
// hiding in the difference.
//
// The instruments are observed from a snapshot when a reader collects; only
// histograms and the Cosmos DB counters are recorded as things happen. Device
// ids are never an attribute: the number of series is bounded by partitions,
// ranges, lanes and reasons.
//
// Those who come from the article "Performance tuning - event streaming" find
// its four names here:
//
//	IoTHubMessagesReceived               warmpath.events.received
//	IoTHubMessagesReceivedFreshnessMsec  warmpath.freshness (seconds, a histogram over every event)
//	IoTHubMessagesDropped                warmpath.positions.dropped{reason="stale"} (positions, not messages)
//	CosmosDbDocumentsCreated             warmpath.positions.written (acknowledged, each once)
//
// Names follow OpenTelemetry (warmpath.positions.received); Prometheus shows
// them as warmpath_positions_received_total.
package telemetry
