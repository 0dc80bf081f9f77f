package frontier

import "math"

// A URL is raised (F20) by another record of it, in the lane of the higher priority. The earlier record stays where it is,
// as there is no way to find it, and is discarded when it is its turn: by then the URL has been claimed through the
// later one. ranks tells which of the records is the URL's.

// ranks holds the priority of each queued URL for which it is not 0, and of those that are not raised. It is empty in
// crawls without priorities, but for their seeds and the like.
type ranks map[uint64]int16

const rankSize = 24 // bytes, about

// fixed is the rank of a URL that is not raised, plus its priority.
const fixed = math.MaxInt16 - math.MaxInt8

// below reports whether a queued URL has a priority below p and can be raised.
func (k ranks) below(hash uint64, p int8) bool { return k[hash] < int16(p) }

// priority returns the priority of a queued URL.
func (k ranks) priority(hash uint64) int8 {
	if r := k[hash]; r <= math.MaxInt8 {
		return int8(r)
	}
	return int8(k[hash] - fixed)
}

func (k *ranks) note(hash uint64, r *Request) {
	rank := int16(r.Priority)
	if !r.Plain() {
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

// raise queues a URL that is queued once more, at a higher priority, unless there is no room.
func (m *Memory) raise(b *batch, r *Request, hash uint64) {
	h := m.hosts.Find(r.URL.Host())
	if _, bytes := m.room(h); h != nil && bytes > 0 {
		m.push(b, h, r, hash)
	}
}

// raised reports whether a record that was taken from its lane is not the valid one of its URL.
func (m *Memory) raised(it held) bool {
	mk := m.seen.find(it.hash)
	switch {
	case mk == nil:
		return false
	case mk.state() == stateQueued:
		return it.back || it.priority != m.ranks.priority(it.hash)
	}
	return mk.state() != stateBack || !it.back
}

// discard drops a record.
func (m *Memory) discard(it held) {
	m.origins.release(it.rec.origin())
	m.size -= it.size()
}

// clean discards what is left of a host when none of its URLs is.
func (m *Memory) clean(h *host) {
	for q := &h.Queue; h.Pending() == 0 && (len(q.lanes) > 0 || q.back.Len() > 0); {
		m.discard(held{q.pop(&m.size), h})
	}
}
