package disk

import (
	"cmp"
	"encoding/binary"
	"errors"
	"slices"
	"time"

	"github.com/cockroachdb/pebble/v2"

	"github.com/amble-crawler/amble/frontier"
	"github.com/amble-crawler/amble/frontier/internal/packed"
	"github.com/amble-crawler/amble/frontier/internal/sched"
)

// group holds the ops of one batch of the engine. The ops take effect in order, each completely.
type group struct {
	w     *writer
	ops   []*op
	batch *pebble.Batch
	now   time.Time
	wrote int64 // time of the write on the store's clock, as Unix nanoseconds
	urls  map[urlKey]*url
	hosts map[uint64]*host // keyed by hash; pinned until the group is published
	key   []byte           // reused buffer
	value []byte
}

// url is the state of a URL after the ops that were processed so far.
type url struct {
	seen
	changed  bool
	released bool // an op has ended the URL's claim
}

func (w *writer) newGroup(ops []*op) *group {
	return &group{
		w: w, ops: ops, now: time.Now(), urls: map[urlKey]*url{}, hosts: map[uint64]*host{},
		key: make([]byte, 0, 64),
	}
}

// build makes the batch.
func (g *group) build() error {
	g.batch = g.w.engine.db.NewBatchWithSize(g.size())
	if err := g.read(); err != nil {
		return err
	}
	if err := errors.Join(g.bury(), g.buryStale()); err != nil {
		return err
	}
	g.w.lanes.takeRested(g)
	for _, o := range g.ops {
		if err := g.op(o); err != nil {
			return err
		}
	}
	return g.writeURLsAndHosts()
}

// size returns the approximate size of the batch. If it is too small, the batch is copied when it grows, which takes twice the memory.
func (g *group) size() (n int) {
	for _, o := range g.ops {
		n += o.bytes + batchPerLink*o.links
	}
	return n + 1<<10
}

// batchPerLink is the size of a queued link in a batch, in bytes, without its texts: two keys, the seen record, and fields of the Request
// that are not texts.
const batchPerLink = 80

// read looks up all URLs of the group, in the order of their keys, which is their order on disk.
func (g *group) read() error {
	var keys []urlKey
	for _, o := range g.ops {
		for _, st := range o.steps {
			for _, l := range st.links {
				keys = append(keys, l.key)
			}
			if st.end != nil {
				keys = append(keys, st.end.key)
			}
		}
	}
	sortKeys(keys)
	for _, k := range slices.Compact(keys) {
		st, err := g.w.engine.seen(k)
		if err != nil {
			return err
		}
		g.urls[k] = &url{seen: st}
	}
	return nil
}

func sortKeys(keys []urlKey) {
	slices.SortFunc(keys, func(a, b urlKey) int {
		return cmp.Or(cmp.Compare(a.host, b.host), cmp.Compare(a.url, b.url))
	})
}

// bury deletes the records of forgotten hosts.
func (g *group) bury() error {
	for _, hash := range g.w.lanes.takeDead() {
		if err := g.batch.Delete(appendHost(g.key[:0], tagHost, hash), nil); err != nil {
			return err
		}
	}
	return nil
}

func (g *group) op(o *op) error {
	for _, st := range o.steps {
		if st.end != nil {
			if err := g.settle(o, st.end); err != nil {
				return err
			}
		}
		for _, l := range st.links {
			if err := g.link(o, l); err != nil {
				return err
			}
		}
	}
	return g.values(&o.checkpoint)
}

