package frontier

import (
	"slices"

	"github.com/amble-crawler/amble/frontier/internal/pq"
)

// queue is the URLs of one host in the order they are served: by priority, then by arrival. It is a
// first-in first-out lane of records for each priority and, apart, the URLs that came back. A URL
// that comes back was taken before all that are still in the lane of its priority, so it goes before
// them; among themselves those that came back go in the order they were first taken, which is the
// order in which they arrived.
type queue struct {
	lanes []lane // highest priority first
	back  pq.Heap[item]
	taken uint64
}

// item is a URL that was taken from its lane.
type item struct {
	rec      record
	hash     uint64 // of its Key; 0: not computed yet
	turn     uint64 // the how manieth taken; keeps its arrival
	attempt  int
	priority int8
}

// Before is the order in which items that came back are served.
func (a item) Before(b item) bool {
	return a.priority > b.priority || a.priority == b.priority && a.turn < b.turn
}

// push adds a record that has not been in q.
func (q *queue) push(priority int8, rec record, d *deltas) {
	i, found := slices.BinarySearchFunc(q.lanes, priority, func(l lane, p int8) int {
		return int(p) - int(l.priority)
	})
	if !found {
		q.lanes = slices.Insert(q.lanes, i, lane{priority: priority})
	}
	q.lanes[i].push(rec, d)
}

// pop takes the item that is served first; there must be one.
func (q *queue) pop() item {
	if q.back.Len() > 0 && (len(q.lanes) == 0 || q.back.Top().priority >= q.lanes[0].priority) {
		return q.back.Pop()
	}
	l := &q.lanes[0]
	q.taken++
	it := item{rec: l.pop(), turn: q.taken, priority: l.priority}
	if l.empty() {
		q.dropLane()
	}
	return it
}

func (q *queue) dropLane() {
	if len(q.lanes) == 1 {
		q.lanes = nil
		return
	}
	q.lanes = slices.Delete(q.lanes, 0, 1)
}
