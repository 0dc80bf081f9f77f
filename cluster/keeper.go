package cluster

import (
	"encoding/binary"
	"strings"
	"sync"
	"time"
)

// Hosts of several shards may share a clock: that of an address, or of a registrable domain. Such a clock has a keeper: the
// owner of the shard that its key hashes to. A request takes the clock before it takes its own host's, tells the keeper
// from time to time that it is under way, and gives the clock back with the pause that is due. Only durations are sent:
// no two nodes need agree on what time it is.
//
// A host's clock is its own shard's. Where the robots.txt of a host of another shard redirects to it, that shard takes the
// clock from the keeper, too: it has the requests of its own crawl for that, which wait for those of others only.
//
// The rate of all requests is a clock that is not held: it gives tokens.
const (
	keyAddress = "a:"
	keyDomain  = "d:"
	keyHost    = "h:"
	keyRate    = "r:"
)

// tokenTime is how long after the question a token of the rate may be used.
const tokenTime = time.Second

// mostHold is the most that holdTime returns.
const mostHold = 30 * time.Second

// holdTime is how long a clock is held of which nothing is heard: no longer than a shard by an owner of which nothing is heard.
func (j *Job) holdTime() time.Duration { return min(j.TTL, mostHold) }

// holdEvery is how often a request under way says so, and how long after the question a request may begin.
func (j *Job) holdEvery() time.Duration { return j.holdTime() / 3 }

// holdLost is after how long without an answer a request is broken off.
func (j *Job) holdLost() time.Duration { return 2 * j.holdTime() / 3 }

// keeper keeps the clocks of a shard. It knows nothing of what an earlier owner of the shard has granted: until that must be
// over, or the owners of all shards have said what they hold (holds.go), it grants nothing, and learns from those who hold clocks.
type keeper struct {
	delay time.Duration // the job's
	hold  time.Duration // the job's holdTime
	gap   time.Duration // between two tokens of the rate; 0: there is none
	rate  time.Time     // when the first token is given

	mu     sync.Mutex
	opens  time.Time // when it begins to grant
	clocks map[string]*clock
	sweep  int // the number of clocks at which those that are free are forgotten

	learning bool            // it may open sooner than opens says
	over     map[uint64]bool // who has given a clock back while the keeper was closed
}

// clock is what is known of a key.
type clock struct {
	holder   uint64 // 0: nobody
	heard    time.Time
	free     time.Time // from when it may be taken
	rest     time.Duration
	promised time.Time // the last time that somebody was told

	own     bool      // the holder is a request of this shard's crawl, which ends before its lease
	ownFree time.Time // from when the shard's crawl may take it
	foreign time.Time // when a request of others ended last, at most
}

func newKeeper(now time.Time, j *Job, first bool) *keeper {
	k := &keeper{delay: j.Delay, hold: j.holdTime(), clocks: map[string]*clock{}, sweep: 1000, over: map[uint64]bool{}}
	if j.Rate > 0 {
		k.gap = time.Duration(float64(time.Second) / j.Rate)
	}
	if !first {
		k.opens, k.rate = now.Add(k.hold+k.delay), now.Add(tokenTime+k.gap)
	}
	return k
}

// open has the keeper grant from then on, if that is sooner: nothing that an earlier one granted is in use.
func (k *keeper) open(at time.Time) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if at.Before(k.opens) {
		k.opens = at
	}
}

// learns says that the keeper asks the owners of all shards, and may open soon.
func (k *keeper) learns() {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.learning = true
}

// learn notes what an earlier keeper granted, as the shards of one node tell.
func (k *keeper) learn(now time.Time, g granted) {
	k.mu.Lock()
	defer k.mu.Unlock()
	for key, who := range g.Held {
		if c := k.clock(now, key); c.holder == 0 && !k.over[who] {
			c.holder, c.own, c.heard = who, false, now
		}
	}
	for key, d := range g.Rests {
		c, until := k.clock(now, key), now.Add(d)
		c.rests(until, k.delay)
		c.ownFree, c.foreign = later(c.ownFree, until), now
	}
}

// wait returns when to ask a keeper again that is closed.
func (k *keeper) wait(now time.Time) reply {
	in := k.opens.Sub(now)
	if k.learning {
		in = min(in, max(k.delay, time.Second))
	}
	return reply{in: in}
}

// closed returns for how long the keeper grants nothing.
func (k *keeper) closed() time.Duration {
	k.mu.Lock()
	defer k.mu.Unlock()
	return max(0, time.Until(k.opens))
}

