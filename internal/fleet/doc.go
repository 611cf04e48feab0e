// Package fleet is a simulated fleet of delivery drones, and the census of what
// it sent.
//
// A Fleet says what every drone sends and when, a Sender sends it to an Event
// Hub with the production SDK, a Census remembers it and holds a container of
// documents against it. Together they let tests, the local run and the load
// generator prove that nothing was lost on the way and that the newest position
// won.
//
// It guarantees:
//
//  1. Determinism. The n-th event of a drone, with its verdict, body and
//     positions, depends on the Config and the start of the Fleet alone: not on
//     the clock, not on what other drones do, not on the order of calls.
//  2. Open loop. The n-th event of a drone is due at start + phase + n x
//     interval, whatever became of the events before it. A late event is sent
//     all the same, and counted as late.
//  3. Order. The events of one drone go out one after another, the next not
//     before the one before it is acknowledged, all with the device id as
//     partition key: the hub keeps them in the order of their device times.
//  4. Identity. The device time of a position, in whole milliseconds, is unique
//     within its drone and rises strictly with the position's counter. It
//     reaches the document as properties.timestamp, so that a Census finds the
//     counter of a stored document again. It is the time at which the schedule
//     wants the position sent: the time of a document against it tells the
//     whole delay, waiting in a late sender included.
//  5. At least once. An event that the hub did not acknowledge is sent again
//     until the context ends. The Census knows which positions may therefore be
//     in the hub twice, or not at all.
//
// What it does not do: it makes no hub, reads nothing back, and forgets a census
// with the process. One kind of copy escapes the fifth guarantee: when the hub
// detaches the sending link while a batch is on its way, the SDK itself sends
// that batch once more, even with its retries switched off, and tells nobody.
package fleet
