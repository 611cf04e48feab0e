// Package geo turns what a hub says of one message into positions, and a
// position into the document that is written.
//
// [Decoder.Decode] yields one [Item] per position of an event: a good
// [Position], or the [Reason] why there is none. An event that yields no
// position still yields one item, so that everything received can be accounted
// for. [AppendDocument] writes a position as an RFC 7946 Feature. [Order] is
// the one definition of "newer" that every room asks.
//
// What always holds, whatever the payload:
//
//   - Verdicts fall in one order, and only the first counts: not_telemetry;
//     stale (the caller's); malformed or too_large for the whole body; then for
//     each position a malformed element, other_sensor, missing_id or bad_id,
//     malformed coordinates, out_of_range, missing_partition_key or
//     bad_partition_key.
//   - Decoding never panics and never blocks. JSON nests at most 10,000 deep.
//     An event costs at most four times its bytes, four times
//     [Config.MaxDecompressed] where it is compressed, and 2 KiB for each of its
//     positions, of which there are [Config.MaxPositions] at most.
//   - NaN, infinities, negative zero and text that is not UTF-8 never reach a
//     document.
//   - Device ids map to document ids one to one.
//
// The package knows neither clocks nor stores: whether an event is stale, and
// which positions are superseded, its callers decide.
package geo
