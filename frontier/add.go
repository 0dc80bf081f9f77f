package frontier

import (
	"context"
	"slices"
	"time"

	"github.com/amble-crawler/amble/frontier/internal/packed"
)

// Add implements [Frontier].
func (m *Memory) Add(ctx context.Context, rs ...Request) (int, error) {
	hashes, err := m.hashes(rs)
	if err != nil {
		return 0, err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if err := m.usable(ctx); err != nil {
		return 0, err
	}
	now := m.clock.Now()
	m.advance(now)
	added := m.add(rs, hashes, now)
	m.notify()
	return added, nil
}

// hashes returns the hashes of the URLs of rs, or ErrRequest if one of rs cannot be queued.
func (m *Memory) hashes(rs []Request) ([]uint64, error) {
	hashes := make([]uint64, len(rs))
	for i := range rs {
		if err := rs[i].Validate(); err != nil {
			return nil, err
		}
		hashes[i] = m.hash(m.c.Key(rs[i].URL))
	}
	return hashes, nil
}

func (m *Memory) add(rs []Request, hashes []uint64, now int64) (added int) {
	b := batch{now: now, time: m.clock.Time(now), origin: -1}
	for i := range rs {
		if m.addOne(&b, &rs[i], hashes[i]) {
			added++
		}
	}
	return added
}

// batch is the state that the Requests of one call share.
type batch struct {
	now    int64
	time   time.Time
	origin int    // number of the last origin used, or -1
	buf    []byte // buffer for encoding records
}

func (m *Memory) addOne(b *batch, r *Request, hash uint64) bool {
	mk := m.seen.find(hash)
	switch {
	case mk == nil, mk.state() == stateRejected:
		return m.queue(b, r, hash, mk)
	case mk.state() == stateQueued || mk.state() == stateWaiting || mk.state() == stateBack:
		if r.Depth < m.seen.depth(hash, mk) {
			m.seen.setDepth(hash, mk, r.Depth)
		}
	}
	if mk.state() == stateQueued && m.ranks.below(hash, levelOf(r.Priority, packed.Rank(r.Score))) && r.Plain() {
		m.raise(b, r, hash)
	}
	return false
}

// queue adds a URL that is unknown, or known only as rejected, at the end of its host's queue.
func (m *Memory) queue(b *batch, r *Request, hash uint64, mk *mark) bool {
	name := r.URL.Host()
	h := m.hosts.Find(name)
	if urls, bytes := m.room(h); urls <= 0 || bytes <= 0 {
		m.reject(hash, mk)
		return false
	}
	if h == nil {
		h = m.hosts.Open(name, m.c.HostSlots(name))
	}
	if h.Pending() == 0 {
		h.Renew(b.now)
	}
	m.know(hash, mk, r.Depth)
	m.push(b, h, r, hash)
	m.hosts.Offer(h, 1, b.now)
	return true
}

// push adds the record of r to the queue of its host.
func (m *Memory) push(b *batch, h *host, r *Request, hash uint64) {
	q := *r
	if q.Queued.IsZero() {
		q.Queued = b.time
	}
	b.origin = m.origins.hold(&q, b.origin)
	b.buf = appendRecord(b.buf[:0], h.Name, &q, uint32(b.origin))
	if rank := packed.Rank(r.Score); rank != 0 {
		it := item{rec: slices.Clone(b.buf), hash: hash, rank: rank, priority: r.Priority}
		m.size += it.size()
		h.Queue.pushScored(it)
	} else {
		h.Queue.push(r.Priority, b.buf, &m.deltas, &m.size)
	}
	m.ranks.note(hash, r)
}

// room returns the number of further URLs that may be queued for a host, and the bytes that they may take. h is nil if the host is not
// remembered.
func (m *Memory) room(h *host) (urls int, bytes int64) {
	urls = m.c.MaxPending - m.hosts.Pending()
	perHost := m.c.MaxPendingPerHost
	if h != nil {
		perHost -= h.Pending()
	}
	return min(urls, perHost), m.c.MaxBytes - int64(m.size+m.origins.size+len(m.ranks)*rankSize)
}

// know records that a URL that was unknown or rejected is now queued.
func (m *Memory) know(hash uint64, mk *mark, depth int) {
	if mk == nil {
		m.seen.add(hash, stateQueued, depth)
		return
	}
	mk.setState(stateQueued)
	m.seen.setDepth(hash, mk, depth)
	m.rejected--
}

// reject counts a rejected URL. It counts a URL once, as long as the URL is remembered.
func (m *Memory) reject(hash uint64, mk *mark) {
	if mk != nil {
		return
	}
	if m.rejected < maxRejected {
		m.seen.add(hash, stateRejected, 0)
	}
	m.rejected++
}