// settle writes the end of a claim.
func (g *group) settle(o *op, e *ending) error {
	h, u := e.host, g.urls[e.key]
	g.w.lanes.pinHeld(g, h)
	d := &h.Queue.disk
	d.ready = max(d.ready, g.w.lanes.clock.unix(e.ready))
	u.released = true
	was := u.seen
	was.state, was.depth, was.attempt, was.due = Queued, min(e.depth, u.depth), e.attempt, 0 // an Add may have lowered the depth
	if e.due != 0 {                                                                          // the URL still waits on disk
		if err := g.batch.Delete(appendDue(g.key[:0], e.due, h.Name, e.place), nil); err != nil {
			return err
		}
		d.waiting--
	} else {
		d.queued--
	}
	if e.anew {
		if err := g.arrive(e); err != nil {
			return err
		}
	}
	was.at = e.at(was)
	switch e.fate {
	case sched.Gone:
		o.done++
		g.w.stored.done++
		g.w.stored.pending--
		d.raised = d.raised || u.raised
		u.set(seen{state: Done, raised: u.raised})
		return errors.Join(g.batch.Delete(appendQueue(g.key[:0], h.Name, e.place), nil), g.buryRest(h))
	case sched.Later:
		d.waiting++
		was.state, was.due = Waiting, g.w.lanes.clock.unix(e.until)
		u.set(was)
		return g.batch.Set(appendDue(g.key[:0], was.due, h.Name, e.to), nil, nil)
	default:
		d.queued++
		u.set(was)
		return nil
	}
}

// arrive moves a URL to the end of its host's queue.
func (g *group) arrive(e *ending) error {
	if err := g.batch.Delete(appendQueue(g.key[:0], e.host.Name, e.place), nil); err != nil {
		return err
	}
	e.to.number = g.w.stored.number
	g.w.stored.number++
	return g.batch.Set(appendQueue(g.key[:0], e.host.Name, e.to), e.value, nil)
}

func (u *url) set(to seen) {
	if u.seen != to {
		u.seen, u.changed = to, true
	}
}

// link adds the URL of one Request, or updates its depth or priority if it is known.
func (g *group) link(o *op, l link) error {
	u := g.urls[l.key]
	if o.rescore {
		return g.rescore(o, l, u)
	}
	switch u.state {
	case Unknown, Rejected:
		return g.queue(o, l, u)
	case Done:
		if o.revive {
			return g.queue(o, l, u)
		}
	case Queued, Waiting:
		if l.Depth < u.depth && (u.released || !g.w.lanes.holds(l.key)) {
			u.depth, u.changed = l.Depth, true
		}
		if u.below(l.Request) && l.Plain() && g.w.lanes.beginRaise(l.key, u.released) {
			return g.raise(o, l, u)
		}
	}
	return nil
}

// queue writes a URL that is unknown, rejected or done at the end of its host's queue.
func (g *group) queue(o *op, l link, u *url) error {
	c := &g.w.stored
	h := g.open(l)
	d := &h.Queue.disk
	if c.pending >= g.w.c.MaxPending || int(d.queued+d.waiting) >= g.w.c.MaxPendingPerHost {
		g.reject(o, u)
		return nil
	}
	switch u.state {
	case Rejected:
		o.rejected--
		c.rejected--
	case Done:
		o.done--
		c.done--
	}
	first := d.queued+d.waiting == 0
	if first && d.ready <= g.w.lanes.clock.unix(g.w.lanes.clock.Now()) {
		d.ready = 0 // the ready time has passed, so it need not be stored
	}
	c.pending++
	d.queued++
	o.added++
	e, err := g.enter(o, l, h)
	u.set(seen{state: Queued, depth: l.Depth, priority: l.Priority, rank: packed.Rank(l.Score), fixed: !l.Plain(), raised: u.raised, at: e.at(u.seen)})
	o.fresh = append(o.fresh, fresh{h, e, first})
	return err
}

// enter writes a Request at the end of the queue of its host and priority.
func (g *group) enter(o *op, l link, h *host) (entry, error) {
	p := placeOf(l.Request, g.w.stored.number)
	g.w.stored.number++
	g.value = appendRequest(g.value[:0], h.Queue.name, l.Request, l.key.url, g.now)
	return entry{p, o.keep(g.value)}, g.batch.Set(appendQueue(g.key[:0], h.Name, p), g.value, nil)
}

// keep returns a copy of value, to be kept in the head of its host's queue. It returns nil if o has so much data that most of it would
// not fit into a head.
func (o *op) keep(value []byte) []byte {
	if o.kept += len(value); o.kept > keptBytes {
		return nil // the entry will be read from disk when the URL is claimed
	}
	return slices.Clone(value)
}

// keptBytes limits the bytes of Requests that an op keeps in memory until it is published.
const keptBytes = 1 << 20

