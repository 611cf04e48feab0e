// Package sink writes documents to Cosmos DB and keeps what cannot be written.
//
// A [Pool] has a fixed number of lanes, each one goroutine with one bounded
// queue. A document goes to the lane that the hash of its key and id names, so
// one document is never written by two lanes at once and its versions leave in
// the order in which they came. Back-pressure is [Pool.Submit] blocking on a
// full lane; memory is bounded by lanes and queues, never by load (promise 7).
//
// The pool is the only owner of retries; the SDK's are off. What a failed
// write means is asked once, of [classify]:
//
//   - throttled (429): wait exactly as long as the service says, then again;
//   - transient (408, 449, 410, 5xx, no answer): again after a jittered back-off;
//   - a fault of the store (401, 403, 404): hold, again, not ready (promise 6);
//   - the document's own fault (400, 413): rejected, for the caller to dead-letter.
//
// A retry has no limit of its own. It ends with an acknowledgement, with a
// rejection, when the position grows older than the maximum age (promise 4:
// asked again before every request), or when the pool is told to stop, in which
// case the document is reported as unsettled and no checkpoint passes it.
//
// Promise 3 (newest wins) is held within the process by the lanes: each
// remembers what it wrote last per document, in a bounded memory.
//
// Promise 5 (the partition key is there) is held by [Container.CheckKey] at
// start and by re-reading the definition when the service answers 400/1001.
//
// The package knows nothing of hub events: the processor gives it documents
// and hears of each exactly once.
package sink
