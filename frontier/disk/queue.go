package disk

import "slices"

// queue is what the store keeps in memory of one host.
//
// What is claimable and has its place before from is in memory, in head. What has its place at from
// or behind it is on disk alone and is read from there on: never from the queue's beginning, where
// what was deleted lies.
type queue struct {
	name string
	from place
	head *head  // nil: nothing is claimable before from, nothing claimed and nobody reading
	disk onDisk // the writer's own
}

// onDisk is what the writer changes of a host's record, as last written.
type onDisk struct {
	ready   int64
	queued  int32
	waiting int32
}

type head struct {
	entries []entry  // in order
	out     []place  // claimed; on disk they are still queued
	reading *reading // not nil: somebody reads entries from disk
	late    []entry  // what became claimable meanwhile
	size    int      // of entries, in bytes
	counted int      // the size heads knows of
	newer   *host    // in heads, if there are entries
	older   *host
	listed  bool
}

// entry is a claimable URL.
type entry struct {
	place
	value []byte // the stored Request; nil: to be read
}

func (e entry) size() int { return entryOverhead + len(e.value) }

const entryOverhead = 48 // bytes of an entry beside its value

func (q *queue) open() *head {
	if q.head == nil {
		q.head = &head{}
	}
	return q.head
}

// add makes an entry claimable.
func (l *lanes) add(h *host, e entry) {
	q := &h.Queue
	switch {
	case q.head != nil && q.head.reading != nil:
		q.head.late = append(q.head.late, e)
	case e.before(q.from):
		q.insert(e, l.t.head)
		l.heads.update(h)
	}
}

// insert puts e, whose place is before from, into the head. What is more than most is left to the disk.
func (q *queue) insert(e entry, most int) {
	d := q.open()
	i, _ := slices.BinarySearchFunc(d.entries, e.place, func(a entry, p place) int {
		if a.before(p) {
			return -1
		}
		return 1
	})
	d.entries = slices.Insert(d.entries, i, e)
	d.size += e.size()
	if len(d.entries) > most {
		q.drop(most)
	}
}

// drop leaves the entries from i on to the disk.
func (q *queue) drop(i int) {
	d := q.head
	q.from = d.entries[i].place
	for _, e := range d.entries[i:] {
		d.size -= e.size()
	}
	clear(d.entries[i:])
	d.entries = d.entries[:i]
}

// pop takes the first entry out of the head, which has one.
func (l *lanes) pop(h *host) entry {
	d := h.Queue.head
	e := d.entries[0]
	d.entries[0] = entry{}
	d.entries = d.entries[1:]
	d.size -= e.size()
	d.out = append(d.out, e.place)
	l.heads.update(h)
	return e
}

// returned notes that p is no longer claimed.
func (l *lanes) returned(h *host, p place) {
	d := h.Queue.head
	if i := slices.Index(d.out, p); i >= 0 {
		d.out = slices.Delete(d.out, i, i+1)
	}
	l.heads.update(h)
}

// claimed reports whether p is claimed, or was and its end is not yet published.
func (q *queue) claimed(p place) bool { return q.head != nil && slices.Contains(q.head.out, p) }
