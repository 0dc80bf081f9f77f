package cluster

import (
	"encoding/binary"
	"sync"
	"time"
)

// Hosts of several shards may share a clock: that of an address, or of a registrable domain. Such a clock has a keeper: the
// owner of the shard that its key hashes to. A request takes the clock before it takes its own host's, tells the keeper
// from time to time that it is under way, and gives the clock back with the pause that is due. Only durations are sent:
// no two nodes need agree on what time it is.
const (
	grantTime = 10 * time.Second // how long after the question a request may begin
	holdEvery = 10 * time.Second // how often a request under way says so
	holdLost  = 20 * time.Second // a request that gets no answer for this long is broken off
	holdTime  = 30 * time.Second // a clock of which nothing is heard for this long is free again, after a pause
)

// keeper keeps the clocks of a shard. It knows nothing of what an earlier owner of the shard has granted: until that must be
// over it grants nothing, and learns from those who hold clocks.
type keeper struct {
	delay time.Duration // the job's
	opens time.Time

	mu     sync.Mutex
	clocks map[string]*clock
	sweep  int // the number of clocks at which those that are free are forgotten
}

// clock is what is known of a key.
type clock struct {
	holder   uint64 // 0: nobody
	heard    time.Time
	free     time.Time // from when it may be taken
	rest     time.Duration
	promised time.Time // the last time that somebody was told
}

func newKeeper(now time.Time, delay time.Duration, first bool) *keeper {
	k := &keeper{delay: delay, clocks: map[string]*clock{}, sweep: 1000}
	if !first {
		k.opens = now.Add(holdTime + delay)
	}
	return k
}

// What is asked of a keeper.
const (
	askTake = 1
	askHold = 2
	askDone = 3

	askStatus = 4 // how the shard is: the answer is a ShardStatus in JSON
)

// ask is a question to a keeper.
type ask struct {
	what byte
	who  uint64
	rest time.Duration // with askDone: the pause that is due
	key  string
}

func (a ask) encode() []byte {
	b := binary.AppendUvarint([]byte{1, a.what}, a.who)
	return appendText(binary.AppendVarint(b, int64(a.rest)), a.key)
}

func decodeAsk(b []byte) (a ask, ok bool) {
	d := decoder{b: b}
	version := d.byte()
	a.what, a.who, a.rest, a.key = d.byte(), d.uint(), time.Duration(d.int()), d.text()
	return a, !d.bad && version == 1
}

// reply is a keeper's answer: yes, or when to try again.
type reply struct {
	yes bool
	in  time.Duration
}

func (r reply) encode() []byte {
	yes := byte(0)
	if r.yes {
		yes = 1
	}
	return binary.AppendVarint([]byte{1, yes}, int64(r.in))
}

func decodeReply(b []byte) (r reply, ok bool) {
	d := decoder{b: b}
	version := d.byte()
	r.yes, r.in = d.byte() == 1, time.Duration(d.int())
	return r, !d.bad && version == 1
}

func (k *keeper) answer(now time.Time, a ask) reply {
	k.mu.Lock()
	defer k.mu.Unlock()
	c := k.clock(now, a.key)
	switch a.what {
	case askTake:
		return k.take(now, c, a.who)
	case askHold:
		if c.holder == 0 && now.Before(k.opens) {
			c.holder = a.who // granted by an earlier keeper
		}
		if c.holder == a.who {
			c.heard = now
		}
		return reply{yes: c.holder == a.who}
	case askDone:
		if c.holder == a.who {
			c.holder = 0
		}
		if free := now.Add(a.rest); free.After(c.free) {
			c.free, c.rest = free, a.rest
		}
		return reply{yes: true}
	}
	return reply{in: k.delay}
}

// clock returns the clock of a key, as of now.
func (k *keeper) clock(now time.Time, key string) *clock {
	c := k.clocks[key]
	if c == nil {
		k.forget(now)
		c = &clock{}
		k.clocks[key] = c
	}
	if c.holder != 0 && now.Sub(c.heard) >= holdTime {
		c.holder, c.free, c.rest = 0, later(c.free, c.heard.Add(holdTime+k.delay)), k.delay
	}
	return c
}

// forget removes clocks that are free, when there are many.
func (k *keeper) forget(now time.Time) {
	if len(k.clocks) < k.sweep {
		return
	}
	for key, c := range k.clocks {
		if c.holder == 0 && c.free.Before(now) && c.promised.Before(now) {
			delete(k.clocks, key)
		}
	}
	k.sweep = max(1000, 2*len(k.clocks))
}

func (k *keeper) take(now time.Time, c *clock, who uint64) reply {
	switch {
	case c.holder == who:
		return reply{yes: true} // the answer was lost
	case now.Before(k.opens):
		return reply{in: k.opens.Sub(now)}
	case c.holder != 0:
		return c.promise(now, now.Add(k.delay), k.delay)
	case now.Before(c.free):
		return c.promise(now, c.free, max(c.rest, k.delay))
	}
	c.holder, c.heard = who, now
	return reply{yes: true}
}

// promise tells each who waits a time of its own, a pause apart.
func (c *clock) promise(now, at time.Time, pause time.Duration) reply {
	if next := c.promised.Add(pause); c.promised.After(now) && next.After(at) {
		at = next
	}
	c.promised = at
	return reply{in: at.Sub(now)}
}

func later(a, b time.Time) time.Time {
	if b.After(a) {
		return b
	}
	return a
}
