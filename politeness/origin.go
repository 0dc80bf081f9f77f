package politeness

import (
	"crypto/sha256"
	"time"

	"github.com/amble-crawler/amble/politeness/ledger"
	"github.com/amble-crawler/amble/robots"
	"github.com/amble-crawler/amble/weburl"
)

// maxStale is how long a copy serves while the file cannot be had (RFC 9309 section 2.3.1.4).
const maxStale = 30 * 24 * time.Hour

// origin is the state of one origin's robots.txt.
//
//	unknown --answer--> known --expires--> unknown, keeping the old rules
//	unknown --failure--> unreachable until retryAt --> unknown
//	a redirect sets chase and leaves the state unknown
//	failures for longer than Config.RobotsGiveUp --> gone
type origin struct {
	rules   *ruleset // nil: no rules, everything allowed
	fetched instant
	expires instant

	requestedDelay time.Duration // Crawl-delay or Request-rate, the larger

	asking *permit // the Permit for robots.txt or a hop that is out
	chase  *chase  // nil: ask for robots.txt itself

	via *chase // of the answer in force; nil: it was not redirected

	outage      *outage // nil: the last attempt did not fail
	status      int16   // of the answer in force
	known       bool
	gone        bool
	use         use
	requestedBy ledger.ClauseID // the clause of requestedDelay
}

// outage is failures to have a robots.txt, one after another.
type outage struct {
	since    instant
	retryAt  instant
	attempts int
}

// retryAt is when a robots.txt that failed may be asked for again.
func (o *origin) retryAt() instant {
	if o.outage == nil {
		return 0
	}
	return o.outage.retryAt
}

// failures is how many attempts in a row have failed.
func (o *origin) failures() int {
	if o.outage == nil {
		return 0
	}
	return o.outage.attempts
}

// ruleset is one robots.txt as it is kept.
type ruleset struct {
	rules *robots.Rules
	group *robots.Group
	body  string // for a snapshot; "" where made up
	hash  [sha256.Size]byte
}

// chase is a chain of redirects that is being followed.
type chase struct {
	hop  weburl.URL // to ask next
	hops []string   // followed so far
}

// use is what rules have been good for since they came.
type use uint8

const (
	unused use = iota // decided about no page yet
	usedOnce
	usedLately // since the last eviction
)

// bound is the group that binds us, nil without rules.
func (s *ruleset) bound() *robots.Group {
	if s == nil {
		return nil
	}
	return s.group
}

// group is the group of the rules in force, nil without rules.
func (o *origin) group() *robots.Group { return o.rules.bound() }

// usable reports whether o's rules may be applied at now: fresh, or stale while the file cannot be
// had and the copy is not too old. Rules that were fetched after now are of unknown age: the clock has been set back.
func (o *origin) usable(now time.Time) bool {
	return o.known && !o.fetched.after(now.Add(unsteady)) && o.validUntil(now).after(now)
}

// validUntil is when the rules end that are in force at now.
func (o *origin) validUntil(now time.Time) instant {
	if o.expires.after(now) {
		return o.expires
	}
	return min(o.retryAt(), o.fetched.add(maxStale))
}

// next is what to ask next for o's rules.
func (o *origin) next(u weburl.URL) weburl.URL {
	if o.chase != nil {
		return o.chase.hop
	}
	return u.RobotsURL()
}

// redirects are those that led to the answer in force.
func (o *origin) redirects() []string {
	if o.via == nil {
		return nil
	}
	return o.via.hops
}

// source is where the rules of u's origin came from.
func (o *origin) source(now time.Time, u weburl.URL) robots.Source {
	if o.fetched == 0 {
		return robots.Source{}
	}
	s := robots.Source{
		RobotsURL: u.RobotsURL().String(), Status: int(o.status), FetchedAt: o.fetched.time(), Redirects: o.redirects(),
		Stale: o.known && !o.expires.after(now),
	}
	if o.rules != nil {
		s.SHA256 = o.rules.hash
	}
	return s
}

// answer is a robots.txt answer read, before it is applied.
type answer struct {
	policy robots.Policy
	rules  *ruleset
	hash   [sha256.Size]byte
	to     weburl.URL // of a redirect

	ended   time.Time // as far as we know
	expires instant   // when it has to be asked for again, if it decides anything
	missing bool      // of a replay: its body is not there
}

// read judges the reply to a robots request. It does the parsing outside the Gate's lock. The rules
// bind the origin first asked, wherever redirects led.
func (c *Config) read(now time.Time, p *permit, r Reply) answer {
	a := c.judge(p, r)
	a.ended = now
	if !r.Ended.IsZero() && r.Ended.Before(now) {
		a.ended = r.Ended
	}
	a.expires = at(a.ended).add(robots.Freshness(r.Header, a.ended))
	return a
}

