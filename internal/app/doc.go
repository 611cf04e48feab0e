// Package app puts the service together: it knows the settings, the order in
// which the rooms are built and the order in which they are taken down.
//
// Promise 8 (drain): when the context that [App.Run] was given ends,
//
//  1. no more events are received;
//  2. what is in hand is settled, for at most the grace period;
//  3. checkpoints are written and the partitions given back;
//  4. lanes, dead letters, listeners and exporters are closed.
//
// Promise 9 (no secrets): settings that hold a secret are of type [Secret],
// which no formatting verb, log handler or encoder prints.
package app
