package politeness

import "time"

// use says what the rules of an origin have decided since they were fetched.
type use uint8

const (
	unused use = iota // have not decided about any page yet
	usedOnce
	usedLately // since the last eviction
)

// evict brings rules down to three quarters of Config.MaxRulesBytes: it packs them, and then drops some, first those that were
// not used lately. Their robots.txt is requested again before the next page, so that nothing is allowed for want of it. What
// stays: every clock, the delay that the file requests, retry state, rules that serve while their file is unavailable, and
// rules that have not decided about any page yet: if those were dropped, they would be requested for ever.
func (b *rulebook) evict(now time.Time) {
	b.pack()
	for _, least := range []use{usedOnce, usedLately} {
		b.each(func(o *origin) bool { return b.evictFrom(now, o, least) })
	}
	b.evictAt = max(b.cfg.MaxRulesBytes, b.size+b.cfg.MaxRulesBytes/4)
}

// bound packs rules when those that were parsed again take too much. Their files were there before, so none has to be dropped.
func (b *rulebook) bound() {
	if b.size-b.evictAt > b.cfg.MaxRulesBytes/4 {
		b.pack()
	}
}

// pack keeps just the text of files, first of those that were not used lately.
func (b *rulebook) pack() {
	b.each(func(o *origin) bool {
		if o.use != usedLately {
			o.rules.pack()
		}
		return false
	})
	b.each(func(o *origin) bool {
		o.rules.pack()
		return false
	})
}

// each calls f with all origins that have rules until those are small enough. f reports whether it dropped them.
func (b *rulebook) each(f func(o *origin) (dropped bool)) {
	for key, h := range b.hosts {
		if b.size <= b.cfg.MaxRulesBytes/4*3 {
			return
		}
		for _, o := range h.origins {
			if o != nil && o.rules != nil && f(o) {
				b.dropped(key, h)
			}
		}
	}
}

// evictFrom drops the rules of o if they were used no more than least, and reports whether it did.
func (b *rulebook) evictFrom(now time.Time, o *origin, least use) bool {
	switch {
	case o.failures() > 0:
	case o.use <= least && (o.use != unused || !o.expires.after(now)):
		b.drop(o)
		return true
	case o.use == usedLately:
		o.use = usedOnce
	}
	return false
}
