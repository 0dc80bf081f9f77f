package politeness

import (
	"slices"
	"time"
)

// use records how the rules of an origin have been used since they were fetched.
type use uint8

const (
	unused use = iota // the rules have not decided about any page yet
	usedOnce
	usedLately // the rules were used since the last eviction
)

// evict brings rules down to three quarters of Config.MaxRulesBytes: it packs them, and if that is not enough drops some, first
// those that were not used lately. Their robots.txt is requested again before the next page, so a missing file never allows
// anything. It keeps every clock, the delay that the file requests, retry state, rules that are used while their file is
// unavailable, and rules that have not decided about any page yet: if those were dropped, they would be requested for ever.
func (b *rulebook) evict(now time.Time) {
	if b.pack(); b.size <= b.evictAt {
		return
	}
	for _, least := range []use{usedOnce, usedLately} {
		for key, h := range b.hosts {
			if b.size <= b.enough() {
				break
			}
			b.evictFrom(now, key, h, least)
		}
	}
	b.evictAt = max(int64(b.cfg.MaxRulesBytes), b.size+int64(b.cfg.MaxRulesBytes)/4)
}

// enough returns the target size when making room.
func (b *rulebook) enough() int64 { return int64(b.cfg.MaxRulesBytes) / 4 * 3 }

// bound packs rules when too many have been parsed again. It drops none, because their files were already counted.
func (b *rulebook) bound() {
	if b.size-b.evictAt > int64(b.cfg.MaxRulesBytes)/4 {
		b.pack()
	}
}

// pack packs files, starting with those parsed longest ago, until their total size is at most enough.
func (b *rulebook) pack() {
	n := 0
	for n < len(b.parsed) && b.size > b.enough() {
		if s := b.parsed[n]; s.book == b {
			s.pack()
		}
		n++
	}
	b.parsed = slices.Delete(b.parsed, 0, n)
}

// note records that rules are parsed. From time to time it removes entries that are no longer kept.
func (b *rulebook) note(s *ruleset) {
	if len(b.parsed) >= b.clean {
		b.parsed = slices.DeleteFunc(b.parsed, func(s *ruleset) bool { return s.book != b })
		b.clean = 2*len(b.parsed) + 1024
	}
	b.parsed = append(b.parsed, s)
}

// evictFrom drops the rules of those of a host's origins whose use is at most the value least.
func (b *rulebook) evictFrom(now time.Time, key string, h *host, least use) {
	for _, o := range h.origins {
		switch {
		case o == nil || o.rules == nil || o.failures() > 0:
		case o.use <= least && (o.use != unused || !o.expires.after(now)):
			b.drop(o)
			b.dropped(key, h)
		case o.use == usedLately:
			o.use = usedOnce
		}
	}
}

// sweepMin is the minimum number of clocks at which idle clocks are removed.
const sweepMin = 1 << 17

// idle schedules the removal of hosts and clocks that may be forgotten.
type idle struct {
	at  int // number of clocks at which the next removal of idle clocks runs
	min int // the minimum of the field at
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
