package politeness

import "time"

// Forgive lets the hosts and origins that were given up be asked again, as a crawl does that is resumed later to try once
// more. What they must wait for stays: clocks, delays, back-off, Retry-After, and the pause before a robots.txt that
// failed is fetched again.
func (g *Gate) Forgive() {
	now := at(time.Now())
	g.mu.Lock()
	defer g.mu.Unlock()
	for _, h := range g.hosts {
		h.gone, h.failures, h.failing = nil, 0, 0
		for _, o := range h.origins {
			if o != nil && o.gone {
				o.gone = false
				if o.outage != nil {
					o.outage.since = now
				}
			}
		}
	}
}
