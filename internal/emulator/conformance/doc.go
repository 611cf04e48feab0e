// Package conformance holds the emulators to what other people's clients see.
//
// One script of checks is written twice: in JavaScript on Microsoft's packages
// from npm (folder javascript), and in Go on azeventhubs, azcosmos, azblob and
// this project's own bulk writer (the tests of this package). Every check uses
// the services as any program would, by nothing but connection strings, and says
// what it saw in words that mean the same in both languages: bodies, statuses,
// counts, and nothing that differs from run to run. What both must see is in
// testdata/seen.json.
//
// The test starts the emulators of this repository, and Azurite for blobs. The
// flags -hub-connection with -hub, -cosmos-connection and -storage-connection
// run the same checks against any other service, and so against Azure. They
// create and delete blob containers and databases of their own, and publish to
// the hub, which must have at least two partitions and which nobody else may use
// meanwhile. The account must enforce the request units of a container: one
// check wants to be refused.
//
// COMPATIBILITY.md beside this folder lists what the emulators do and which
// check shows it.
package conformance
