// Package amqp is the server side of AMQP 1.0 (OASIS, 2012): the type system,
// frames, SASL, and the state machines of connections, sessions and links, as
// far as a message broker for tests needs them.
//
// A [Server] accepts connections and asks its caller for a [Handler] per
// connection. The handler serves links, one goroutine per link, the way
// net/http serves requests: it accepts or refuses the attach and then reads
// deliveries from an [Incoming] link or offers messages to an [Outgoing] one
// until the link's context ends. Everything below that - windows, credit,
// keep-alives, splitting and joining of multi-frame messages, the order of the
// closing frames - is this package's work.
//
// What it guarantees:
//
//   - Frames of one connection leave in the order they were made; one writer
//     goroutine owns the socket's sending side and coalesces what is waiting.
//   - A detach or end that the peer began is answered only after the handlers
//     of the links concerned have returned. Whatever a handler releases when it
//     returns is released before the peer hears that the link is gone.
//   - A connection that is lost ends the contexts of all its links at once.
//   - Nothing a peer sends makes memory grow without bound: frame size, message
//     size, sessions, links, nesting, counts and unsent answers are limited by
//     [Config].
//
// What it does not do, and how it answers: transactions and dynamic nodes are
// refused with amqp:not-implemented, links are not resumed (an unsettled map is
// ignored), deliveries to the peer are always settled, and TLS is a listener's
// affair (the AMQP TLS header is answered with the expected header, then the
// connection closes).
//
// References of the form "2.6.7" in this package are sections of the AMQP 1.0
// specification, parts 1 (types), 2 (transport), 3 (messaging) and 5 (security).
package amqp
