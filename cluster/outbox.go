package cluster

import (
	"context"
	"fmt"
	"hash/maphash"
	"sync"

	"github.com/amble-crawler/amble/frontier"
	"github.com/amble-crawler/amble/weburl"
)

// outbox sends links to other shards.
type outbox struct {
	s    *Shard
	sent *sentLinks
	key  func(weburl.URL) weburl.Key
}

// sort returns the links of this shard, and those of others, by shard. Seeds of other shards are left out, as each shard
// has all seeds and queues its own.
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

// send sends links to their shards and waits until all are durable there.
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
				if err := o.sendOne(ctx, shard, part); err != nil {
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

// sendOne sends one offer until it is acknowledged or the lease ends.
func (o *outbox) sendOne(ctx context.Context, shard int, links []frontier.Request) error {
	m := message{from: o.s.Number, epoch: o.s.Epoch, links: links}
	ended := func() bool { return o.s.owner.lease.check() != nil }
	if err := m.send(ctx, o.s.node.engine, shard, ended); err != nil {
		return fmt.Errorf("cluster: shard %d: links to shard %d: %w", o.s.Number, shard, err)
	}
	for i := range links {
		o.sent.note(o.key(links[i].URL), links[i].Depth)
	}
	return nil
}

// sentLinks remembers links that other shards have, so that one on every page of a site is not sent each time. It has room
// for a few million, and forgets the oldest.
type sentLinks struct {
	seed maphash.Seed
	mu   sync.Mutex
	sets [][sentWays]sentLink
}

type sentLink struct {
	hash  uint64
	depth uint32 // 1 more than the depth; 0: no link
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

// has reports whether the link was sent with that depth or a smaller one.
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
