package eventhubs

import (
	"net"
	"strconv"
	"strings"

	"warmpath/internal/emulator/amqp"
)

// redirect answers a link to messages/events/... the way an IoT Hub does: with
// amqp:link:redirect and the Event Hubs-compatible endpoint in its info map
// (2.8.18, and the address that IoT Hubs add to it).
func (p *peer) redirect(a address) *amqp.Error {
	for hub, to := range p.server.config.redirects {
		if to == "" {
			to = p.server.Addr()
		}
		host, port, err := net.SplitHostPort(to)
		if err != nil {
			host, port = to, "5671"
		}
		n, _ := strconv.ParseUint(port, 10, 16)
		scheme := "amqp"
		if p.server.config.tls != nil {
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
				{Key: amqp.Symbol("address"), Value: scheme + "://" + net.JoinHostPort(host, port) + "/" + hub + rest},
			},
		}
	}
	return notFound(a.text)
}
