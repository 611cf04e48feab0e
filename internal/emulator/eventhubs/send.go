package eventhubs

import (
	"warmpath/internal/emulator/amqp"
)

const (
	// formatBatch marks a transfer whose data sections each hold a whole
	// encoded message.
	formatBatch = 0x80013700
	// senderCredit is how many deliveries a sender may have on the way.
	senderCredit = 1000
)

// serveSender serves a link that sends to a hub or one of its partitions.
func (p *peer) serveSender(link *amqp.Incoming, a address) {
	h := p.server.hub(a.hub)
	if h == nil {
		link.Refuse(notFound(a.hub))
		return
	}
	var fixed *partition
	if a.partition != "" {
		if fixed = h.partition(a.partition); fixed == nil {
			link.Refuse(noPartition(h, a.partition))
			return
		}
	}
	call := &Call{Op: OpAttach, Remote: p.conn.RemoteAddr().String(), Hub: h.config.Name, Partition: a.partition, Sender: true}
	if !p.attach(&link.Link, call) {
		return
	}
	if !h.join(link) {
		link.Refuse(notFound(a.hub))
		return
	}
	defer h.leave(link)
	if link.Accept(amqp.Answer{MaxMessageSize: p.server.config.maxMessageSize}, senderCredit) != nil {
		return
	}
	for {
		d, err := link.Receive()
		if err != nil {
			return
		}
		p.take(d, h, fixed, a)
	}
}

// take handles one delivery of a sender.
func (p *peer) take(d *amqp.Delivery, h *hub, fixed *partition, a address) {
	records, err := parseDelivery(d)
	if err != nil {
		d.Reject(amqp.Errorf(amqp.DecodeError, "%v", err))
		return
	}
	if a.publisher != "" {
		for i := range records {
			records[i].publish(a.publisher)
		}
	}
	call := &Call{Op: OpSend, Remote: p.conn.RemoteAddr().String(), Hub: h.config.Name, Partition: a.partition, Events: len(records)}
	v, ok := p.server.controls.await(d.Link().Context(), call)
	if !ok || v.Action == Drop || sever(v, p.conn, &d.Link().Link) {
		return
	}
	if v.Action == Refuse {
		d.Reject(orDefault(v.Error, amqp.InternalError))
		return
	}
	h.append(fixed, records)
	if v.Action == Repeat {
		h.append(fixed, records)
	}
	if v.Action != Mute {
		d.Accept()
	}
}

// parseDelivery returns the events of one delivery, all or none.
func parseDelivery(d *amqp.Delivery) ([]record, error) {
	if d.Format != formatBatch {
		r, err := parseRecord(d.Payload)
		return []record{r}, err
	}
	envelope, err := amqp.SplitMessage(d.Payload)
	if err != nil {
		return nil, err
	}
	outer, err := parseRecord(d.Payload)
	if err != nil {
		return nil, err
	}
	records := make([]record, len(envelope.Data))
	for i, message := range envelope.Data {
		if records[i], err = parseRecord(message); err != nil {
			return nil, err
		}
		if records[i].key == "" {
			records[i].key = outer.key
		}
	}
	return records, nil
}

// append adds the events of one delivery to one partition: the fixed one, or
// what the first event's key says.
func (h *hub) append(fixed *partition, records []record) {
	if len(records) == 0 {
		return
	}
	if fixed == nil {
		fixed = h.choose(records[0].key)
	}
	for i := range records {
		fixed.append(&records[i])
	}
}

// annotationPublisher names the publisher whose address an event was sent to.
const annotationPublisher = "x-opt-publisher"

// publish makes the publisher the event's key: events of one publisher stay
// together.
func (r *record) publish(publisher string) {
	r.key, r.hideKey = publisher, true
	r.annotate(annotationPublisher, publisher)
}
