// Package processor reads the partitions of an Event Hubs hub and sees to it
// that every event ends settled: written, superseded, dropped by policy or
// safely dead-lettered.
//
// One loop runs per owned partition:
//
//	receive -> stale? -> decode -> newest per document -> sink -> barrier -> checkpoint
//
// A loop has one batch in hand. It receives the next one only when the last is
// settled, so a slow store stops the receiving, the AMQP credit runs out and
// the hub keeps the backlog: memory is bounded by partitions, batch and
// prefetch (promise 7). Partitions share nothing but the sink: one that waits
// does not hold up the others (promise 6).
//
// Promise 2 (at least once): a checkpoint moves only past a contiguous prefix
// of settled events, and never backwards. It is written at an interval, by a
// goroutine beside the loop, so that a slow checkpoint store does not slow the
// reading; what an interruption leaves unwritten is read again.
//
// Promise 8 (drain): [Processor.Run] has two contexts. When the first ends it
// stops receiving, settles the batches in hand, writes the last checkpoints and
// gives the partitions back, in this order; when the second ends it lets go of
// what is still unsettled and says how much that is, per partition.
package processor
