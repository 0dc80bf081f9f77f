package frontier

import (
	"context"
	"slices"

	"github.com/amble-crawler/amble/frontier/internal/packed"
	"github.com/amble-crawler/amble/frontier/internal/pq"
)

// Rescore implements [Frontier], one host after the other: other calls wait while the queue of one host is scored. While MaxBytes is
// reached, scores do not change. It returns ErrClosed or the error of the context.
func (m *Memory) Rescore(ctx context.Context, score func(Request) float64) (changed int, err error) {
	for next, more := 0, true; more; {
		var n int
		if n, next, more, err = m.rescoreNext(ctx, next, score); err != nil {
			return changed, err
		}
		changed += n
	}
	return changed, nil
}

// rescoreNext scores the queue of the host with the lowest number that is at least n.
func (m *Memory) rescoreNext(ctx context.Context, n int, score func(Request) float64) (changed, next int, more bool, err error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if err := m.usable(ctx); err != nil {
		return 0, n, false, err
	}
	now := m.clock.Now()
	m.advance(now)
	h, next := m.hosts.After(n)
	if h == nil {
		return 0, next, false, nil
	}
	if _, bytes := m.room(h); bytes > 0 {
		changed = m.rescore(h, score)
		m.hosts.Update(h, now)
		m.notify()
	}
	return changed, next, true, nil
}

// rescore scores the queue of h. The queue does not change before the last call of score has returned, because score may panic.
func (m *Memory) rescore(h *host, score func(Request) float64) (changed int) {
	q := &h.Queue
	var ranks []int32 // the new ranks, in the order of queue.each
	for it := range q.each {
		rank := m.rank(held{it, h}, score)
		ranks = append(ranks, rank)
		if rank != it.rank {
			changed++
		}
	}
	if changed == 0 {
		return 0
	}
	type move struct {
		item
		to int32
	}
	var kept pq.Heap[item]
	var moves []move
	i := 0
	for it := range q.each { // all items leave their lanes, because a lane numbers its records without gaps
		if it.hash == 0 {
			m.size += it.size()
			it.hash = m.hashOf(held{it, h})
		}
		switch {
		case m.raised(held{it, h}):
			m.discard(held{it, h})
		case ranks[i] == it.rank:
			kept.Push(it)
		default:
			moves = append(moves, move{it, ranks[i]})
		}
		i++
	}
	for _, l := range q.lanes {
		m.size -= l.size
	}
	q.lanes, q.back = nil, kept
	slices.SortFunc(moves, func(a, b move) int {
		if a.Before(b.item) {
			return -1
		}
		return 1
	})
	for _, v := range moves {
		v.rank = v.to
		m.ranks.set(v.hash, v.level(), m.ranks.fixed(v.hash))
		q.pushScored(v.item)
	}
	return changed
}

// rank returns the rank of the score that score returns for an item. If the item is not the valid one of a queued URL, rank returns its
// present rank.
func (m *Memory) rank(it held, score func(Request) float64) int32 {
	r := m.request(it)
	if err := it.rec.decode(it.host.Name, &r); err != nil || it.back {
		return it.rank // claiming the URL will return the error
	}
	it.hash = m.hash(m.c.Key(r.URL))
	mk := m.seen.find(it.hash)
	if mk == nil || m.raised(it) {
		return it.rank
	}
	r.Depth = m.seen.depth(it.hash, mk)
	return packed.Rank(score(r))
}

// hashOf returns the hash of an item's URL.
func (m *Memory) hashOf(it held) uint64 {
	var r Request
	_ = it.rec.decode(it.host.Name, &r)
	return m.hash(m.c.Key(r.URL))
}

// each calls f with all items, which stay in the queue. Items from lanes have no hash.
func (q *queue) each(f func(item) bool) {
	for _, l := range q.lanes {
		l.rest = slices.Clone(l.rest)
		for range l.records {
			if !f(item{rec: l.pop(), turn: l.turn, late: first, priority: l.priority}) {
				return
			}
			l.turn++
		}
	}
	for _, it := range q.back.All() {
		if !f(it) {
			return
		}
	}
}
