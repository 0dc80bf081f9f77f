package politeness

import (
	"net/netip"
	"time"
)

// Rest says from when a host, an address or a registrable domain may be requested.
type Rest struct {
	Host   string     // weburl.URL.Host; "": it is another clock's
	Addr   netip.Addr // the zero Addr: likewise
	Domain string     // "": likewise
	Until  time.Time
}

// Resting returns the clocks that rest now, in no order. It is for processes that share them: a clock that a request of this Gate
// has just now is not among them.
func (g *Gate) Resting() (all []Rest) {
	now := time.Now()
	add := func(r Rest) {
		if r.Until.After(now) {
			all = append(all, r)
		}
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	for key, h := range g.hosts {
		add(Rest{Host: key, Until: h.slot(now).notBefore})
	}
	for a, p := range g.pacer.addrs {
		add(Rest{Addr: a, Until: p.notBefore})
	}
	for d, p := range g.pacer.domains {
		add(Rest{Domain: d, Until: p.notBefore})
	}
	return all
}
