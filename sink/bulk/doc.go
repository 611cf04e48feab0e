// Package bulk writes documents to Azure Cosmos DB for NoSQL in bulk: many
// operations travel in one request, each succeeds or fails for itself, and a
// document costs the client a small part of what a request of its own costs. The
// official SDKs for .NET, Java and JavaScript can do this; the one for Go cannot.
//
// [Open] reads where the account is written, the container's definition and its
// physical ranges. [Writer.Submit] takes an [Operation] and blocks while the
// writer is full; the operation's Done hears of the [Result]. [Writer.Flush]
// waits for what was submitted, [Writer.Close] also ends the writer.
//
// # How it works
//
//	Submit -> hash of the key -> physical range -> lane -> request -> answer -> Done
//
// An operation's partition key is hashed as the service hashes it, which tells
// the physical range that holds it. Every range has a few lanes; the operations
// of one key share a lane. A request takes operations of one range, from one lane
// if that fills it and otherwise from as many as it takes, and is sent when it is
// full or when its oldest operation has waited for [Config].Linger. A lane whose
// operations are under way waits for the answer.
//
// # What it guarantees
//
//  1. Done is called exactly once for every operation that Submit has taken, also
//     when the writer is closed or gives up.
//  2. Operations on one document take effect in the order in which one goroutine
//     submits them, across retries and splits of ranges. Two operations on one
//     document are never in the same request, and two operations with one
//     partition key never in two requests at the same time. Done of one returns
//     before the next one on the document is sent.
//  3. Nothing is sent without asking [Config].Admit first, also before a retry.
//  4. Memory is bounded by [Config].MaxPending and the size of the bodies,
//     whatever the service does.
//  5. A range that refuses, is slow or does not answer holds up its own
//     operations only; a key that is hot, its own lane.
//  6. No goroutine is left after Close. When the context given to
//     [Writer.Start] ends, everything is finished at once.
//  7. No key, token or part of a document gets into an error or a log line.
//
// # What is tried again
//
// The writer is the only owner of retries, and does not count them: an operation
// is tried until there is an answer that is the caller's to know, until Admit
// says no, or until the writer gives up.
//
//	answer                              what happens
//	200, 201, 204                       done
//	400, 409, 412, 413, 403/1014, 404   done, with an error; 404 of a document only
//	429                                 the range pauses for as long as the service says
//	449                                 again after 10 ms, doubled up to 1 s
//	410                                 the physical ranges are read anew, again where it belongs now
//	413/3402, 413 of a request          again with half the company
//	408, 5xx, no or a damaged answer    again after a pause; see Result.Unclear
//	401, 403, 404 of the container      held and tried again; Writer.Health says so
//	403/3, 403/1008, no connection      again where the account is written now
//	400 of a request                    halved, until the operation to blame is found
//
// An answer that gets lost leaves it open whether the operation took effect. For
// Upsert that makes no difference; for others see [Result].Unclear.
//
// # Request units
//
// The writer learns from charges and refusals how many request units a second
// each range has, and paces its requests so that they are used up and hardly any
// operation is refused. [Writer.Ranges] tells what it has learnt, and how hot
// each range is.
//
// # What it does not do
//
// It does not read queries, does not run transactions, and does not write to
// containers whose keys are hashed by version 1 ([ErrNotSupported]). It does not
// replace an operation that waits by a newer one on the same document.
//
// The form of bulk requests is not in the service's public reference. It is taken
// from the source of the official SDKs and their issues (see encode.go), and has
// been tested against an emulator only. Open tries it out before anything is
// written, and returns ErrNotSupported where it is refused.
package bulk
