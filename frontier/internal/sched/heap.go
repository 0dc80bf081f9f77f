package sched

// heap orders hosts by due time, then by most queued. It is four-ary with the keys beside the
// pointers: a sift touches one or two cache lines a level instead of five hosts anywhere in memory.
type heap[Q any] struct{ entries []entry[Q] }

type entry[Q any] struct {
	due    int64
	queued int32
	host   *Host[Q]
}

func (e *entry[Q]) before(o *entry[Q]) bool {
	return e.due < o.due || e.due == o.due && e.queued > o.queued
}

// next is the earliest due time, Never when the heap is empty.
func (p *heap[Q]) next() int64 {
	if len(p.entries) == 0 {
		return Never
	}
	return p.entries[0].due
}

func (p *heap[Q]) push(h *Host[Q]) {
	p.entries = append(p.entries, entry[Q]{})
	p.up(len(p.entries)-1, entry[Q]{h.due, h.queued, h})
}

// fix restores the order after h's due time or count changed.
func (p *heap[Q]) fix(h *Host[Q]) {
	e := entry[Q]{h.due, h.queued, h}
	if old := &p.entries[h.at]; old.before(&e) {
		p.down(int(h.at), e)
	} else if e.before(old) {
		p.up(int(h.at), e)
	}
}

func (p *heap[Q]) remove(h *Host[Q]) {
	n := len(p.entries) - 1
	last := p.entries[n]
	p.entries[n] = entry[Q]{}
	p.entries = p.entries[:n]
	if int(h.at) == n {
		return
	}
	if gone := p.entries[h.at]; last.before(&gone) {
		p.up(int(h.at), last)
	} else {
		p.down(int(h.at), last)
	}
}

// up places e at i or above.
func (p *heap[Q]) up(i int, e entry[Q]) {
	for i > 0 {
		parent := (i - 1) / 4
		if !e.before(&p.entries[parent]) {
			break
		}
		p.set(i, p.entries[parent])
		i = parent
	}
	p.set(i, e)
}

// down places e at i or below.
func (p *heap[Q]) down(i int, e entry[Q]) {
	for {
		first := 4*i + 1
		if first >= len(p.entries) {
			break
		}
		least := first
		for c := first + 1; c < min(first+4, len(p.entries)); c++ {
			if p.entries[c].before(&p.entries[least]) {
				least = c
			}
		}
		if !p.entries[least].before(&e) {
			break
		}
		p.set(i, p.entries[least])
		i = least
	}
	p.set(i, e)
}

func (p *heap[Q]) set(i int, e entry[Q]) {
	p.entries[i] = e
	e.host.at = int32(i)
}
