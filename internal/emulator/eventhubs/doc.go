// Package eventhubs is an Event Hubs namespace for tests and local runs: an AMQP
// 1.0 endpoint that unmodified Event Hubs client libraries send to and receive
// from. It lives in the memory of the process that starts it.
//
// A [Server] has hubs, a hub has partitions and consumer groups, a partition is
// a log of events that are encoded once, when they arrive; serving an event is a
// frame header and a copy.
//
// What it guarantees:
//
//   - Within a partition sequence numbers are contiguous from 0 and offsets are
//     byte positions that grow with them and are never equal to them, so that
//     code that mixes the two up fails.
//   - A receiver gets every event from its start position on, once and in
//     order, as fast as its credit allows.
//   - An event keeps what its sender put into it: properties, application
//     properties, body sections and all annotations except the four that the
//     service sets itself.
//   - Epochs (owner levels) decide between receivers of one consumer group and
//     partition as in the service: the higher or equal newcomer wins.
//   - Receivers and epochs of a lost connection are gone at once.
//
// Where the service's behaviour is documented, or visible in its clients, this
// package follows it; the rest is a plain guess, named as such where it stands.
package eventhubs
