package politeness

import (
	"net/netip"
	"time"
)

// Rest is the time before which a host, an address or a registrable domain must not be requested.
type Rest struct {
	Host   string     // weburl.URL.Host; "" for an address or a domain
	Addr   netip.Addr // invalid for a host or a domain
	Domain string     // "" for a host or an address
	Until  time.Time
}

// Resting returns the clocks that rest now, in no particular order, for processes that share them. A clock held by a request
// of this Gate is not included.
func (g *Gate) Resting() []Rest {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.resting(time.Now())
}

// resting returns the result of Resting at now. The caller holds g.mu.
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
