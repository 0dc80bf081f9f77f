package politeness

import "time"

// use says what the rules of an origin have decided since they were fetched.
type use uint8

const (
	unused use = iota // have not decided about any page yet
	usedOnce
	usedLately // since the last eviction
)

// evict drops rules until they take three quarters of Config.MaxRulesBytes, first those that were not used lately. Their
// robots.txt is requested again before the next page, so that nothing is allowed for want of it. What stays: every clock,
// the delay that the file requests, retry state, rules that serve while their file is unavailable, and rules that have not
// decided about any page yet: if those were dropped, they would be requested for ever.
func (b *rulebook) evict(now time.Time) {
	for _, least := range []use{usedOnce, usedLately} {
		for o := range b.hosts.origins {
			if b.size <= b.cfg.MaxRulesBytes/4*3 {
				break
			}
			b.evictFrom(now, o, least)
		}
	}
	b.evicted = true
	b.evictAt = max(b.cfg.MaxRulesBytes, b.size+b.cfg.MaxRulesBytes/4)
}

func (b *rulebook) evictFrom(now time.Time, o *origin, least use) {
	switch {
	case o.rules == nil || o.failures() > 0:
	case o.use <= least && (o.use != unused || !o.expires.after(now)):
		b.drop(o)
	case o.use == usedLately:
		o.use = usedOnce
	}
}
