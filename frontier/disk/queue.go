package disk

import "slices"

// queue is the part of a host's queue that is in memory.
//
// Claimable URLs with a place before from are in memory, in head. The others are only on disk, and are read
// from that place on: never from the beginning of the queue, where deleted entries lie.
type queue struct {
	name string
	from place
	head *head  // nil: nothing is claimable before from, nothing claimed and nobody reading
	disk onDisk // used by the writer only
}

// onDisk is a host's record without its name, as last written.
type onDisk struct {
	ready   int64
	queued  int32
	waiting int32
	raised  bool // there may be entries that no URL is claimed by
}

type head struct {
	entries []entry  // in order
	out     []place  // claimed; on disk they are still queued
	reading *reading // not nil: somebody reads entries from disk
	late    []entry  // claimable since the reading began
	size    int      // of entries, in bytes
	counted int      // the size heads knows of
	newer   *host    // in heads, if there are entries
	older   *host
	listed  bool
}

// reading is a read of the head of a queue from disk, with the state at its beginning.
type reading struct {
	host      *host
	ended     chan struct{} // closed when it ends
	from      place
	out       []place // claimed
	published uint64
	waiting   bool  // some of the host's URLs wait
	asOf      int64 // until when they may have waited, in Unix nanoseconds
}

// entry is a claimable URL.
type entry struct {
	place
	value []byte // the stored Request; nil: to be read
}

const entryOverhead = 48 // bytes of an entry besides its value

func (e entry) size() int { return entryOverhead + len(e.value) }

func (q *queue) open() *head {
	if q.head == nil {
		q.head = &head{}
	}
	return q.head
}

// insert puts e, whose place is before from, into the head, and drops what exceeds most entries.
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

// drop forgets the entries from i on: they will be read from disk.
func (q *queue) drop(i int) {
	d := q.head
	q.from = d.entries[i].place
	for _, e := range d.entries[i:] {
		d.size -= e.size()
	}
	clear(d.entries[i:])
	d.entries = d.entries[:i]
}

// claimed reports whether p is claimed, or its end is not published yet.
func (q *queue) claimed(p place) bool { return q.head != nil && slices.Contains(q.head.out, p) }

// level returns the level of the first URL of h. Of a queue whose head is not in memory, from is the place of its first entry, or
// before it.
func level(h *host) int64 {
	q := &h.Queue
	if d := q.head; d != nil && len(d.entries) > 0 {
		return d.entries[0].level()
	}
	return q.from.level()
}

// ranked notes that the first URL of h may be another one.
func (l *lanes) ranked(h *host) {
	if l.c.BestFirst {
		l.hosts.Update(h, l.clock.Now())
	}
}

// add makes an entry claimable.
func (l *lanes) add(h *host, e entry) {
	q := &h.Queue
	defer l.ranked(h)
	switch {
	case q.head != nil && q.head.reading != nil:
		q.head.late = append(q.head.late, e)
	case e.before(q.from):
		q.insert(e, l.t.head)
		l.heads.update(h)
	}
}

// pop takes the first entry of the head, which must have one.
func (l *lanes) pop(h *host) entry {
	d := h.Queue.head
	e := d.entries[0]
	d.entries[0] = entry{}
	d.entries = d.entries[1:]
	d.size -= e.size()
	d.out = append(d.out, e.place)
	l.heads.update(h)
	l.ranked(h)
	return e
}

// returned removes p from those claimed.
func (l *lanes) returned(h *host, p place) {
	d := h.Queue.head
	if i := slices.Index(d.out, p); i >= 0 {
		d.out = slices.Delete(d.out, i, i+1)
	}
	l.heads.update(h)
}

// heads bounds the memory of all heads: the least recently used one is dropped, and read from disk again.
type heads struct {
	limit          int
	size           int
	newest, oldest *host
}

// update accounts for a change of h's head.
func (l *heads) update(h *host) {
	d := h.Queue.head
	l.size += d.size - d.counted
	d.counted = d.size
	l.unlist(h)
	switch {
	case len(d.entries) > 0:
		l.list(h)
	case len(d.out) == 0 && d.reading == nil:
		h.Queue.head = nil
	default:
		d.entries = nil
	}
	for l.size > l.limit && l.oldest != h {
		old := l.oldest
		old.Queue.drop(0)
		l.update(old)
	}
}

func (l *heads) list(h *host) {
	d := h.Queue.head
	d.listed, d.older = true, l.newest
	if l.newest != nil {
		l.newest.Queue.head.newer = h
	} else {
		l.oldest = h
	}
	l.newest = h
}

func (l *heads) unlist(h *host) {
	d := h.Queue.head
	if !d.listed {
		return
	}
	if d.newer != nil {
		d.newer.Queue.head.older = d.older
	} else {
		l.newest = d.older
	}
	if d.older != nil {
		d.older.Queue.head.newer = d.newer
	} else {
		l.oldest = d.newer
	}
	d.listed, d.newer, d.older = false, nil, nil
}
