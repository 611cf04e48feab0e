package eventhubs

import (
	"strings"
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

	mu      sync.Mutex // covers replies
	replies map[*replyLink]struct{}
}

func newPeer(s *Server, conn *amqp.Conn) *peer {
	return &peer{server: s, conn: conn, replies: make(map[*replyLink]struct{})}
}

// node tells which request node an address names, if any: with or without an
// entity before it.
func node(address string) string {
	last := strings.ToLower(address[strings.LastIndexByte(address, '/')+1:])
	if last == nodeCBS || last == nodeManagement {
		return last
	}
	return ""
}

// ServeOutgoing serves a link on which the client receives.
func (p *peer) ServeOutgoing(link *amqp.Outgoing) {
	address := link.Attach().SourceAddress
	if n := node(address); n != "" {
		p.serveReplies(link, n)
		return
	}
	hub, group, partition, ok := parseReceiverAddress(address)
	if !ok {
		link.Refuse(notFound(address))
		return
	}
	p.serveReceiver(link, hub, group, partition)
}

// ServeIncoming serves a link on which the client sends.
func (p *peer) ServeIncoming(link *amqp.Incoming) {
	address := link.Attach().TargetAddress
	if n := node(address); n != "" {
		p.serveRequests(link, n)
		return
	}
	hub, partition, ok := parseSenderAddress(address)
	if !ok {
		link.Refuse(notFound(address))
		return
	}
	p.serveSender(link, hub, partition)
}

// parseReceiverAddress reads hub/ConsumerGroups/group/Partitions/id.
func parseReceiverAddress(address string) (hub, group, partition string, ok bool) {
	parts := strings.Split(strings.TrimPrefix(address, "/"), "/")
	if len(parts) != 5 || !strings.EqualFold(parts[1], "ConsumerGroups") || !strings.EqualFold(parts[3], "Partitions") {
		return "", "", "", false
	}
	return parts[0], parts[2], parts[4], true
}

// parseSenderAddress reads hub or hub/Partitions/id.
func parseSenderAddress(address string) (hub, partition string, ok bool) {
	parts := strings.Split(strings.TrimPrefix(address, "/"), "/")
	switch {
	case len(parts) == 1 && parts[0] != "":
		return parts[0], "", true
	case len(parts) == 3 && strings.EqualFold(parts[1], "Partitions"):
		return parts[0], parts[2], true
	}
	return "", "", false
}

func notFound(entity string) *amqp.Error {
	return amqp.Errorf(amqp.NotFound, "The messaging entity '%s' could not be found.", entity)
}

func noPartition(h *hub, id string) *amqp.Error {
	return amqp.Errorf(argumentOutOfRange,
		"The specified partition is invalid for an EventHub partition sender or receiver. It should be between 0 and %d; got '%s'.",
		len(h.partitions)-1, id)
}
