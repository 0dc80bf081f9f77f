package disk

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
