package disk

import "slices"

// What a group needs of the lanes while it is built: a host that it writes is pinned, so that it is not forgotten
// before the group is published.

// open returns the host of a link, pinned. It is made if it is not in memory: then nothing of it is pending on disk.
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

// pinHeld pins a host of which a URL is held, so that it cannot have been forgotten.
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

// takeDead returns the hosts that are forgotten, unless they have come up again: their records can be deleted.
func (l *lanes) takeDead() []uint64 {
	l.mu.Lock()
	defer l.mu.Unlock()
	dead := l.dead
	l.dead = nil
	return slices.DeleteFunc(dead, func(hash uint64) bool { return l.hosts.Find(hash) != nil })
}

// takeRested takes up the ready times that releases have left, and pins their hosts, which are remembered: the claims
// that were released end in this group at the earliest.
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

// hasRested reports whether releases have left ready times.
func (l *lanes) hasRested() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return len(l.rested) > 0
}
