package frontier

import (
	"encoding/binary"
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
	turn     uint64 // the how manieth taken; keeps its arrival
	attempt  int
	priority int8
}

// Before is the order in which items that came back are served.
func (a item) Before(b item) bool {
	return a.priority > b.priority || a.priority == b.priority && a.turn < b.turn
}

// push adds a record that has not been in q.
func (q *queue) push(priority int8, rec record) {
	i, found := slices.BinarySearchFunc(q.lanes, priority, func(l lane, p int8) int {
		return int(p) - int(l.priority)
	})
	if !found {
		q.lanes = slices.Insert(q.lanes, i, lane{priority: priority})
	}
	q.lanes[i].push(rec)
}

// pop takes the item that is served first; there must be one.
func (q *queue) pop() item {
	if q.back.Len() > 0 && (len(q.lanes) == 0 || q.back.Top().priority >= q.lanes[0].priority) {
		return q.back.Pop()
	}
	l := &q.lanes[0]
	q.taken++
	it := item{rec: slices.Clone(l.pop()), turn: q.taken, priority: l.priority}
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

// lane is records one behind the other, in chunks that are freed as they are read.
type lane struct {
	head     []byte   // read from here; written to as long as there is no rest
	rest     [][]byte // written to at its end
	priority int8
}

// chunkSize is where a chunk stops growing. A lane's memory is too large by half a chunk at most,
// a short lane's by a quarter on average.
const chunkSize = 8 << 10

func (l *lane) empty() bool { return len(l.head) == 0 }

func (l *lane) push(rec record) {
	last := &l.head
	if n := len(l.rest); n > 0 {
		last = &l.rest[n-1]
	}
	need := len(rec) + binary.MaxVarintLen16
	if len(*last) > 0 && len(*last)+need > chunkSize {
		l.rest = append(l.rest, nil)
		last = &l.rest[len(l.rest)-1]
	}
	*last = binary.AppendUvarint(room(*last, need), uint64(len(rec)))
	*last = append(*last, rec...)
}

// room is b with capacity for n more bytes, growing by half.
func room(b []byte, n int) []byte {
	if cap(b)-len(b) >= n {
		return b
	}
	size := max(len(b)+n, min(chunkSize, len(b)+len(b)/2))
	return append(make([]byte, 0, size), b...)
}

// pop takes the first record; it stays valid as long as the lane's memory does.
func (l *lane) pop() record {
	n, size := binary.Uvarint(l.head)
	rec := record(l.head[size : size+int(n)])
	l.head = l.head[size+int(n):]
	if len(l.head) == 0 {
		l.head = nil
		if len(l.rest) > 0 {
			l.head, l.rest[0] = l.rest[0], nil
			l.rest = l.rest[1:]
		}
	}
	return rec
}
