// Package cases knows payloads with what must become of them: a case is one
// message and the fate of each position in it, one JSON object a line of a file.
// A fleet's own payloads, kept like this, are tests of the settings that they
// are to be read with.
//
// A case has these members, all but event and expect optional:
//
//	group, name              what it is called
//	event.body               the body as text, or
//	event.bodyBase64         the body as base64
//	event.contentType        AMQP property
//	event.contentEncoding    AMQP property
//	event.systemProperties   annotations as an IoT Hub sets them
//	event.enqueuedAgoMillis  age when it is received; 1,000 when absent; null: the
//	                         hub does not say when it took the message
//	settings                 settings that differ, see [Rules]
//	expect.written           documents that must result, in order of the body
//	expect.dropped           positions by reason
//	expect.deadLettered      positions by reason
//	expect.superseded        positions that a newer one of the message replaced
//
// What expect does not name must be zero. Of a document only the members that
// are named are compared, numbers within 1e-4 and times as instants; but
// coordinates, which stand for geometry.coordinates, must be the same float64
// values, printed as short as possible and never as -0.
//
// The package decides no verdict: it asks [processor.PreviewBatch], and compares.
package cases
