package eventhubs

import (
	"fmt"
	"hash/fnv"
	"strconv"
	"strings"
	"sync/atomic"
	"time"
)

const defaultGroup = "$Default"

// hub is one event hub. Its set of partitions and groups does not change.
type hub struct {
	name       string
	created    time.Time
	partitions []*partition
	groups     map[string]bool // by lower-case name
	now        func() time.Time
	turn       atomic.Uint32 // of the round robin
}

func newHub(c hubConfig, now func() time.Time) *hub {
	h := &hub{
		name:    c.name,
		created: now(),
		groups:  map[string]bool{strings.ToLower(defaultGroup): true},
		now:     now,
	}
	for _, g := range c.groups {
		h.groups[strings.ToLower(g)] = true
	}
	for i := range c.partitions {
		h.partitions = append(h.partitions, newPartition(h, strconv.Itoa(i)))
	}
	return h
}

// partition finds a partition by its id, or returns nil.
func (h *hub) partition(id string) *partition {
	i, err := strconv.Atoi(id)
	if err != nil || i < 0 || i >= len(h.partitions) || id != strconv.Itoa(i) {
		return nil
	}
	return h.partitions[i]
}

// choose picks a partition for events that name none: by the hash of their key,
// or in turn. The hash is not the service's, which is not published; it is as
// stable.
func (h *hub) choose(key string) *partition {
	n := uint32(len(h.partitions))
	if key == "" {
		return h.partitions[(h.turn.Add(1)-1)%n]
	}
	hash := fnv.New32a()
	_, _ = hash.Write([]byte(key))
	return h.partitions[hash.Sum32()%n]
}

func (h *hub) ids() []string {
	ids := make([]string, len(h.partitions))
	for i, p := range h.partitions {
		ids[i] = p.id
	}
	return ids
}

// PartitionInfo is what there is to know of a partition's log.
type PartitionInfo struct {
	// BeginSequence is the oldest event kept, LastSequence the newest; the
	// latter is -1 if there never was one.
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
	enqueued := r.enqueued
	if enqueued.IsZero() {
		enqueued = p.hub.now()
	}
	var at Position
	at.Sequence, _ = p.log.append(enqueued.UnixMilli(), func(b []byte, sequence, offset int64) []byte {
		at.Offset = formatOffset(offset)
		return r.appendTo(b, sequence, at.Offset, enqueued)
	})
	p.receivers.notify()
	return at
}

func (p *partition) info() PartitionInfo {
	p.log.mu.RLock()
	defer p.log.mu.RUnlock()
	info := PartitionInfo{
		BeginSequence:    p.log.begin,
		LastSequence:     p.log.next - 1,
		LastOffset:       "-1",
		LastEnqueuedTime: time.UnixMilli(p.log.times).UTC(),
		Empty:            p.log.begin == p.log.next,
	}
	if len(p.log.chunks) > 0 {
		info.LastOffset = formatOffset(p.log.lastOffset())
	}
	return info
}

func (p *partition) String() string { return fmt.Sprintf("%s/Partitions/%s", p.hub.name, p.id) }
