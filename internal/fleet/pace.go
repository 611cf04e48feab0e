package fleet

import (
	"context"
	"time"
)

// pace walks through the events of some drones of a fleet, in the order in which
// they are due, for ever.
type pace struct {
	drones []*Drone // by number, which is by phase
	next   int      // whose turn it is
	number int      // of its event
}

// due is when the next event is to be sent.
func (p *pace) due() time.Time { return p.drones[p.next].Due(p.number) }

// take returns the next event.
func (p *pace) take() Event {
	e := p.drones[p.next].Event(p.number)
	if p.next++; p.next == len(p.drones) {
		p.next = 0
		p.number++
	}
	return e
}

// upTo returns the events that are due by now, at most so many.
func (p *pace) upTo(now time.Time, most int) []Event {
	var events []Event
	for len(events) < most && !p.due().After(now) {
		events = append(events, p.take())
	}
	return events
}

// chunk is how many events a lane takes in hand at a time.
const chunk = 1024

// lane sends the events of its drones when they are due, one group after the
// other.
type lane struct {
	pace    pace
	now     func() time.Time
	deliver func(ctx context.Context, events []Event) error
}

// run sends until the context ends, which is no error, or deliver fails. No
// event is ever left out: what became due meanwhile follows at once.
func (l *lane) run(ctx context.Context) error {
	for ctx.Err() == nil {
		now := l.now()
		events := l.pace.upTo(now, chunk)
		if len(events) == 0 {
			wait(ctx, l.pace.due().Sub(now))
			continue
		}
		if err := l.deliver(ctx, events); err != nil {
			return err
		}
	}
	return nil
}

// wait returns after some time, or when the context ends.
func wait(ctx context.Context, d time.Duration) {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-ctx.Done():
	}
}

// byDevice parts events by device, each part in the order of the events and the
// parts in the order of their first.
func byDevice(events []Event) [][]Event {
	place := make(map[string]int, len(events))
	var parts [][]Event
	for _, e := range events {
		i, ok := place[e.DeviceID]
		if !ok {
			i = len(parts)
			place[e.DeviceID] = i
			parts = append(parts, nil)
		}
		parts[i] = append(parts[i], e)
	}
	return parts
}
