package amqp

import (
	"time"
)

const (
	// highWater is how much unsent output keeps messages from being added.
	highWater = 256 << 10
	// flood is how much unsent output, which then consists of answers, drops
	// the connection: the peer asks without reading.
	flood = 8 << 20
)

// kick makes the writer look. The caller holds mu or does not need to.
func (c *Conn) kick() {
	select {
	case c.wake <- struct{}{}:
	default:
	}
}

// control queues one frame. The caller holds mu.
func (c *Conn) control(channel uint16, body func([]byte) []byte) {
	if c.closing || c.dead {
		return
	}
	at := len(c.out)
	c.out = closeFrame(body(openFrame(c.out, frameAMQP, channel)), at)
	if len(c.out) > flood {
		c.dead = true
		c.nc.Close()
	}
	c.kick()
}

// write sends what is queued, and an empty frame whenever nothing was sent for
// a while, until the connection is closing or dead.
func (c *Conn) write() {
	var spare []byte
	beat := time.NewTimer(c.beat)
	defer beat.Stop()
	for {
		idle := false
		select {
		case <-c.wake:
		case <-beat.C:
			hook := c.server.config.Hooks.Heartbeat
			idle = hook == nil || hook(c)
		}
		for {
			c.mu.Lock()
			if idle && len(c.out) == 0 && !c.closing {
				c.out = closeFrame(openFrame(c.out, frameAMQP, 0), 0)
			}
			idle = false
			out := c.out
			c.out = spare[:0]
			starved := c.starved
			c.starved = nil
			last := c.closing || c.dead
			for _, o := range starved {
				o.resume()
			}
			c.mu.Unlock()
			if len(out) > 0 {
				if err := c.send(out, last); err != nil {
					c.nc.Close() // the reader sees it and cleans up
					return
				}
			}
			// A burst may have grown the buffer; one such is not kept for ever.
			if spare = out; cap(spare) > 4*highWater {
				spare = nil
			}
			if last {
				return
			}
			if len(out) == 0 {
				break
			}
		}
		beat.Reset(c.beat)
	}
}

func (c *Conn) send(b []byte, last bool) error {
	patience := c.server.config.WriteTimeout
	if last {
		patience = linger
	}
	if err := c.nc.SetWriteDeadline(time.Now().Add(patience)); err != nil {
		return err
	}
	_, err := c.nc.Write(b)
	return err
}