// maxRejected limits the number of rejected URLs that are remembered; further ones are only counted. It limits the space that a host at
// its quota takes.
const maxRejected = 1 << 24

func (g *group) reject(o *op, u *url) {
	if u.state != Unknown {
		return
	}
	if g.w.stored.rejected < maxRejected {
		u.set(seen{state: Rejected})
	}
	o.rejected++
	g.w.stored.rejected++
}

// open returns the host of l, pinned for the group.
func (g *group) open(l link) *host {
	if h := g.hosts[l.key.host]; h != nil {
		return h
	}
	return g.w.lanes.open(g, l)
}

// writeURLsAndHosts writes the changed URLs and hosts, each record once.
func (g *group) writeURLsAndHosts() error {
	keys := make([]urlKey, 0, len(g.urls))
	for k, u := range g.urls {
		if u.changed {
			keys = append(keys, k)
		}
	}
	sortKeys(keys)
	for _, k := range keys {
		g.key, g.value = appendSeen(g.key[:0], k), g.urls[k].bytes(g.value[:0])
		if err := g.batch.Set(g.key, g.value, nil); err != nil {
			return err
		}
	}
	for hash, h := range g.hosts {
		d := h.Queue.disk
		r := hostRecord{d.ready, int(d.queued), int(d.waiting), h.Queue.name}
		g.key, g.value = appendHost(g.key[:0], tagHost, hash), r.bytes(g.value[:0])
		if err := g.batch.Set(g.key, g.value, nil); err != nil {
			return err
		}
	}
	g.wrote = g.w.lanes.clock.unix(g.w.lanes.clock.Now())
	g.value = binary.BigEndian.AppendUint64(g.value[:0], uint64(g.wrote))
	if err := g.batch.Set(keyTime, g.value, nil); err != nil {
		return err
	}
	return g.batch.Set(keyCounters, g.w.stored.bytes(g.value[:0]), nil)
}

// values writes the offsets and values of a checkpoint.
func (g *group) values(c *frontier.Checkpoint) error {
	for name, offset := range c.Offsets {
		g.key = appendOffset(g.key[:0], c.Owner, name)
		g.value = binary.BigEndian.AppendUint64(g.value[:0], uint64(offset))
		if err := g.batch.Set(g.key, g.value, nil); err != nil {
			return err
		}
	}
	for name, value := range c.Values {
		g.key = appendValue(g.key[:0], c.Owner, name)
		if err := set(g.batch, g.key, value); err != nil {
			return err
		}
	}
	return nil
}

// set sets a key, or deletes it if value is nil.
func set(b *pebble.Batch, key, value []byte) error {
	if value == nil {
		return b.Delete(key, nil)
	}
	return b.Set(key, value, nil)
}

// publish makes the effects of a group visible if the group is durable, and unpins its hosts.
func (l *lanes) publish(g *group, durable bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	now := l.clock.Now()
	l.advance(now)
	if durable {
		for _, o := range g.ops {
			l.publishOp(o, now)
		}
	}
	for _, h := range g.hosts {
		l.hosts.Unpin(h, now)
	}
	l.notify()
}

func (l *lanes) publishOp(o *op, now int64) {
	for _, st := range o.steps {
		if st.end != nil {
			l.publishEnding(st.end, now)
		}
	}
	for _, r := range o.raises {
		l.publishRaise(r)
	}
	for _, f := range o.fresh {
		l.published = max(l.published, f.number+1)
		if f.first {
			f.host.Renew(now)
		}
		l.hosts.Offer(f.host, 1, now)
		l.add(f.host, f.entry)
	}
	l.done += o.done
	l.rejected += o.rejected
}

func (l *lanes) publishEnding(e *ending, now int64) {
	l.giveBack(e.lease)
	if e.anew {
		l.published = max(l.published, e.to.number+1)
	}
	if e.freed {
		l.hosts.Finish(e.host, e.fate, e.ready, now)
	} else {
		l.hosts.Release(e.host, e.fate, e.ready, now)
	}
	l.forgetRest(e.host)
	switch e.fate {
	case sched.Back:
		l.add(e.host, entry{e.to, e.value})
	case sched.Later:
		l.waiting.add(waiter{e.to, e.until, e.host})
	}
}
