// Package cosmos is a server that speaks the HTTP protocol of Azure Cosmos DB
// for NoSQL, well enough for the official SDKs to be tested against: physical
// partitions, request units, throttling, optimistic concurrency and the order
// of writes behave as in the service, in memory and on loopback.
//
// [Start] returns a running [Server]; [Server.ConnectionString] is what a
// client needs. Tests look inside with [Server.Journal], [Server.Documents] and
// [Server.Ranges], and change the weather with [Server.SetLatency] and
// [Server.SetRUPerRange].
//
// What it guarantees:
//
//  1. A document is one (partition key, id). Two keys may hold the same id.
//  2. Comparing an etag and writing are one step under one lock, so that of two
//     writers holding the same etag exactly one succeeds.
//  3. The journal holds every accepted write in the order in which it was
//     committed, and nothing else.
//  4. A document lives on the physical range whose bounds hold the hash of its
//     key, and its request units are counted there: a hot key is a hot range.
//  5. What the server does not support is refused with 400 or 501 and says so.
//     No answer is made up.
//  6. Nothing a client sends makes memory grow without bound, apart from the
//     documents and the journal that it asked to be kept: bodies are limited to
//     2 MiB and to 128 levels of nesting.
//
// The protocol is that of the REST reference
// (learn.microsoft.com/rest/api/cosmos-db) where there is one, and otherwise of
// what the public SDKs send and expect. Where neither tells, the choice is
// marked as a guess in DESIGN.md, which also lists what is missing.
package cosmos
