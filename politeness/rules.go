package politeness

import (
	"time"

	"github.com/amble-crawler/amble/consent"
	"github.com/amble-crawler/amble/robots"
	"github.com/amble-crawler/amble/weburl"
)

// rulebook applies the rules of origins and bounds the memory that they take.
type rulebook struct {
	cfg       *Config
	hosts     hosts
	overrides map[string]*override // keyed by origin; constant
	size      int64                // estimated memory of the robots.txt files in bytes
	evictAt   int64                // size at which rules are packed or evicted
	parsed    []*ruleset           // rulesets in the order of parsing, including some that are no longer kept
	clean     int                  // length of parsed at which rulesets that are no longer kept are removed

	dropped func(key string, h *host) // called for each host whose rules were dropped to free memory
}

func newRulebook(c *Config, all hosts, dropped func(key string, h *host)) rulebook {
	return rulebook{cfg: c, hosts: all, overrides: c.overrides(), evictAt: int64(c.MaxRulesBytes), dropped: dropped}
}

// override returns the replacement for the robots.txt of u's origin at the time now; nil if there is none.
func (b *rulebook) override(now time.Time, u weburl.URL) *override {
	if len(b.overrides) == 0 {
		return nil
	}
	o := b.overrides[u.Origin()]
	if o == nil || !o.Until.IsZero() && !now.Before(o.Until) {
		return nil
	}
	return o
}

// judge applies the rules of o, the origin of u, to u. The error is *[Denied].
func (b *rulebook) judge(now time.Time, o *origin, u weburl.URL, why Purpose) error {
	group := o.group()
	if group == nil {
		return nil
	}
	if v := group.Test(u.PathQuery()); !v.Allowed || b.cfg.usesMatter() {
		if err := b.cfg.judge(group, o.source(now, u), u, why); err != nil {
			o.use = usedLately
			return err
		}
	}
	return nil
}

// judge applies a group's rules to u. Preferences about uses are not applied to the documents that state them.
func (c *Config) judge(group *robots.Group, src robots.Source, u weburl.URL, why Purpose) error {
	if group == nil {
		return nil
	}
	if v := group.Test(u.PathQuery()); !v.Allowed {
		return &Denied{URL: u, Reason: ReasonRobots, Verdict: v, Detail: robots.Explain(v, src)}
	}
	if why == Terms || !c.usesMatter() || len(group.Usage(u.PathQuery())) == 0 {
		return nil
	}
	if v := c.Policy().Judge(consent.Read(consent.Page{URL: u, Robots: group})); v.Refused() {
		return &Denied{URL: u, Reason: ReasonUsage, Detail: "refused: " + v.String()}
	}
	return nil
}

// Policy returns the policy of the crawl on the uses that sites forbid: Purposes and RefuseUsage.
func (c *Config) Policy() consent.Policy {
	return consent.Policy{Purposes: c.Purposes, Uses: c.RefuseUsage}
}

// usesMatter reports whether preferences about uses in robots.txt can forbid pages that its rules allow.
func (c *Config) usesMatter() bool {
	return len(c.RefuseUsage) > 0 || c.Policy().Obeys(consent.Search, consent.AIInput, consent.TrainAI)
}

// learn applies the response to p, a request for the robots.txt of an origin of p.wantedHost.
func (b *rulebook) learn(now time.Time, p *permit, r Reply, a answer) {
	o := p.wantedHost.origin(p.wanted)
	o.fetching = nil
	switch {
	case r.Aborted: // the next request for robots.txt starts again at the first URL
		o.chain = nil
		return
	case r.Challenged: // the next request repeats this URL, which may be a redirect hop
		return
	case a.missing:
		b.unlearn(o)
		return
	}
	var hops []string
	if o.chain != nil && o.chain.next == p.url { // a response to any other URL does not continue the chain
		hops = o.chain.hops
	}
	switch {
	case a.policy == robots.Unreachable:
		o.failed(b.cfg, now, p.asked(), r)
		return
	case a.policy == robots.Redirect && len(hops) < robots.MaxRedirects:
		o.chain = &redirectChain{a.to, append(hops, a.to.String())}
		return
	}
	// No rules if the file is unavailable or has one redirect too many.
	o.fetched, o.expires = at(a.ended), a.expires
	o.status, o.via, o.chain = int16(r.Status), o.chain, nil
	o.outage = nil
	b.keep(now, o, a.rules)
	d, clause := requestedDelay(a.rules.bound())
	p.wantedHost.slowDown(b.cfg, o, d, clause)
}

// unlearn handles a response whose body was not kept: robots.txt counts as never requested. The delay that an earlier
// file requested stays in force.
func (b *rulebook) unlearn(o *origin) {
	b.put(o, nil)
	*o = origin{requestedDelay: o.requestedDelay, requestedBy: o.requestedBy, givenUp: o.givenUp}
}

// keep replaces o's rules, and evicts others if the total is too large.
func (b *rulebook) keep(now time.Time, o *origin, rules *ruleset) {
	b.put(o, rules)
	o.known, o.use = true, unused
	if b.size > b.evictAt {
		b.evict(now)
	}
}

// put replaces o's rules. nil removes them.
func (b *rulebook) put(o *origin, rules *ruleset) {
	b.remove(o.rules)
	if o.rules = rules; rules == nil {
		return
	}
	b.size += rules.size()
	if rules.book = b; rules.rules != nil {
		b.note(rules)
	}
}

// remove subtracts the size of rules, which may be nil.
func (b *rulebook) remove(rules *ruleset) {
	if rules != nil {
		b.size -= rules.size()
		rules.book = nil
	}
}

// drop forgets the rules of an origin; the delay that they request stays in force.
func (b *rulebook) drop(o *origin) {
	b.put(o, nil)
	o.known = false
}

// unrecord forgets the rules of a response that is missing from the ledger, so that no page is requested under them. The
// delay that they request stays in force.
func (b *rulebook) unrecord(o *origin) {
	b.drop(o)
	o.chain = nil
}

// forget subtracts the rules of a host that is about to be deleted.
func (b *rulebook) forget(h *host) {
	for _, o := range h.origins {
		if o != nil {
			b.remove(o.rules)
		}
	}
}
