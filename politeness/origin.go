package politeness

import (
	"crypto/sha256"
	"time"

	"github.com/amble-crawler/amble/robots"
	"github.com/amble-crawler/amble/weburl"
)

// maxStale is how long a copy serves while the file cannot be had (RFC 9309 section 2.3.1.4).
const maxStale = 30 * 24 * time.Hour

// origin is the state of one origin's robots.txt.
//
//	unknown --answer--> known --expires--> unknown, keeping the old rules
//	unknown --failure--> unreachable until retryAt --> unknown
//	a redirect sets hop and leaves the state unknown
//	failures for longer than Config.RobotsGiveUp --> gone
type origin struct {
	known   bool
	rules   *robots.Rules // nil: no rules, everything allowed
	group   *robots.Group
	source  robots.Source
	expires time.Time

	fetching bool       // a Permit for robots.txt or a hop is out
	hop      weburl.URL // the redirect target to ask next; zero: robots.txt itself
	hops     []string   // the redirects followed so far

	failures int
	failing  time.Time
	retryAt  time.Time
	gone     bool
}

// usable reports whether o's rules may be applied at now: fresh, or stale while the file cannot be
// had and the copy is not too old.
func (o *origin) usable(now time.Time) bool {
	if !o.known {
		return false
	}
	if now.Before(o.expires) {
		return true
	}
	return now.Before(o.retryAt) && now.Sub(o.source.FetchedAt) < maxStale
}

// target is what to ask next for o's rules.
func (o *origin) target(u weburl.URL) weburl.URL {
	if !o.hop.IsZero() {
		return o.hop
	}
	return u.RobotsURL()
}

func (o *origin) fresh(now time.Time) bool {
	return !o.fetching && !o.gone && o.failures == 0 && o.hop.IsZero() && !now.Before(o.expires)
}

func (o *origin) sourceAt(now time.Time) robots.Source {
	s := o.source
	s.Stale = o.known && !now.Before(o.expires)
	return s
}

// answer is a robots.txt answer read, before it is applied.
type answer struct {
	policy robots.Policy
	rules  *robots.Rules
	hash   [sha256.Size]byte
	to     weburl.URL // of a redirect
}

// read judges the reply to a robots request. It does the parsing outside the Gate's lock. The rules
// bind the origin first asked, wherever redirects led.
func (c *Config) read(p *permit, r Reply) answer {
	if r.Err != nil || r.Truncated != "" && r.Truncated != CutByLength {
		return answer{policy: robots.Unreachable}
	}
	a := answer{policy: robots.StatusPolicy{ForbiddenDenies: c.ForbiddenDenies}.ForStatus(r.Status)}
	switch a.policy {
	case robots.DenyAll:
		a.rules = robots.Parse([]byte("User-agent: *\nDisallow: /\n"))
	case robots.Obey:
		a.rules = robots.Parse(r.Body, robots.WithOrigin(p.wanted.Origin()), robots.WithDialect(c.Dialect))
		a.hash = sha256.Sum256(r.Body)
	case robots.Redirect:
		to, err := p.url.Resolve(r.Header.Get("Location"))
		if err != nil || r.Header.Get("Location") == "" {
			return answer{policy: robots.AllowAll} // leads nowhere: unavailable, as 404
		}
		a.to = to
	}
	return a
}

// learnRobots applies a robots answer to the origin of p.wanted.
func (g *Gate) learnRobots(now time.Time, p *permit, r Reply, a answer) {
	h := g.host(p.wanted.Host())
	o := h.origin(p.wanted)
	o.fetching = false
	if r.Aborted { // asked again from the start, as if it had not been
		o.hop, o.hops = weburl.URL{}, nil
		return
	}
	switch {
	case a.policy == robots.Unreachable:
		g.robotsFailed(now, o, r)
		return
	case a.policy == robots.Redirect && len(o.hops) < robots.MaxRedirects:
		o.hops = append(o.hops, a.to.String())
		o.hop = a.to
		return
	default: // no rules when unavailable, or one redirect too many
		o.rules = a.rules
	}
	o.source = robots.Source{
		RobotsURL: p.wanted.RobotsURL().String(), Status: r.Status, FetchedAt: now, Redirects: o.hops, SHA256: a.hash,
	}
	o.known, o.group = true, nil
	o.expires = now.Add(robots.Freshness(r.Header, now))
	o.hop, o.hops = weburl.URL{}, nil
	o.failures, o.failing, o.retryAt = 0, time.Time{}, time.Time{}
	h.wish, h.wishClause = 0, ""
	if o.rules != nil {
		o.group = o.rules.For(g.cfg.Identity.Product)
		g.learnWish(h, o.group)
	}
}

// learnWish takes over the pause that a group asks for.
func (g *Gate) learnWish(h *host, group *robots.Group) {
	if d, ok := group.CrawlDelay(); ok {
		h.wish, h.wishClause = d, ClauseCrawlDelay
	}
	if d, ok := group.RequestRate(); ok && d > h.wish {
		h.wish, h.wishClause = d, ClauseRequestRate
	}
	for i := range h.slots { // robots.txt redirected elsewhere: the last request here is some time ago
		if s := &h.slots[i]; h.wish > 0 && !s.ended.IsZero() {
			s.hold(s.ended.Add(h.wish), h.wish, h.wishClause)
		}
	}
	if h.wish > g.cfg.MaxCrawlDelay {
		h.giveUp(ReasonCrawlDelay, "the host asks for "+h.wish.String()+" between requests, more than this crawl grants ("+g.cfg.MaxCrawlDelay.String()+")")
	}
}

// robotsFailed plans the next attempt at an unreachable robots.txt (P8), or gives it up.
func (g *Gate) robotsFailed(now time.Time, o *origin, r Reply) {
	if o.failures == 0 {
		o.failing = now
	}
	o.failures++
	o.hop, o.hops = weburl.URL{}, nil
	o.retryAt = now.Add(robotsPause(o.failures))
	if ra, ok := retryAfter(r, now); ok && ra.After(o.retryAt) {
		o.retryAt = ra // the host that answered, perhaps another, is held by obeyRetryAfter
	}
	if !o.known && now.Sub(o.failing) >= g.cfg.RobotsGiveUp {
		o.gone = true
	}
}

// robotsPause is the wait before attempt n+1 at an unreachable robots.txt: 1 s, 5 s, 30 s, then
// doubling from 1 min to 1 h.
func robotsPause(n int) time.Duration {
	switch n {
	case 1:
		return time.Second
	case 2:
		return 5 * time.Second
	case 3:
		return 30 * time.Second
	}
	return min(time.Hour, time.Minute<<min(n-4, 10))
}
