package disk

import "slices"

// open returns the host of a link and pins it, so that it is not forgotten before the group is published. A host
// that is not in memory has nothing pending on disk, and is made.
func (l *lanes) open(g *group, to link) *host {
	l.mu.Lock()
	defer l.mu.Unlock()
	h := l.hosts.Find(to.key.host)
	if h == nil {
		name := to.URL.Host()
		h = l.hosts.Open(to.key.host, l.c.HostSlots(name))
		h.Queue.name, h.Queue.from = name, end()
	}
	l.pin(g, h)
	return h
}

// pinHeld pins a host that cannot have been forgotten, as one of its URLs is held.
func (l *lanes) pinHeld(g *group, h *host) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.pin(g, h)
}

func (l *lanes) pin(g *group, h *host) {
	if g.hosts[h.Name] == nil {
		g.hosts[h.Name] = h
		l.hosts.Pin(h)
	}
}

// holds reports whether a URL is claimed.
func (l *lanes) holds(k urlKey) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	_, claimed := l.claimed[k]
	return claimed
}

// takeDead returns the forgotten hosts whose records can be deleted: those that have not been made again.
func (l *lanes) takeDead() []uint64 {
	l.mu.Lock()
	defer l.mu.Unlock()
	dead := l.dead
	l.dead = nil
	return slices.DeleteFunc(dead, func(hash uint64) bool { return l.hosts.Find(hash) != nil })
}

// takeRested adds the ready times of releases to the group. Their hosts cannot have been forgotten: the released
// claims end in this group at the earliest.
func (l *lanes) takeRested(g *group) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, r := range l.rested {
		l.pin(g, r.host)
		d := &r.host.Queue.disk
		d.ready = max(d.ready, l.clock.unix(r.ready))
	}
	l.rested = nil
}

// hasRested reports whether ready times of releases are not written yet.
func (l *lanes) hasRested() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return len(l.rested) > 0
}
