package eventhubs

import (
	"strings"

	"warmpath/internal/emulator/amqp"
)

// Link properties by which a receiver says who it is (the client libraries'
// names for them).
const (
	propertyEpoch        = "com.microsoft:epoch"
	propertyReceiverName = "com.microsoft:receiver-name"
)

// readAhead is how many events are offered to a link at a time. It bounds how
// long one link keeps its connection's others waiting.
const readAhead = 128

// serveReceiver serves a link that receives from a partition.
func (p *peer) serveReceiver(link *amqp.Outgoing, a address) {
	h := p.server.hub(a.hub)
	if h == nil {
		link.Refuse(notFound(a.hub))
		return
	}
	group := strings.ToLower(a.group)
	if !h.groups[group] {
		link.Refuse(notFound(h.config.Name + "|" + a.group))
		return
	}
	part := h.partition(a.partition)
	if part == nil {
		link.Refuse(noPartition(h, a.partition))
		return
	}
	from, err := parseStart(link.Attach().Filter)
	if err != nil {
		link.Refuse(amqp.Errorf(amqp.InvalidField, "%v", err))
		return
	}
	next, refused := part.locate(from)
	if refused != nil {
		link.Refuse(refused)
		return
	}

	r := &receiver{link: link, group: group, name: link.Attach().Properties.String(propertyReceiverName)}
	if r.name == "" {
		r.name = link.Attach().Name
	}
	r.epoch, r.hasEpoch = integer(link.Attach().Properties.Get(propertyEpoch))
	losers, refused := part.receivers.admit(r)
	if refused != nil {
		link.Refuse(refused)
		return
	}
	defer part.receivers.leave(r)
	for _, loser := range losers {
		loser.link.Detach(stolen(loser, r))
	}
	if link.Accept(amqp.Answer{}) == nil {
		pump(link, part.log, next)
	}
}

// pump offers the events from next on until the link ends.
func pump(link *amqp.Outgoing, l *log, next int64) {
	buffer := make([][]byte, 0, readAhead)
	for {
		first, events := l.read(next, buffer)
		taken := link.Offer(events...)
		next = first + int64(taken)
		if len(events) == 0 {
			link.Drained()
		}
		if taken > 0 && taken == len(events) {
			continue
		}
		select {
		case <-link.Wake():
		case <-link.Context().Done():
			return
		}
	}
}

// integer reads a number of any AMQP integer type.
func integer(v any) (int64, bool) {
	switch v := v.(type) {
	case int8:
		return int64(v), true
	case int16:
		return int64(v), true
	case int32:
		return int64(v), true
	case int64:
		return v, true
	case uint8:
		return int64(v), true
	case uint16:
		return int64(v), true
	case uint32:
		return int64(v), true
	case uint64:
		return int64(v), true
	}
	return 0, false
}