func (c *Config) judge(p *permit, r Reply) answer {
	if r.Err != nil || r.Truncated != "" && r.Truncated != CutByLength {
		return answer{policy: robots.Unreachable}
	}
	a := answer{policy: robots.StatusPolicy{ForbiddenDenies: c.ForbiddenDenies}.ForStatus(r.Status)}
	switch a.policy {
	case robots.DenyAll:
		a.rules = c.denyAll()
	case robots.Obey:
		a.hash = sha256.Sum256(r.Body)
		a.rules = c.ruleset(p.wanted.Origin(), string(r.Body[:min(len(r.Body), robots.MaxSize+1)]))
		a.rules.hash = a.hash
	case robots.Redirect:
		to, err := p.url.Resolve(r.Header.Get("Location"))
		if err != nil || r.Header.Get("Location") == "" {
			return answer{policy: robots.AllowAll} // leads nowhere: unavailable, as 404
		}
		a.to = to
	}
	return a
}

func (c *Config) ruleset(origin, body string) *ruleset {
	s := &ruleset{rules: robots.Parse([]byte(body), robots.WithOrigin(origin), robots.WithDialect(c.Dialect)), body: body}
	s.group = s.rules.For(c.Identity.Product)
	return s
}

// denyAll is what 401 and 403 mean by Config.ForbiddenDenies.
func (c *Config) denyAll() *ruleset {
	s := c.ruleset("", "User-agent: *\nDisallow: /\n")
	s.body = ""
	return s
}

// learnRobots applies a robots answer to the origin of p.wanted.
func (g *Gate) learnRobots(now time.Time, p *permit, r Reply, a answer) {
	h := p.wantedHost
	o := h.origin(p.wanted)
	o.asking = nil
	switch {
	case r.Aborted: // asked again from the start, as if it had not been
		o.chase = nil
		return
	case a.missing:
		g.unlearn(o)
		return
	}
	var hops []string
	if o.chase != nil && o.chase.hop == p.url { // else begun anew: no line tells of a Permit that was taken back
		hops = o.chase.hops
	}
	switch {
	case a.policy == robots.Unreachable:
		g.robotsFailed(now, o, r)
		return
	case a.policy == robots.Redirect && len(hops) < robots.MaxRedirects:
		o.chase = &chase{a.to, append(hops, a.to.String())}
		return
	}
	// No rules when unavailable, or one redirect too many.
	o.fetched, o.expires = at(a.ended), a.expires
	o.status, o.via, o.chase = int16(r.Status), o.chase, nil
	o.outage = nil
	g.keep(now, o, a.rules)
	d, clause := requestedDelay(a.rules.bound())
	g.learnRequestedDelay(h, o, d, clause)
}

// unlearn takes an answer whose body is not there for none: robots.txt counts as never asked for. The pause
// that an earlier one asked for stays.
func (g *Gate) unlearn(o *origin) {
	g.rulesSize -= o.rules.size()
	*o = origin{requestedDelay: o.requestedDelay, requestedBy: o.requestedBy, gone: o.gone}
}

// learnRequestedDelay takes over the delay that o requests. Robots.txt may have been redirected elsewhere: the
// last request to the host itself is some time ago.
func (g *Gate) learnRequestedDelay(h *host, o *origin, d time.Duration, clause string) {
	o.requestedDelay, o.requestedBy = d, ledger.ClauseIDOf(clause)
	for p := range h.slots {
		if d > 0 && p.ended != 0 {
			p.hold(p.ended.time().Add(d), d, clause)
		}
	}
	if d > g.cfg.MaxCrawlDelay {
		h.giveUp(ReasonCrawlDelay, "the host asks for "+d.String()+" between requests, more than this crawl grants ("+g.cfg.MaxCrawlDelay.String()+")")
	}
}

// robotsFailed plans the next attempt at an unreachable robots.txt (P8), or gives it up.
func (g *Gate) robotsFailed(now time.Time, o *origin, r Reply) {
	if o.outage == nil {
		o.outage = &outage{since: at(now)}
	}
	out := o.outage
	out.attempts++
	o.chase = nil
	out.retryAt = at(now.Add(robotsPause(out.attempts)))
	if ra, ok := retryAfter(r, now); ok {
		out.retryAt = max(out.retryAt, at(ra)) // the host that answered, perhaps another, is held by obeyRetryAfter
	}
	if (!o.known || o.fetched.since(now) >= maxStale) && out.since.since(now) >= g.cfg.RobotsGiveUp {
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
