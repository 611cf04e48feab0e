package eventhubs

import (
	"sync"

	"warmpath/internal/emulator/amqp"
)

// argumentOutOfRange is how the service calls a partition that does not exist.
const argumentOutOfRange amqp.Symbol = "com.microsoft:argument-out-of-range"

// Nodes that answer requests.
const (
	nodeCBS        = "$cbs"
	nodeManagement = "$management"
)

// peer serves the links of one connection.
type peer struct {
	server *Server
	conn   *amqp.Conn

	mu      sync.Mutex // covers what follows
	replies map[*replyLink]struct{}
	claims  map[string]claim // by path
}

func newPeer(s *Server, conn *amqp.Conn) *peer {
	return &peer{
		server:  s,
		conn:    conn,
		replies: make(map[*replyLink]struct{}),
		claims:  make(map[string]claim),
	}
}

// ServeOutgoing serves a link on which the client receives.
func (p *peer) ServeOutgoing(link *amqp.Outgoing) {
	a := parseAddress(link.Attach().SourceAddress)
	switch refused := p.admit(a); {
	case refused != nil:
		link.Refuse(refused)
	case a.node != "":
		p.serveReplies(link, a.node)
	case a.group == "" || a.partition == "":
		link.Refuse(notFound(a.text))
	default:
		p.serveReceiver(link, a)
	}
}

// ServeIncoming serves a link on which the client sends.
func (p *peer) ServeIncoming(link *amqp.Incoming) {
	a := parseAddress(link.Attach().TargetAddress)
	switch refused := p.admit(a); {
	case refused != nil:
		link.Refuse(refused)
	case a.node != "":
		p.serveRequests(link, a.node)
	case a.group != "":
		link.Refuse(notFound(a.text))
	default:
		p.serveSender(link, a)
	}
}

// admit refuses a link that leads nowhere, elsewhere, or where the client may
// not go.
func (p *peer) admit(a address) *amqp.Error {
	if a.iotHub {
		return p.server.redirected(a)
	}
	if !a.ok {
		return notFound(a.text)
	}
	// The token for a request node names its entity, which the node's own
	// address need not; what is requested is checked with the request.
	if a.node == "" {
		return p.allowed(a.text)
	}
	return nil
}

func notFound(entity string) *amqp.Error {
	return amqp.Errorf(amqp.NotFound, "The messaging entity '%s' could not be found.", entity)
}

func noPartition(h *hub, id string) *amqp.Error {
	return amqp.Errorf(argumentOutOfRange,
		"The specified partition is invalid for an EventHub partition sender or receiver. It should be between 0 and %d; got '%s'.",
		len(h.all())-1, id)
}
