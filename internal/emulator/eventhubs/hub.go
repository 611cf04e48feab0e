package eventhubs

import (
	"fmt"
	"hash/fnv"
	"maps"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"warmpath/internal/emulator/amqp"
)

const defaultGroup = "$Default"

// hub is one event hub.
type hub struct {
	config  HubConfig
	created time.Time
	groups  map[string]bool // by lower-case name
	now     func() time.Time
	turn    atomic.Uint32 // of the round robin

	// partitions only ever grows, by a new slice.
	partitions atomic.Pointer[[]*partition]

	mu      sync.Mutex // covers what follows
	gone    *amqp.Error
	senders map[*amqp.Incoming]struct{}
}

func newHub(c HubConfig, now func() time.Time) *hub {
	h := &hub{
		config:  c,
		created: now(),
		groups:  map[string]bool{strings.ToLower(defaultGroup): true},
		now:     now,
		senders: make(map[*amqp.Incoming]struct{}),
	}
	for _, g := range c.ConsumerGroups {
		h.groups[strings.ToLower(g)] = true
	}
	h.partitions.Store(new([]*partition))
	h.grow(c.Partitions)
	return h
}

// grow gives the hub n partitions, if it has fewer. The caller keeps others
// from growing it too.
func (h *hub) grow(n int) {
	partitions := append([]*partition(nil), h.all()...)
	for i := len(partitions); i < n; i++ {
		partitions = append(partitions, newPartition(h, strconv.Itoa(i)))
	}
	h.partitions.Store(&partitions)
}

func (h *hub) all() []*partition { return *h.partitions.Load() }

// partition finds a partition by its id, or returns nil.
func (h *hub) partition(id string) *partition {
	all := h.all()
	i, err := strconv.Atoi(id)
	if err != nil || i < 0 || i >= len(all) || id != strconv.Itoa(i) {
		return nil
	}
	return all[i]
}

// choose picks a partition for events that name none: by the hash of their key,
// or in turn. The hash is not the service's, which is not published; it is as
// stable.
func (h *hub) choose(key string) *partition {
	all := h.all()
	n := uint32(len(all))
	if key == "" {
		return all[(h.turn.Add(1)-1)%n]
	}
	hash := fnv.New32a()
	_, _ = hash.Write([]byte(key))
	return all[hash.Sum32()%n]
}

func (h *hub) ids() []string {
	all := h.all()
	ids := make([]string, len(all))
	for i, p := range all {
		ids[i] = p.id
	}
	return ids
}

// join registers a sending link. It fails on a hub that is gone.
func (h *hub) join(link *amqp.Incoming) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.gone != nil {
		return false
	}
	h.senders[link] = struct{}{}
	return true
}

func (h *hub) leave(link *amqp.Incoming) {
	h.mu.Lock()
	defer h.mu.Unlock()
	delete(h.senders, link)
}

func (h *hub) sending() []*amqp.Incoming {
	h.mu.Lock()
	defer h.mu.Unlock()
	return slices.Collect(maps.Keys(h.senders))
}

// evict ends all links of the hub and keeps new ones away: it is gone.
func (h *hub) evict(reason *amqp.Error) {
	h.mu.Lock()
	h.gone = reason
	h.mu.Unlock()
	for _, link := range h.sending() {
		link.Detach(reason)
	}
	for _, p := range h.all() {
		for _, r := range p.receivers.close(reason) {
			r.detach(reason)
		}
	}
}

// PartitionInfo is what there is to know of a partition's log.
type PartitionInfo struct {
	// BeginSequence is the oldest event kept, LastSequence the newest there
	// ever was; the latter is -1 if there never was one.
	BeginSequence, LastSequence int64
	// LastOffset is "-1", and LastEnqueuedTime the zero Unix time, if there
	// never was an event.
	LastOffset       string
	LastEnqueuedTime time.Time
	Empty            bool
}

// partition is a log and those who receive from it.
type partition struct {
	hub       *hub
	id        string
	log       *log
	receivers receivers
}

func newPartition(h *hub, id string) *partition {
	return &partition{hub: h, id: id, log: newLog()}
}

// append adds an event and wakes the receivers.
func (p *partition) append(r *record) Position {
	now := p.hub.now()
	if p.hub.config.IoTHub != nil {
		p.hub.config.IoTHub.decorate(r, now)
	}
	if r.enqueued.IsZero() {
		r.enqueued = now
	}
	at := p.appendEncoded(r.enqueued, func(b []byte, at Position) []byte {
		return r.appendTo(b, at.Sequence, at.Offset, r.enqueued)
	})
	if p.hub.config.Retention > 0 && at.Sequence%expireEvery == 0 {
		p.expire(now)
	}
	return at
}

// appendEncoded adds the event that encode appends to its argument, whatever it
// is, and wakes the receivers.
func (p *partition) appendEncoded(enqueued time.Time, encode func(b []byte, at Position) []byte) Position {
	var at Position
	p.log.append(enqueued.UnixMilli(), func(b []byte, sequence, offset int64) []byte {
		at = Position{Sequence: sequence, Offset: p.formatOffset(offset)}
		return encode(b, at)
	})
	p.receivers.notify()
	return at
}

// expireEvery is after how many events a partition that is only sent to looks
// for those that have outlived its hub's retention.
const expireEvery = 256

func (p *partition) expire(now time.Time) {
	p.log.expire(now.Add(-p.hub.config.Retention).UnixMilli())
}

// info looks at the log after dropping what has outlived the hub's retention.
func (p *partition) info() PartitionInfo {
	if p.hub.config.Retention > 0 {
		p.expire(p.hub.now())
	}
	p.log.mu.RLock()
	defer p.log.mu.RUnlock()
	info := PartitionInfo{
		BeginSequence:    p.log.begin,
		LastSequence:     p.log.next - 1,
		LastOffset:       "-1",
		LastEnqueuedTime: time.UnixMilli(p.log.newest).UTC(),
		Empty:            p.log.begin == p.log.next,
	}
	if p.log.next > 0 {
		info.LastOffset = p.formatOffset(p.log.last)
	}
	return info
}

func (p *partition) String() string { return fmt.Sprintf("%s/Partitions/%s", p.hub.config.Name, p.id) }
