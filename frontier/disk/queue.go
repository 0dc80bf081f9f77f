package disk

import "slices"

// queue is the part of a host's queue that is in memory.
//
// Claimable URLs with a place before from are in memory, in head. All others are only on disk. They are read from the place from on,
// because the beginning of the queue on disk has deleted entries.
type queue struct {
	name string
	from place
	head *head  // nil: no entry before the place from is claimable, none is claimed, and no goroutine is reading
	disk onDisk // only the writer uses it
}

// onDisk is the record of a host, without its name, as it was written last.
type onDisk struct {
	ready   int64
	queued  int32
	waiting int32
	raised  bool // there may be stale entries
}

type head struct {
	entries []entry  // entries in the order of their places
	out     []place  // places of claimed entries, which are still in the queue on disk
	reading *reading // set while a goroutine reads entries from disk
	late    []entry  // entries that became claimable after the read began
	size    int      // bytes of the entries, with their overhead
	counted int      // bytes of this head that are included in heads.size
	newer   *host    // neighbours in the list of heads, if there are entries
	older   *host
	listed  bool
}

// reading is a read of entries of a queue from disk, with the state of the queue at its beginning.
type reading struct {
	host      *host
	ended     chan struct{} // closed when the read has ended
	from      place
	out       []place // places that were claimed at the beginning
	published uint64
	waiting   bool  // some URLs of the host wait
	asOf      int64 // waiting URLs that are due by this time are claimable; Unix nanoseconds
}

// entry is a claimable URL.
type entry struct {
	place
	value []byte // the stored Request; nil: not read yet
}

const entryOverhead = 48 // bytes of an entry in addition to its value

func (e entry) size() int { return entryOverhead + len(e.value) }

func (q *queue) open() *head {
	if q.head == nil {
		q.head = &head{}
	}
	return q.head
}

// insert adds e, whose place is before q.from, to the head. If the head then has more entries than the number most, it drops the last ones.
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

// drop drops the entries from index i on, so that they will be read from disk again.
func (q *queue) drop(i int) {
	d := q.head
	q.from = d.entries[i].place
	for _, e := range d.entries[i:] {
		d.size -= e.size()
	}
	clear(d.entries[i:])
	d.entries = d.entries[:i]
}

// claimed reports whether the entry at p is claimed, or the end of its claim is not published yet.
func (q *queue) claimed(p place) bool { return q.head != nil && slices.Contains(q.head.out, p) }

// level returns the level of the first URL of h. If that URL is not in memory, the result is the level of the place from, which is not
// after it.
func level(h *host) int64 {
	q := &h.Queue
	if d := q.head; d != nil && len(d.entries) > 0 {
		return d.entries[0].level()
	}
	return q.from.level()
}

// ranked updates the schedule after the first URL of h has changed.
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

// pop removes and returns the first entry of the head, which must not be empty.
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

// returned removes p from the claimed places.
func (l *lanes) returned(h *host, p place) {
	d := h.Queue.head
	if i := slices.Index(d.out, p); i >= 0 {
		d.out = slices.Delete(d.out, i, i+1)
	}
	l.heads.update(h)
}

// heads limits the memory of the heads of all queues. It drops the head that was used longest ago; it is read from disk again when it is
// needed.
type heads struct {
	limit          int
	size           int
	newest, oldest *host
}

// update must be called after a change of h's head.
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
