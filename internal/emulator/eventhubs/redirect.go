package eventhubs

import (
	"net"
	"strconv"
	"strings"

	"warmpath/internal/emulator/amqp"
)

// redirect is where links to an IoT Hub are sent; without a hub nowhere.
type redirect struct{ hub, address string }

// redirected answers a link to messages/events/... the way an IoT Hub does: with
// amqp:link:redirect and the Event Hubs-compatible endpoint in its info map
// (2.8.18, and the address that IoT Hubs add to it).
func (s *Server) redirected(a address) *amqp.Error {
	r := s.config.redirect
	if r.hub == "" {
		return notFound(a.text)
	}
	if r.address == "" {
		r.address = s.Addr()
	}
	host, port, err := net.SplitHostPort(r.address)
	if err != nil {
		host, port = r.address, "5671"
	}
	n, _ := strconv.ParseUint(port, 10, 16)
	scheme := "amqp"
	if s.config.tls != nil {
		scheme = "amqps"
	}
	rest := strings.Trim(a.text, "/")[len("messages/events"):]
	return &amqp.Error{
		Condition:   amqp.Redirect,
		Description: "Permanent redirect to the Event Hubs-compatible endpoint.",
		Info: amqp.Map{
			{Key: amqp.Symbol("hostname"), Value: host},
			{Key: amqp.Symbol("network-host"), Value: host},
			{Key: amqp.Symbol("port"), Value: int32(n)},
			{Key: amqp.Symbol("address"), Value: scheme + "://" + net.JoinHostPort(host, port) + "/" + r.hub + rest},
		},
	}
}
