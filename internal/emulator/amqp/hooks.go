package amqp

// Hooks interfere with what a server does of its own accord, for tests of how
// clients take it. Nil hooks change nothing. They run on goroutines of the
// connection; all but Heartbeat may block until the connection's context ends.
type Hooks struct {
	// Accept is asked before the first byte is read. An error drops the
	// connection.
	Accept func(*Conn) error
	// Open is asked once the peer's open has been read. An error is told to the
	// peer: open is answered, then the connection is closed with it.
	Open func(*Conn) *Error
	// Heartbeat is asked before a keep-alive is sent; false keeps it back.
	Heartbeat func(*Conn) bool
}
