package politeness

import (
	"net/netip"
	"time"
)

// Rest says from when a host, an address or a registrable domain may be requested.
type Rest struct {
	Host   string     // weburl.URL.Host; "" in the Rest of an address or a domain
	Addr   netip.Addr // not valid in the Rest of a host or a domain
	Domain string     // "" in the Rest of a host or an address
	Until  time.Time
}

// Resting returns the clocks that rest now, in no order. It is for processes that share them: a clock that a request of this Gate
// has just now is not among them.
func (g *Gate) Resting() []Rest {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.resting(time.Now())
}

// resting is Resting at now. The caller holds g.mu.
func (g *Gate) resting(now time.Time) (all []Rest) {
	add := func(r Rest) {
		if r.Until.After(now) {
			all = append(all, r)
		}
	}
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
