package frontier

import (
	"math"
	"slices"

	"github.com/amble-crawler/amble/frontier/internal/pq"
)

// queue holds the URLs of one host in the order in which they are served: by priority, then by arrival. It is a
// first-in first-out lane of records for each priority and, apart from them, the URLs that came back. Arrivals are
// numbered within a priority; a lane knows the number of its first record. A postponed URL keeps its number. One
// that is to be tried again gets the number of the next record to come, and goes before it.
type queue struct {
	lanes   []lane // highest priority first
	back    pq.Heap[item]
	arrived uint64 // no less than the number of any arrival so far
	retried uint32
}

// item is a URL that was taken from its lane.
type item struct {
	rec      record
	hash     uint64 // of its Key; 0: not computed yet
	turn     uint64 // the number of its arrival
	late     uint32 // among those of one turn: as they came back, the record last
	attempt  int32
	priority int8
	back     bool // it was put back
}

// first is item.late of a record: items that came back with its number go before it.
const first = math.MaxUint32

// size returns about how many bytes an item takes until it is done.
func (a *item) size() int { return itemOverhead + len(a.rec) }

const itemOverhead = 64

// Before orders items that came back as they are served.
func (a item) Before(b item) bool {
	switch {
	case a.priority != b.priority:
		return a.priority > b.priority
	case a.turn != b.turn:
		return a.turn < b.turn
	}
	return a.late < b.late
}

// push adds a new record, and the bytes it takes to size.
func (q *queue) push(priority int8, rec record, d *deltas, size *int) {
	i, found := q.lane(priority)
	if !found {
		q.lanes = slices.Insert(q.lanes, i, lane{priority: priority, turn: q.arrived})
	}
	l := &q.lanes[i]
	*size -= l.size
	l.push(rec, d)
	*size += l.size
	l.records++
	q.arrived = max(q.arrived, l.next())
}

// lane returns the index of the lane of a priority, or where to insert it.
func (q *queue) lane(priority int8) (i int, found bool) {
	return slices.BinarySearchFunc(q.lanes, priority, func(l lane, p int8) int {
		return int(p) - int(l.priority)
	})
}

// arrive lets an item that was taken arrive anew, behind all that is there.
func (q *queue) arrive(it *item) {
	it.turn, it.late = q.arrived, q.retried
	q.retried++
	if i, found := q.lane(it.priority); found {
		it.turn = q.lanes[i].next()
	}
}

// pop takes the item that is served first; there must be one. It adds to size the bytes of the item, less those that
// q has freed.
func (q *queue) pop(size *int) item {
	if q.back.Len() > 0 && q.backFirst() {
		return q.back.Pop()
	}
	l := &q.lanes[0]
	*size -= l.size
	it := item{rec: l.pop(), turn: l.turn, late: first, priority: l.priority}
	*size += l.size + it.size()
	l.turn++
	l.records--
	if l.empty() {
		q.dropLane()
	}
	return it
}

// backFirst reports whether the first item that came back goes before the first record.
func (q *queue) backFirst() bool {
	if len(q.lanes) == 0 {
		return true
	}
	it, l := q.back.Top(), &q.lanes[0]
	return it.priority > l.priority || it.priority == l.priority && it.turn <= l.turn
}

func (q *queue) dropLane() {
	if len(q.lanes) == 1 {
		q.lanes = nil
		return
	}
	q.lanes = slices.Delete(q.lanes, 0, 1)
}
