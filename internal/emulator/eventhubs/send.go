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
func (p *peer) serveSender(link *amqp.Incoming, hubName, partitionID string) {
	h := p.server.hub(hubName)
	if h == nil {
		link.Refuse(notFound(hubName))
		return
	}
	var fixed *partition
	if partitionID != "" {
		if fixed = h.partition(partitionID); fixed == nil {
			link.Refuse(noPartition(h, partitionID))
			return
		}
	}
	if link.Accept(amqp.Answer{MaxMessageSize: p.server.config.maxMessageSize}, senderCredit) != nil {
		return
	}
	for {
		d, err := link.Receive()
		if err != nil {
			return
		}
		records, err := parseDelivery(d)
		if err != nil {
			d.Reject(amqp.Errorf(amqp.DecodeError, "%v", err))
			continue
		}
		h.append(fixed, records)
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
