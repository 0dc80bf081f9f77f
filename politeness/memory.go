package politeness

import "time"

// sweepMin is the least number of clocks for which looking through them is worth while.
const sweepMin = 1 << 17

// sweep forgets the hosts, addresses and domains whose state equals that of new ones, so that
// forgetting shortens no wait (P9). It runs when their number has doubled since the last time, and
// while nobody holds a pointer to one of them.
func (g *Gate) sweep(now time.Time) {
	if g.size() < g.sweepAt {
		return
	}
	for k, h := range g.hosts {
		if g.fresh(now, h) {
			g.forget(h)
			delete(g.hosts, k)
		}
	}
	for k, p := range g.addrs {
		if p.idle(now) {
			delete(g.addrs, k)
		}
	}
	for k, p := range g.domains {
		if p.idle(now) {
			delete(g.domains, k)
		}
	}
	g.sweepAt = max(g.sweepMin, 2*g.size())
}

func (g *Gate) size() int { return len(g.hosts) + len(g.addrs) + len(g.domains) }

// fresh reports whether h waits for nothing and would wait after its next request no longer than a
// host that nothing is known of.
func (g *Gate) fresh(now time.Time, h *host) bool {
	for p := range h.slots {
		if !p.free(now) {
			return false
		}
	}
	d, _ := g.delay(h, h.local)
	return h.gone == nil && h.failures == 0 && h.backoff == 0 && d <= g.cfg.leastDelay(h.own || h.local) && h.origins[0].fresh(now) && h.origins[1].fresh(now)
}

func (o *origin) fresh(now time.Time) bool {
	return o == nil || o.asking == nil && !o.gone && o.failures() == 0 && o.chase == nil && !(o.known && o.expires.after(now))
}

// forget gives back the rules of a host that is about to be deleted.
func (g *Gate) forget(h *host) {
	for _, o := range h.origins {
		if o != nil {
			g.rulesSize -= o.rules.size()
		}
	}
}

// size estimates the octets a file takes: its body twice (the parser keeps its own), and per octet of
// body up to eight for lines, rules and index.
func (s *ruleset) size() int64 {
	if s == nil {
		return 0
	}
	return 512 + 10*int64(len(s.body))
}

// keep puts rules in the place of o's, and evicts others when there are too many.
func (g *Gate) keep(now time.Time, o *origin, rules *ruleset) {
	g.rulesSize += rules.size() - o.rules.size()
	o.rules, o.known, o.use = rules, true, unused
	if g.rulesSize > g.evictAt {
		g.evict(now)
	}
}

// evict drops rules until they take three quarters of Config.MaxRulesBytes, first those not used
// lately. Their robots.txt is asked for again before the next page, so nothing is allowed for it. What
// stays: every clock, the pause the file asked for, retry state, rules that serve while their file
// cannot be had, and rules that have not decided about any page yet: dropping those would ask for them
// for ever.
func (g *Gate) evict(now time.Time) {
	for _, least := range []use{usedOnce, usedLately} {
		for _, h := range g.hosts {
			for _, o := range h.origins {
				if g.rulesSize <= g.cfg.MaxRulesBytes/4*3 {
					break
				}
				g.evictFrom(now, o, least)
			}
		}
	}
	g.evictAt = max(g.cfg.MaxRulesBytes, g.rulesSize+g.cfg.MaxRulesBytes/4)
}

func (g *Gate) evictFrom(now time.Time, o *origin, least use) {
	switch {
	case o == nil || o.rules == nil || o.failures() > 0:
	case o.use <= least && (o.use != unused || !o.expires.after(now)):
		g.dropRules(o)
	case o.use == usedLately:
		o.use = usedOnce
	}
}

// dropRules forgets the rules of an origin; its pause stays.
func (g *Gate) dropRules(o *origin) {
	g.rulesSize -= o.rules.size()
	o.rules, o.known = nil, false
}
