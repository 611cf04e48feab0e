package eventhubs

import (
	"warmpath/internal/emulator/amqp"
)

// Kinds of entities that $management describes.
const (
	typeHub       = "com.microsoft:eventhub"
	typePartition = "com.microsoft:partition"
)

// manage answers a request to $management: READ of a hub or a partition.
func (p *peer) manage(req *request) response {
	if operation := req.arguments.String("operation"); operation != "READ" {
		return response{status: 400, description: "The operation '" + operation + "' is not supported."}
	}
	name := req.arguments.String("name")
	if refused := p.allowed(name + "/" + nodeManagement); refused != nil {
		return response{status: 401, description: refused.Description}
	}
	h := p.server.hub(name)
	if h == nil {
		return response{status: 404, description: notFound(name).Description}
	}
	switch kind := req.arguments.String("type"); kind {
	case typeHub:
		return response{status: 200, description: "OK", value: h.describe()}
	case typePartition:
		id := req.arguments.String("partition")
		part := h.partition(id)
		if part == nil {
			return response{status: 404, description: noPartition(h, id).Description}
		}
		return response{status: 200, description: "OK", value: part.describe()}
	default:
		return response{status: 400, description: "The type '" + kind + "' is not supported."}
	}
}

func (h *hub) describe() amqp.Map {
	replicas := int32(1)
	if h.config.GeoReplicated {
		replicas = 2
	}
	return amqp.Map{
		{Key: "name", Value: h.config.Name},
		{Key: "type", Value: typeHub},
		{Key: "created_at", Value: h.created},
		{Key: "partition_count", Value: int32(len(h.all()))},
		{Key: "partition_ids", Value: h.ids()},
		{Key: "georeplication_factor", Value: replicas},
	}
}

func (p *partition) describe() amqp.Map {
	info := p.info()
	if info.LastSequence < 0 { // what the service says of a partition never used
		info.BeginSequence = -1
	}
	return amqp.Map{
		{Key: "name", Value: p.hub.config.Name},
		{Key: "type", Value: typePartition},
		{Key: "partition", Value: p.id},
		{Key: "begin_sequence_number", Value: info.BeginSequence},
		{Key: "last_enqueued_sequence_number", Value: info.LastSequence},
		{Key: "last_enqueued_offset", Value: info.LastOffset},
		{Key: "last_enqueued_time_utc", Value: info.LastEnqueuedTime},
		{Key: "is_partition_empty", Value: info.Empty},
	}
}
