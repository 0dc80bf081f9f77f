package politeness

import (
	"strconv"
	"time"

	"github.com/amble-crawler/amble/politeness/ledger"
	"github.com/amble-crawler/amble/robots"
	"github.com/amble-crawler/amble/weburl"
)

// maxStale limits the time for which a copy is used while the file is unavailable (RFC 9309 section 2.3.1.4).
const maxStale = 30 * 24 * time.Hour

// origin is the state of one origin's robots.txt.
//
//	unknown --answer--> known --expires--> unknown, keeping the old rules
//	unknown --failure--> unreachable until retryAt --> unknown
//	a redirect sets chain and leaves the state unknown
//	failures for longer than Config.RobotsGiveUp --> given up
type origin struct {
	rules   *ruleset // nil: no rules, everything allowed
	fetched instant
	expires instant

	requestedDelay time.Duration // Crawl-delay or Request-rate, whichever is larger

	fetching *permit        // outstanding Permit for robots.txt or a redirect hop
	chain    *redirectChain // redirects being followed; nil: robots.txt itself is requested next

	via *redirectChain // redirects that led to the answer in force; nil: none

	outage      *outage // nil: the last attempt did not fail
	status      int16   // status of the answer in force
	known       bool
	givenUp     bool
	use         use
	requestedBy ledger.ClauseID // the clause of requestedDelay
}

// redirectChain is a chain of redirects of a robots.txt.
type redirectChain struct {
	next weburl.URL // URL to be requested next
	hops []string   // redirects followed so far
}

// outage is a series of failures to fetch a robots.txt.
type outage struct {
	since    instant // when the outage began, with waits for the host's turn subtracted
	retryAt  instant
	attempts int
}

// retryAt returns when a robots.txt that failed may be requested again.
func (o *origin) retryAt() instant {
	if o.outage == nil {
		return 0
	}
	return o.outage.retryAt
}

// failures returns the number of consecutive failed attempts.
func (o *origin) failures() int {
	if o.outage == nil {
		return 0
	}
	return o.outage.attempts
}

// group returns the group of the rules in force, nil without rules.
func (o *origin) group() *robots.Group { return o.rules.bound() }

// usable reports whether o's rules may be applied at the time now: they are fresh, or they are stale, the file is unavailable and the
// copy is not too old. Rules that were fetched after now are of unknown age: the clock has been set back.
func (o *origin) usable(now time.Time) bool {
	return o.known && !o.fetched.after(now.Add(unsteady)) && o.validUntil(now).after(now)
}

// validUntil returns when the rules in force at the time now expire.
func (o *origin) validUntil(now time.Time) instant {
	if o.expires.after(now) {
		return o.expires
	}
	return min(o.retryAt(), o.fetched.add(maxStale))
}

// next returns the URL to request next for the rules of o, the origin of u.
func (o *origin) next(u weburl.URL) weburl.URL {
	if o.chain != nil {
		return o.chain.next
	}
	return u.RobotsURL()
}

// redirects returns the redirects that led to the answer in force.
func (o *origin) redirects() []string {
	if o.via == nil {
		return nil
	}
	return o.via.hops
}

// source returns where the rules of u's origin came from.
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

// failed schedules the next attempt at a robots.txt that could not be fetched (P8), or gives the origin up. The attempt was
// made at tried. If that was after it was due, because the host had to wait for its turn at an address with many hosts, the
// delay does not count as part of the outage.
func (o *origin) failed(c *Config, now, tried time.Time, r Reply) {
	if o.outage == nil {
		o.outage = &outage{since: at(now)}
	}
	out := o.outage
	if late := out.retryAt.since(tried); out.retryAt != 0 && late > 0 {
		out.since = out.since.add(late)
	}
	out.attempts++
	o.chain = nil
	out.retryAt = at(now.Add(robotsPause(out.attempts)))
	if ra, ok := retryAfter(r, now); ok {
		out.retryAt = max(out.retryAt, at(ra)) // obeyRetryAfter delays the host that sent the response: perhaps a redirect target
	}
	o.tried(c, now)
}

// tried gives the origin up if its robots.txt has been failing for too long.
func (o *origin) tried(c *Config, now time.Time) {
	if (!o.known || o.fetched.since(now) >= maxStale) && o.outage.since.since(now) >= c.RobotsGiveUp {
		o.givenUp = true
	}
}

// robotsPause returns the pause between attempts n and n+1 at an unreachable robots.txt: 1 s, 5 s, 30 s, then doubling from 1
// min to 1 h.
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

// fresh reports whether o equals a new origin, apart from rules that have expired.
func (o *origin) fresh(now time.Time) bool {
	return o == nil || o.fetching == nil && !o.givenUp && o.failures() == 0 && o.chain == nil && !(o.known && o.expires.after(now))
}

// Codes of the lints of [OriginInfo.Lints] about a redirected robots.txt, in addition to those of package robots.
const (
	lintRedirectNowhere robots.LintCode = "redirect_nowhere" // a redirect without a usable Location
	lintRedirectLimit   robots.LintCode = "redirect_limit"   // more redirects than RFC 9309 requires to be followed
)

// Lints returns lints for the response to a request for robots.txt as a whole: statuses with an unexpected meaning, redirects
// without a usable target, a body that is not a robots.txt. Lints for individual lines are in [robots.Rules.Lints]. The
// result is nil if there are none or nothing is known.
func (i OriginInfo) Lints() (out []robots.Lint) {
	if !i.Known || i.Override != "" {
		return nil
	}
	switch status := i.Source.Status; {
	case status >= 300 && status < 400 && len(i.Source.Redirects) >= robots.MaxRedirects:
		out = append(out, robots.Lint{
			Code: lintRedirectLimit, Severity: robots.Warning,
			Text: "robots.txt redirects more than " + strconv.Itoa(robots.MaxRedirects) + " times: it is taken to have no rules",
		})
	case status >= 300 && status < 400:
		out = append(out, robots.Lint{
			Code: lintRedirectNowhere, Severity: robots.Warning,
			Text: "robots.txt redirects with status " + strconv.Itoa(status) + " to nowhere: it is taken to have no rules",
		})
	default:
		if l, ok := i.Statuses.Lint(status); ok {
			return append(out, l)
		}
	}
	if i.Rules == nil {
		return out
	}
	for _, l := range i.Rules.Lints() {
		if l.Line == 0 {
			out = append(out, l)
		}
	}
	return out
}
