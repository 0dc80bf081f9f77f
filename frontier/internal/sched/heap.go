package sched

// heap orders hosts, by number, by due time and then by most queued. Each node has four children, and the entries contain the keys, so
// that each level of the heap needs one cache line, however many hosts there are.
type heap struct {
	entries []entry  // hosts, from index root on; entries before root are unused, so that four siblings share a cache line
	at      *[]int32 // position of each host in its heap
}

type entry struct {
	due    int64
	queued int32
	host   uint32
}

const root = 3

func children(i int) int { return 4 * (i - root + 1) } // returns the index of the first child
func parent(i int) int   { return i/4 + root - 1 }

func (e entry) before(o entry) bool {
	return e.due < o.due || e.due == o.due && e.queued > o.queued
}

func newHeap(at *[]int32) heap { return heap{entries: make([]entry, root), at: at} }

func (p *heap) empty() bool { return len(p.entries) == root }

// next returns the earliest due time, or Never if the heap is empty.
func (p *heap) next() int64 {
	if p.empty() {
		return Never
	}
	return p.entries[root].due
}

func (p *heap) push(e entry) {
	p.entries = append(p.entries, e)
	p.up(len(p.entries)-1, e)
}

// fix updates the due time and count of the host of e, which is in the heap.
func (p *heap) fix(e entry) {
	i := int((*p.at)[e.host])
	if old := p.entries[i]; old.before(e) {
		p.down(i, e)
	} else if e.before(old) {
		p.up(i, e)
	}
}

func (p *heap) remove(host uint32) {
	i, n := int((*p.at)[host]), len(p.entries)-1
	gone, last := p.entries[i], p.entries[n]
	p.entries = p.entries[:n]
	switch {
	case i == n:
	case last.before(gone):
		p.up(i, last)
	default:
		p.down(i, last)
	}
}

// up inserts e at index i or above.
func (p *heap) up(i int, e entry) {
	for i > root && e.before(p.entries[parent(i)]) {
		p.set(i, p.entries[parent(i)])
		i = parent(i)
	}
	p.set(i, e)
}

// down inserts e at index i or below.
func (p *heap) down(i int, e entry) {
	for {
		first := children(i)
		if first >= len(p.entries) {
			break
		}
		least := first
		for c := first + 1; c < min(first+4, len(p.entries)); c++ {
			if p.entries[c].before(p.entries[least]) {
				least = c
			}
		}
		if !p.entries[least].before(e) {
			break
		}
		p.set(i, p.entries[least])
		i = least
	}
	p.set(i, e)
}

func (p *heap) set(i int, e entry) {
	p.entries[i] = e
	(*p.at)[e.host] = int32(i)
}