// What is asked of a keeper.
const (
	askTake = 1
	askHold = 2
	askDone = 3

	askStatus = 4 // how the shard is: the answer is a ShardStatus in JSON

	askGranted = 5 // which clocks of the shard with the number who the node's shards have: the answer is a granted in JSON
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
		if a.key == keyRate {
			return k.token(now, c)
		}
		return k.take(now, c, a.who)
	case askHold:
		if c.holder == 0 && now.Before(k.opens) {
			c.holder, c.own = a.who, false // granted by an earlier keeper
		}
		if c.holder == a.who {
			c.heard = now
		}
		return reply{yes: c.holder == a.who}
	case askDone:
		if c.holder == a.who {
			c.holder = 0
		}
		if now.Before(k.opens) {
			k.over[a.who] = true
		}
		c.rests(now.Add(a.rest), a.rest)
		c.ownFree, c.foreign = later(c.ownFree, now.Add(a.rest)), now
		return reply{yes: true}
	}
	return reply{in: k.delay}
}

func (c *clock) rests(until time.Time, rest time.Duration) {
	if until.After(c.free) {
		c.free, c.rest = until, rest
	}
}

// takeOwn takes a host's clock for a request of the shard's own crawl, whose gate sees to the pauses between those, and must
// see to the one after last, when others had requested the host. shared says that hosts of other shards have requested the
// host before, so an earlier keeper may have granted it.
func (k *keeper) takeOwn(now time.Time, key string, who uint64, shared bool) (r reply, last time.Time) {
	k.mu.Lock()
	defer k.mu.Unlock()
	c := k.clock(now, key)
	switch {
	case shared && now.Before(k.opens):
		return k.wait(now), last
	case c.holder != 0:
		return reply{in: k.delay}, last
	case now.Before(c.ownFree):
		return reply{in: c.ownFree.Sub(now)}, last
	}
	c.holder, c.own, c.heard = who, true, now
	if last = c.foreign; shared {
		last = later(last, k.opens)
	}
	return reply{yes: true}, last
}

// doneOwn gives back what takeOwn has taken.
func (k *keeper) doneOwn(now time.Time, key string, who uint64, rest time.Duration) {
	k.mu.Lock()
	defer k.mu.Unlock()
	c := k.clock(now, key)
	if c.holder == who {
		c.holder, c.own = 0, false
	}
	c.rests(now.Add(rest), rest)
}

// token gives a token of the rate.
func (k *keeper) token(now time.Time, c *clock) reply {
	if now.Before(k.rate) {
		return c.promise(now, k.rate, k.gap)
	}
	if now.Before(c.free) {
		return c.promise(now, c.free, k.gap)
	}
	c.free = now.Add(k.gap)
	return reply{yes: true}
}

// clock returns the clock of a key, as of now.
func (k *keeper) clock(now time.Time, key string) *clock {
	c := k.clocks[key]
	if c == nil {
		k.forget(now)
		c = &clock{}
		k.clocks[key] = c
	}
	if c.holder != 0 && !c.own && now.Sub(c.heard) >= k.hold {
		rested := c.heard.Add(k.hold + k.delay)
		c.holder, c.free, c.rest, c.ownFree = 0, later(c.free, rested), k.delay, later(c.ownFree, rested)
		c.foreign = later(c.foreign, c.heard.Add(k.hold))
	}
	return c
}

// forget removes clocks that are free, when there are many.
func (k *keeper) forget(now time.Time) {
	if len(k.clocks) < k.sweep {
		return
	}
	for key, c := range k.clocks {
		if c.holder == 0 && c.free.Before(now) && c.promised.Before(now) && c.ownFree.Before(now) && !k.remembers(now, key, c) {
			delete(k.clocks, key)
		}
	}
	k.sweep = max(1000, 2*len(k.clocks))
}

// rememberTime is how long it is known that others have requested a host of this shard: longer than a host's pause usually is.
const rememberTime = time.Hour

func (k *keeper) remembers(now time.Time, key string, c *clock) bool {
	return strings.HasPrefix(key, keyHost) && now.Sub(c.foreign) < rememberTime
}

func (k *keeper) take(now time.Time, c *clock, who uint64) reply {
	switch {
	case c.holder == who:
		return reply{yes: true} // the answer was lost
	case now.Before(k.opens):
		return k.wait(now)
	case c.holder != 0:
		return c.promise(now, now.Add(k.delay), k.delay)
	case now.Before(c.free):
		return c.promise(now, c.free, max(c.rest, k.delay))
	}
	c.holder, c.own, c.heard = who, false, now
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
