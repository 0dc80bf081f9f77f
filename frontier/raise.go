package frontier

import "github.com/amble-crawler/amble/frontier/internal/packed"

// A URL is raised (F20) by adding another record of it to the lane of the higher priority. The earlier record cannot be found, so it
// stays in its lane. It is discarded when it becomes the first one; by then the URL has been claimed through the later record. ranks
// identifies the valid record.

// ranks holds, keyed by hash, the levels of queued URLs whose level is not 0, and marks URLs that must not be raised. In crawls without
// priorities it has few entries, such as seeds.
type ranks map[uint64]int64

const rankSize = 24 // approximate bytes of an entry

// fixed is added to the level of a URL that must not be raised: the sum is higher than any level.
const fixed = 1 << 40

// below reports whether the URL has a lower level than the given one, and may be raised.
func (k ranks) below(hash uint64, level int64) bool { return k[hash] < level }

// level returns the level of a queued URL.
func (k ranks) level(hash uint64) int64 {
	if k.fixed(hash) {
		return k[hash] - fixed
	}
	return k[hash]
}

// fixed reports whether a URL must not be raised.
func (k ranks) fixed(hash uint64) bool { return k[hash] >= fixed/2 }

func (k *ranks) note(hash uint64, r *Request) {
	k.set(hash, levelOf(r.Priority, packed.Rank(r.Score)), !r.Plain())
}

func (k *ranks) set(hash uint64, rank int64, isFixed bool) {
	if isFixed {
		rank += fixed
	}
	if rank == 0 {
		delete(*k, hash)
		return
	}
	if *k == nil {
		*k = ranks{}
	}
	(*k)[hash] = rank
}

func (k ranks) drop(hash uint64) { delete(k, hash) }

// raise queues a URL that is already queued once more, at a higher priority, if there is room.
func (m *Memory) raise(b *batch, r *Request, hash uint64) {
	h := m.hosts.Find(r.URL.Host())
	if _, bytes := m.room(h); h != nil && bytes > 0 {
		m.push(b, h, r, hash)
		m.hosts.Update(h, b.now)
	}
}

// raised reports whether a record taken from its lane has been superseded by a later record of its URL.
func (m *Memory) raised(it held) bool {
	mk := m.seen.find(it.hash)
	switch {
	case mk == nil:
		return false
	case mk.state() == stateQueued:
		return it.back || it.level() != m.ranks.level(it.hash)
	}
	return mk.state() != stateBack || !it.back
}

// discard drops an item whose URL a later record has replaced.
func (m *Memory) discard(it held) {
	m.origins.release(it.rec.origin())
	m.size -= it.size()
}

// clean discards the records that are left of a host without pending URLs.
func (m *Memory) clean(h *host) {
	for q := &h.Queue; h.Pending() == 0 && (len(q.lanes) > 0 || q.back.Len() > 0); {
		m.discard(held{q.pop(&m.size), h})
	}
}
