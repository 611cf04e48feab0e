package eventhubs

import (
	"maps"
	"slices"
	"sync"

	"warmpath/internal/emulator/amqp"
)

// maxPlainReceivers is how many receivers without epoch may share a partition
// within one consumer group.
const maxPlainReceivers = 5

// receivers are those of one partition, over all consumer groups. The zero value
// is ready.
type receivers struct {
	mu   sync.Mutex // covers what follows; never held while a link is touched, except to notify it
	all  map[*receiver]struct{}
	gone *amqp.Error // why nobody is let in any more
}

// admit lets a receiver in or refuses it. It returns the receivers that have to
// go because of it; they are no longer counted.
func (rs *receivers) admit(r *receiver) (losers []*receiver, refused *amqp.Error) {
	rs.mu.Lock()
	defer rs.mu.Unlock()
	if rs.gone != nil {
		return nil, rs.gone
	}
	plain := 0
	for other := range rs.all {
		switch {
		case other.group != r.group:
		case !other.hasEpoch:
			plain++
			if r.hasEpoch {
				losers = append(losers, other)
			}
		case !r.hasEpoch:
			return nil, amqp.Errorf(amqp.Stolen,
				"At least one receiver for the endpoint is created with epoch of '%d', and so non-epoch receiver is not allowed. "+
					"Either reconnect with a higher epoch, or make sure all epoch receivers are closed or disconnected.", other.epoch)
		case other.epoch > r.epoch:
			return nil, amqp.Errorf(amqp.Stolen,
				"Receiver '%s' with a higher epoch '%d' already exists. Receiver '%s' with epoch %d cannot be created. "+
					"Make sure you are creating receiver with increasing epoch value to ensure connectivity, or ensure all old epoch receivers are closed or disconnected.",
				other.name, other.epoch, r.name, r.epoch)
		default:
			losers = append(losers, other)
		}
	}
	if !r.hasEpoch && plain >= maxPlainReceivers {
		return nil, amqp.Errorf(amqp.ResourceLimitExceeded,
			"Exceeded the maximum number of allowed receivers per partition in a consumer group which is %d.", maxPlainReceivers)
	}
	for _, loser := range losers {
		delete(rs.all, loser)
	}
	if rs.all == nil {
		rs.all = make(map[*receiver]struct{})
	}
	rs.all[r] = struct{}{}
	return losers, nil
}

func (rs *receivers) leave(r *receiver) {
	rs.mu.Lock()
	defer rs.mu.Unlock()
	delete(rs.all, r)
}

// close lets nobody in any more and returns those who are in.
func (rs *receivers) close(reason *amqp.Error) []*receiver {
	rs.mu.Lock()
	defer rs.mu.Unlock()
	rs.gone = reason
	return slices.Collect(maps.Keys(rs.all))
}

func (rs *receivers) list() []*receiver {
	rs.mu.Lock()
	defer rs.mu.Unlock()
	return slices.Collect(maps.Keys(rs.all))
}

// notify wakes every receiver: there is a new event.
func (rs *receivers) notify() {
	rs.mu.Lock()
	defer rs.mu.Unlock()
	for r := range rs.all {
		r.notify()
	}
}

// stolen tells a loser why it has to go.
func stolen(loser, winner *receiver) *amqp.Error {
	if !loser.hasEpoch {
		return amqp.Errorf(amqp.Stolen,
			"New receiver '%s' with higher epoch of '%d' is created hence current receiver '%s' without epoch is getting disconnected. "+
				"If you are recreating the receiver, make sure a higher epoch is used.", winner.name, winner.epoch, loser.name)
	}
	return amqp.Errorf(amqp.Stolen,
		"New receiver '%s' with higher epoch of '%d' is created hence current receiver '%s' with epoch '%d' is getting disconnected. "+
			"If you are recreating the receiver, make sure a higher epoch is used.", winner.name, winner.epoch, loser.name, loser.epoch)
}
