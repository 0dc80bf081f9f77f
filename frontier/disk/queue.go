package disk

import "slices"

// queue is the part of a host's queue that is in memory.
//
// Claimable URLs with a place before from are in memory, in head. The others are only on disk, and are read from that place on, not
// from the beginning of the queue, where there are deleted entries.
type queue struct {
	name string
	from place
	head *head  // nil: nothing is claimable before from, nothing is claimed, and no goroutine is reading
	disk onDisk // only the writer uses it
}

// onDisk is a host's record without its name, as last written.
type onDisk struct {
	ready   int64
	queued  int32
	waiting int32
	raised  bool // there may be stale entries
}

type head struct {
	entries []entry  // in the order of their places
	out     []place  // places of claimed entries, which are still queued on disk
	reading *reading // not nil: a goroutine is reading entries from disk
	late    []entry  // entries that became claimable since the reading began
	size    int      // bytes of entries
	counted int      // the part of size that heads has counted
	newer   *host    // neighbours in heads, if there are entries
	older   *host
	listed  bool
}

// reading is a read of the head of a queue from disk, with the state at its beginning.
type reading struct {
	host      *host
	ended     chan struct{} // closed when it ends
	from      place
	out       []place // claimed places
	published uint64
	waiting   bool  // some URLs of the host wait
	asOf      int64 // waiting URLs due by this time are claimable, in Unix nanoseconds
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

// insert puts e, whose place is before from, into the head, and drops entries beyond the maximum number.
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

// drop forgets the entries from i on. They will be read from disk.
func (q *queue) drop(i int) {
	d := q.head
	q.from = d.entries[i].place
	for _, e := range d.entries[i:] {
		d.size -= e.size()
	}
	clear(d.entries[i:])
	d.entries = d.entries[:i]
}

// claimed reports whether p is claimed, or the end of its claim is not published yet.
func (q *queue) claimed(p place) bool { return q.head != nil && slices.Contains(q.head.out, p) }

// level returns the level of the first URL of h. If the head of the queue is not in memory, from is the place of the first entry,
// or a place before it.
func level(h *host) int64 {
	q := &h.Queue
	if d := q.head; d != nil && len(d.entries) > 0 {
		return d.entries[0].level()
	}
	return q.from.level()
}

// ranked updates the schedule after a change of the first URL of h.
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

// heads bounds the memory of all heads. The least recently used head is dropped, and later read from disk again.
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
