package politeness

import "time"

// sweepMin is the number of clocks from which it is worth looking for idle ones.
const sweepMin = 1 << 17

// idle schedules the removal of hosts and clocks that may be forgotten.
type idle struct {
	at  int // the number of clocks
	min int // the least such number
}

// sweep forgets the hosts, addresses and domains whose state equals that of new ones, so that forgetting shortens no wait
// (P9). It runs when their number has doubled since the last time, and while nobody holds a pointer to one of them. Rules that
// were parsed again are bounded here, too.
func (g *Gate) sweep(now time.Time) {
	g.rules.bound()
	if len(g.hosts)+g.pacer.size() < g.idle.at {
		return
	}
	for k, h := range g.hosts {
		if h.fresh(&g.cfg, now) {
			g.rules.forget(h)
			delete(g.hosts, k)
			g.touched.forgotten(k)
		}
	}
	g.pacer.sweep(now, g.touched)
	g.idle.at = max(g.idle.min, 2*(len(g.hosts)+g.pacer.size()))
}
