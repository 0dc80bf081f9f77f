package frontier

import (
	"encoding/binary"
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/amble-crawler/amble/frontier/internal/packed"
	"github.com/amble-crawler/amble/frontier/internal/pq"
	"github.com/amble-crawler/amble/weburl"
)

// queue holds the URLs of one host in the order in which they are served: by priority, then by score, then by arrival. It has a first-in,
// first-out lane of records for each priority. URLs with a score, and URLs that were put back after a claim, are kept separately, in
// back. Arrivals are numbered within a priority; a lane stores the number of its first record. A URL that is put back for later keeps its
// number. A URL that is retried gets the number of the next arrival, and comes before it.
type queue struct {
	lanes   []lane        // highest priority first
	back    pq.Heap[item] // items that were put back or have a score
	arrived uint64        // upper bound of the numbers of arrivals so far
	retried uint32
}

// item is a URL that was taken from its lane.
type item struct {
	rec      record
	hash     uint64 // hash of the item's Key; 0: not computed yet
	turn     uint64 // arrival number
	late     uint32 // order of return among items with the same turn; a record in a lane comes last
	attempt  int32
	rank     int32 // rank of the score, see packed.Rank
	priority int8
	back     bool // the item was put back
}

// level returns priority and rank as one number.
func (a *item) level() int64 { return levelOf(a.priority, a.rank) }

func levelOf(priority int8, rank int32) int64 { return int64(priority)<<24 + int64(rank) }

// first is the value of late for a record in a lane: items with the same turn that were put back come before the record.
const first = math.MaxUint32

// size returns the approximate memory of an item until it is done, in bytes.
func (a *item) size() int { return itemOverhead + len(a.rec) }

const itemOverhead = 64

// Before reports whether a is served before b, for two items in back.
func (a item) Before(b item) bool {
	switch {
	case a.priority != b.priority:
		return a.priority > b.priority
	case a.rank != b.rank:
		return a.rank > b.rank
	case a.turn != b.turn:
		return a.turn < b.turn
	}
	return a.late < b.late
}

// push adds a new record to the lane of its priority, and adds its bytes to size.
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

// pushScored adds a new item with a score to back.
func (q *queue) pushScored(it item) {
	it.turn, it.late = q.arrived, first
	q.arrived++
	q.back.Push(it)
}

// lane returns the index of the lane of a priority. If there is none, found is false and i is the index at which to insert it.
func (q *queue) lane(priority int8) (i int, found bool) {
	return slices.BinarySearchFunc(q.lanes, priority, func(l lane, p int8) int {
		return int(p) - int(l.priority)
	})
}

// arrive queues a claimed item again, after all others of its priority.
func (q *queue) arrive(it *item) {
	it.turn, it.late = q.arrived, q.retried
	q.retried++
	if i, found := q.lane(it.priority); found && it.rank == 0 {
		it.turn = q.lanes[i].next()
	}
}

// pop removes and returns the item that is served first; the queue must not be empty. It adds to size the bytes of the item, less the
// bytes that the queue has freed.
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

// backFirst reports whether the first item of back is served before the first record of the lanes.
func (q *queue) backFirst() bool {
	if len(q.lanes) == 0 {
		return true
	}
	it, l := q.back.Top(), &q.lanes[0]
	if it.priority != l.priority {
		return it.priority > l.priority
	}
	return it.rank > 0 || it.rank == 0 && it.turn <= l.turn
}

func (q *queue) dropLane() {
	if len(q.lanes) == 1 {
		q.lanes = nil
		return
	}
	q.lanes = slices.Delete(q.lanes, 0, 1)
}

// A record is a queued Request as bytes: the number of its origin as uvarint, and a packed.Item. It does not contain fields that are
// stored elsewhere: the name of its host, its priority, its depth (in seen) and its origin, which all links of a page share.
type record []byte

// appendRecord appends the record of r to dst. origin is the number of its origin.
func appendRecord(dst []byte, host string, r *Request, origin uint32) []byte {
	dst = binary.AppendUvarint(dst, uint64(origin))
	return packed.AppendItem(dst, host, packed.Item{URL: r.URL, Hops: r.Hops, Meta: r.Meta, Beyond: r.Beyond})
}

func (r record) origin() uint32 {
	n, _ := binary.Uvarint(r)
	return uint32(n)
}

// decode sets those fields of the Request that the record contains.
func (r record) decode(host string, into *Request) error {
	_, n := binary.Uvarint(r)
	it, err := packed.ReadItem(host, r[n:])
	if err != nil {
		return fmt.Errorf("frontier: a queued URL is lost: %w", err)
	}
	into.URL, into.Hops, into.Meta, into.Beyond = it.URL, it.Hops, it.Meta, it.Beyond
	return nil
}

// origins stores the fields that the Requests of one page have in common, once for all of them, until the last of the Requests is done.
type origins struct {
	all  []origin
	free []uint32
	size int // approximate bytes of all origins
}

type origin struct {
	via    weburl.URL
	queued time.Time
	kind   Kind
	refs   int
}

func (o *origin) size() int { return originOverhead + len(o.via.String()) }

const originOverhead = 80

func (o *origin) of(r *Request) bool {
	return o.via == r.Via && o.kind == r.Kind && o.queued.Equal(r.Queued)
}

// hold returns the number of r's origin and counts a reference to it. last is the number of another origin that is referenced, or -1; if
// it equals r's origin, it is used again.
func (o *origins) hold(r *Request, last int) int {
	if last >= 0 && o.all[last].of(r) {
		o.all[last].refs++
		return last
	}
	fresh := origin{via: r.Via, queued: r.Queued, kind: r.Kind, refs: 1}
	o.size += fresh.size()
	if n := len(o.free) - 1; n >= 0 {
		i := o.free[n]
		o.free = o.free[:n]
		o.all[i] = fresh
		return int(i)
	}
	o.all = append(o.all, fresh)
	return len(o.all) - 1
}

func (o *origins) release(i uint32) {
	if o.all[i].refs--; o.all[i].refs == 0 {
		o.size -= o.all[i].size()
		o.all[i] = origin{}
		o.free = append(o.free, i)
	}
}
