package politeness

import (
	"errors"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/amble-crawler/amble/politeness/ledger"
	"github.com/amble-crawler/amble/weburl"
)

// obeyRetryAfter holds the host for its full Retry-After, or gives it up if that is too long (P7).
func (h *host) obeyRetryAfter(c *Config, now time.Time, r Reply) {
	t, ok := retryAfter(r, now)
	if !ok || c.Offline {
		return
	}
	h.hold(t, t.Sub(now), ledger.ClauseRetryAfter)
	if t.Sub(now) > c.MaxRetryAfter {
		h.giveUp(ReasonRetryAfter, "the host requests a pause until "+t.UTC().Format(time.RFC3339)+", longer than this crawl waits")
	}
}

// obeyRateLimit holds the host until the quota that RateLimit reports as exhausted is renewed, or gives the host up.
func (h *host) obeyRateLimit(c *Config, now time.Time, r Reply) {
	d, item := usedUp(r.Header)
	if item == "" || c.Offline {
		return
	}
	t := now.Add(d)
	h.hold(t, d, ledger.ClauseRateLimit)
	if d > c.MaxRetryAfter {
		h.giveUp(ReasonRetryAfter, "the host's RateLimit is used up until "+t.UTC().Format(time.RFC3339)+", longer than this crawl waits")
	}
}

// LeavesTarget reports whether a response that ended at a time is a redirect that is not followed, because its Retry-After is
// longer than MaxRetryAfter. A shorter Retry-After holds the target's host (RFC 9110 section 10.2.3).
func (c Config) LeavesTarget(header http.Header, ended time.Time) bool {
	c = c.withDefaults()
	t, ok := retryAfter(Reply{Header: header}, ended)
	return ok && t.Sub(ended) > c.MaxRetryAfter
}

// redirectWait returns the target of a redirect that requests a pause before it is followed, and the end of that pause.
func (c *Config) redirectWait(now time.Time, from weburl.URL, r Reply) (to weburl.URL, until time.Time) {
	if r.Status < 300 || r.Status > 399 || r.Aborted || c.Offline {
		return to, until
	}
	location := r.Header.Get("Location")
	t, ok := retryAfter(r, now)
	if !ok || location == "" || t.Sub(now) > c.MaxRetryAfter {
		return to, until
	}
	to, err := from.Resolve(location)
	if err != nil {
		return weburl.URL{}, until
	}
	return to, t
}

// holdTarget holds the target host of p's redirect if the response requests it, and returns the time at which the hold
// began. Requests to that host after a line with an earlier time would seem too early. The zero Time means that nothing is
// held.
func (g *Gate) holdTarget(p *permit, r Reply) time.Time {
	if r.Status < 300 || r.Status > 399 || r.Header.Get("Retry-After") == "" {
		return time.Time{}
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	now := ledger.Ceil(time.Now())
	if !g.obeyRedirect(now, p, r) {
		return time.Time{}
	}
	return now
}

// obeyRedirect holds the host to which p's response redirects for its Retry-After (P7).
func (g *Gate) obeyRedirect(now time.Time, p *permit, r Reply) bool {
	to, until := g.cfg.redirectWait(now, p.url, r)
	if to.IsZero() {
		return false
	}
	if to.Host() != p.url.Host() { // if the target is on the same host, obeyRetryAfter has already delayed it
		g.host(to).hold(until, until.Sub(now), ledger.ClauseRedirect)
		g.shareHold(to.Host(), until)
		g.touchHost(to, 0)
	}
	return true
}

// retryAfter returns the instant before which a response, with any status, asks for no further request (RFC 9110
// section 10.2.3), and of several the latest.
func retryAfter(r Reply, now time.Time) (latest time.Time, ok bool) {
	for _, v := range r.Header.Values("Retry-After") {
		if t, named := retryTime(strings.TrimSpace(v), r, now); named && (!ok || t.After(latest)) {
			latest, ok = t, true
		}
	}
	return latest, ok
}

// longestRetryAfter returns the Retry-After that retryAfter uses, verbatim; "" if there is none.
func longestRetryAfter(r Reply, now time.Time) (value string) {
	var latest time.Time
	for _, v := range r.Header.Values("Retry-After") {
		if t, named := retryTime(strings.TrimSpace(v), r, now); named && t.After(latest) || value == "" {
			value, latest = v, t
		}
	}
	return value
}

// retryTime reads one value: a number of seconds, however large, or a date.
func retryTime(v string, r Reply, now time.Time) (time.Time, bool) {
	s, err := strconv.ParseUint(v, 10, 64)
	if err == nil || errors.Is(err, strconv.ErrRange) {
		return now.Add(seconds(s)), true
	}
	t, err := http.ParseTime(v)
	if err != nil {
		return time.Time{}, false
	}
	t = t.Add(clockSkew(r, now))
	return t, t.After(now)
}

// clockSkew corrects a date for a server whose clock is behind ours, by its Date header. A server whose clock is ahead is
// not corrected, which only lengthens the wait.
func clockSkew(r Reply, now time.Time) time.Duration {
	d, err := http.ParseTime(r.Header.Get("Date"))
	if err != nil {
		return 0
	}
	return max(0, now.Sub(d))
}

// seconds converts seconds to a Duration without overflow.
func seconds(s uint64) time.Duration {
	const most = 1 << 32 // 136 years
	return time.Duration(min(s, most)) * time.Second
}
