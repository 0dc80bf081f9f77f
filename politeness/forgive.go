package politeness

// Forgive lets the hosts and origins that were given up be asked again, as a crawl does that is gone on
// with later to try once more. What they must wait for stays: clocks, delays, back-off, Retry-After.
func (g *Gate) Forgive() {
	g.mu.Lock()
	defer g.mu.Unlock()
	for _, h := range g.hosts {
		h.gone, h.failures, h.failing = nil, 0, 0
		for _, o := range h.origins {
			if o != nil && o.gone {
				o.gone, o.outage = false, nil
			}
		}
	}
}
