package cluster

import (
	"context"
	"fmt"
	"hash/maphash"
	"sync"
	"time"

	"github.com/amble-crawler/amble/frontier"
	"github.com/amble-crawler/amble/weburl"
)

// outbox sends links to other shards.
type outbox struct {
	s    *Shard
	sent *sentLinks
	key  func(weburl.URL) weburl.Key
}

// sort separates the links of this shard from those of other shards. It leaves out seeds of other shards, because each shard gets all seeds
// and queues its own.
func (o *outbox) sort(links []frontier.Request) (own []frontier.Request, others map[int][]frontier.Request) {
	host, shard := "", 0
	for i := range links {
		l := &links[i]
		if h := l.URL.Host(); h != host {
			host, shard = h, o.s.node.job.Shard(h)
		}
		switch {
		case shard == o.s.Number || l.URL.IsZero():
			if others != nil {
				own = append(own, *l)
			}
		default:
			if others == nil {
				others, own = map[int][]frontier.Request{}, append(own, links[:i]...)
			}
			if l.Kind != frontier.KindSeed && !o.sent.has(o.key(l.URL), l.Depth) {
				others[shard] = append(others[shard], *l)
			}
		}
	}
	if others == nil {
		return links, nil
	}
	return own, others
}

// send sends links to their shards and waits until all of them are durable.
func (o *outbox) send(ctx context.Context, others map[int][]frontier.Request) error {
	var calls sync.WaitGroup
	var mu sync.Mutex
	var failed error
	for shard, links := range others {
		for len(links) > 0 {
			n, size := 0, 0
			for n < len(links) && (n == 0 || size+linkSize(&links[n]) <= offerSize) {
				size += linkSize(&links[n])
				n++
			}
			part := links[:n]
			links = links[n:]
			calls.Go(func() {
				if err := o.sendOne(ctx, shard, part, size); err != nil {
					mu.Lock()
					defer mu.Unlock()
					failed = err
				}
			})
		}
	}
	calls.Wait()
	return failed
}

// sendOne sends links to one shard, together with links from this node's other shards, until they are acknowledged or the lease ends.
func (o *outbox) sendOne(ctx context.Context, shard int, links []frontier.Request, size int) error {
	if err := o.s.node.batches.send(ctx, o.s, shard, links, size); err != nil {
		return fmt.Errorf("cluster: shard %d: links to shard %d: %w", o.s.Number, shard, err)
	}
	for i := range links {
		o.sent.note(o.key(links[i].URL), links[i].Depth)
	}
	return nil
}

// batches collects links that several shards of a node send to the same shard at nearly the same time, and sends them as one message: a
// message costs the engine far more than its links.
type batches struct {
	engine Inboxes
	window func() time.Duration

	mu   sync.Mutex
	open map[int]*batch // open batches, by destination shard
}

// batch is a message with links to one shard.
type batch struct {
	message
	to      int
	size    int
	waiting int                // number of waiting senders; guarded by batches.mu
	end     context.CancelFunc // cancels the sending of the batch
	sent    chan struct{}      // closed once sending has ended; err is final then
	err     error
}

// send sends links of a shard in a batch, and waits until they are durable, or ctx or the lease of the shard ends.
func (b *batches) send(ctx context.Context, s *Shard, to int, links []frontier.Request, size int) error {
	x := b.join(ctx, s, to, links, size)
	defer b.leave(x)
	again := time.NewTicker(retry)
	defer again.Stop()
	for {
		select {
		case <-x.sent:
			return x.err
		case <-ctx.Done():
			return ctx.Err()
		case <-again.C:
			if err := s.owner.lease.check(); err != nil {
				return err
			}
		}
	}
}

// join adds links to the open batch for a shard. If there is none, or it is full, join opens one, which is sent after the time window.
func (b *batches) join(ctx context.Context, s *Shard, to int, links []frontier.Request, size int) *batch {
	b.mu.Lock()
	defer b.mu.Unlock()
	x := b.open[to]
	if x == nil || x.size+size > offerSize { // a full batch no longer needs to be open: its goroutine sends it
		x = &batch{message: message{from: s.Number, epoch: s.Epoch}, to: to, sent: make(chan struct{})}
		ctx, x.end = context.WithCancel(context.WithoutCancel(ctx))
		b.open[to] = x
		go func() { // ends before leave returns to the last sender
			defer close(x.sent)
			wait(ctx, b.window())
			b.mu.Lock()
			b.shut(x)
			b.mu.Unlock()
			x.err = x.message.send(ctx, b.engine, to, func() bool { return false })
		}()
	}
	x.links = append(x.links, links...)
	x.size += size
	x.waiting++
	return x
}

// leave records that a sender no longer waits. When none is left, the sending of the batch is cancelled.
func (b *batches) leave(x *batch) {
	b.mu.Lock()
	x.waiting--
	last := x.waiting == 0
	if last {
		b.shut(x)
	}
	b.mu.Unlock()
	if last {
		x.end()
		<-x.sent
	}
}

// shut closes a batch to further senders. The caller holds the lock.
func (b *batches) shut(x *batch) {
	if b.open[x.to] == x {
		delete(b.open, x.to)
	}
}

// sentLinks remembers links that other shards have, so that a link found on every page of a site is not sent each time. It has room for
// about a million links, and replaces old ones.
type sentLinks struct {
	seed maphash.Seed
	mu   sync.Mutex
	sets [][sentWays]sentLink
}

type sentLink struct {
	hash  uint64
	depth uint32 // depth plus 1; 0: no link
}

const (
	sentWays = 4
	sentSets = 1 << 18
)

func newSentLinks(sets int) *sentLinks {
	return &sentLinks{seed: maphash.MakeSeed(), sets: make([][sentWays]sentLink, sets)}
}

func (c *sentLinks) find(k weburl.Key) (*[sentWays]sentLink, uint64) {
	h := maphash.Bytes(c.seed, k[:])
	return &c.sets[h%uint64(len(c.sets))], h
}

// has reports whether the link was sent with this depth or a smaller depth.
func (c *sentLinks) has(k weburl.Key, depth int) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	set, h := c.find(k)
	for _, l := range set {
		if l.depth != 0 && l.hash == h {
			return depth >= int(l.depth)-1
		}
	}
	return false
}

func (c *sentLinks) note(k weburl.Key, depth int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	set, h := c.find(k)
	at := sentWays - 1
	for i, l := range set {
		if l.hash == h {
			at = i
			break
		}
	}
	copy(set[1:at+1], set[:at])
	set[0] = sentLink{h, uint32(depth) + 1}
}
