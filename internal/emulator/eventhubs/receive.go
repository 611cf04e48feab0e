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

// serveReceiver serves a link that receives from a partition.
func (p *peer) serveReceiver(link *amqp.Outgoing, a address) {
	r := newReceiver(link, a)
	part, refused := p.server.find(a)
	if part == nil {
		link.Refuse(refused)
		return
	}
	if !p.attach(&link.Link, r.call(OpAttach, part)) {
		return
	}
	next, refused := part.startOf(link.Attach().Filter)
	if refused != nil {
		link.Refuse(refused)
		return
	}
	losers, refused := part.receivers.admit(r)
	if refused != nil {
		link.Refuse(refused)
		return
	}
	defer part.receivers.leave(r)
	for _, loser := range losers {
		loser.detach(stolen(loser, r))
	}
	if link.Accept(amqp.Answer{}) == nil {
		feed := pump{server: p.server, part: part, r: r, next: next}
		feed.run()
	}
}

// attach lets control functions decide about a link to a hub, and reports
// whether it may go on.
func (p *peer) attach(link *amqp.Link, call *Call) bool {
	v, ok := p.server.controls.await(link.Context(), call)
	switch {
	case !ok:
		return false
	case v.Action == Drop:
		<-link.Context().Done()
		return false
	case v.Action == Refuse, v.Action == DetachLink:
		link.Refuse(orDefault(v.Error, amqp.InternalError))
		return false
	}
	return !sever(v, p.conn, link)
}

func newReceiver(link *amqp.Outgoing, a address) *receiver {
	r := &receiver{link: link, group: strings.ToLower(a.group), name: link.Attach().Properties.String(propertyReceiverName)}
	if r.name == "" {
		r.name = link.Attach().Name
	}
	r.epoch, r.hasEpoch = integer(link.Attach().Properties.Get(propertyEpoch))
	return r
}

// find returns the partition of a receiver's address, or why there is none.
func (s *Server) find(a address) (*partition, *amqp.Error) {
	h := s.hub(a.hub)
	if h == nil {
		return nil, notFound(a.hub)
	}
	if !h.groups[strings.ToLower(a.group)] {
		return nil, notFound(h.config.Name + "|" + a.group)
	}
	part := h.partition(a.partition)
	if part == nil {
		return nil, noPartition(h, a.partition)
	}
	return part, nil
}

// startOf finds the sequence number at which a receiver's filter begins.
func (p *partition) startOf(filters amqp.Map) (int64, *amqp.Error) {
	from, err := parseStart(filters)
	if err != nil {
		return 0, amqp.Errorf(amqp.InvalidField, "%v", err)
	}
	return p.locate(from)
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
