package crawltest

import (
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/amble-crawler/amble/weburl"
)

const (
	robotsPath   = "/robots.txt"
	robotsHops   = 5         // RFC 9309 section 2.3.1.2
	robotsEnough = 500 << 10 // RFC 9309 section 2.5: a crawler may stop reading at this size
	robotsMaxAge = 24 * time.Hour
	robotsGood   = 30 * 24 * time.Hour // RFC 9309 section 2.3.1.4
	admitSlack   = time.Minute         // maximum time between the decision about a page and the first byte of its request
)

// look is one attempt to fetch an origin's robots.txt.
type look struct {
	first *Request // the request for /robots.txt
	last  *Request // the request for the last target of redirects; nil until the redirects have been followed to the end
	good  bool     // the answer determines the rules; otherwise the file was unreachable
}

// findLooks reads the log once and determines what the crawler learned about robots.txt.
func (a *auditor) findLooks() {
	a.looks, a.hops = make(map[string][]look), make(map[int]bool)
	for i := range a.log {
		r := &a.log[i]
		if origin, ok := strings.CutSuffix(r.URL, robotsPath); ok && strings.Count(origin, "/") == 2 {
			a.looks[origin] = append(a.looks[origin], a.follow(r))
		}
	}
}

// follow follows the redirects of a robots.txt.
func (a *auditor) follow(first *Request) look {
	at := first
	for range robotsHops {
		to, ok := redirectTarget(at)
		if !ok {
			return look{first: first, last: at, good: decides(at)}
		}
		next := a.hop(to, at)
		if next == nil {
			return look{first: first}
		}
		if next.ID > at.ID { // not a response from a cache, which was requested earlier for another reason
			a.hops[next.ID] = true
			next = a.again(next)
		}
		at = next
	}
	_, more := redirectTarget(at)
	return look{first: first, last: at, good: more || decides(at)}
}

// hop returns the request that followed a redirect: the first request for its target after the redirect or, if that answer came from a
// cache, the last one before.
func (a *auditor) hop(to string, from *Request) *Request {
	same := func(r Request) bool { return r.URL == to }
	if i := slices.IndexFunc(a.log[from.ID:], same); i >= 0 {
		return &a.log[from.ID+i]
	}
	for i := from.ID - 2; i >= 0; i-- {
		if same(a.log[i]) {
			return &a.log[i]
		}
	}
	return nil
}

// again returns the repetition of a hop that was not answered conclusively because the crawler's process was killed. The next process
// continues with the redirects that the first one had recorded. Requests in between got no response.
func (a *auditor) again(hop *Request) *Request {
	if !a.e.AllowRepeats {
		return hop
	}
	at := hop
	for i := range a.log[hop.ID:] {
		r := &a.log[hop.ID+i]
		if r.URL != hop.URL {
			continue
		}
		a.hops[r.ID] = true
		if _, more := redirectTarget(at); !more && !decides(at) {
			at = r
		}
	}
	return at
}

// redirectTarget returns the target of a redirect, and whether the answer is one.
func redirectTarget(r *Request) (string, bool) {
	switch r.Status {
	case http.StatusMovedPermanently, http.StatusFound, http.StatusSeeOther,
		http.StatusTemporaryRedirect, http.StatusPermanentRedirect:
	default:
		return "", false
	}
	base, err := weburl.Parse(r.URL)
	if err != nil {
		return "", false
	}
	location := r.Answer.Get("Location")
	to, err := base.Resolve(location)
	if location == "" || err != nil {
		return "", false
	}
	return to.String(), true
}

// decides reports whether a response to a request for robots.txt determines the rules. The body of a 2xx must have arrived, or the part
// of it that a crawler must read. 202 means that the request was not acted upon, as bot walls use it.
func decides(r *Request) bool {
	switch {
	case r.Status >= 500, r.Status == http.StatusTooManyRequests, r.Status == http.StatusAccepted, r.Status < 200, challenged(r):
		return false
	case r.Status < 300:
		return r.Complete || r.Bytes >= robotsEnough
	}
	return true
}

// known returns the crawler's knowledge of robots.txt when it sent r: the last complete look, and the last good one.
func (a *auditor) known(r *Request) (last, good *look) {
	looks := a.looks[originOfURL(r.URL)]
	for i := len(looks) - 1; i >= 0 && good == nil; i-- {
		l := &looks[i]
		if l.last == nil || l.last.ended == 0 || l.last.ended > r.began || l.first.began >= r.began {
			continue
		}
		if last == nil {
			last = l
		}
		if l.good {
			good = l
		}
	}
	return last, good
}

func originOfURL(u string) string {
	i := strings.Index(u, "://")
	if i < 0 {
		return ""
	}
	if j := strings.IndexAny(u[i+3:], "/?"); j >= 0 {
		return u[:i+3+j]
	}
	return u
}

func pathOfURL(u string) string { return strings.TrimPrefix(u, originOfURL(u)) }

// isRobots reports whether r is a request for a robots.txt or for a target of its redirects.
func (a *auditor) isRobots(r *Request) bool {
	return pathOfURL(r.URL) == robotsPath || a.hops[r.ID]
}

// robots checks r against P1, P2 and P8.
func (a *auditor) robots(r *Request) {
	if r.URL == "" || a.isRobots(r) {
		if a.hops[r.ID] {
			a.reluctant(r)
		}
		return
	}
	if a.overridden(r) {
		return
	}
	last, good := a.known(r)
	a.forbidden(r, good)
	a.reluctant(r)
	looks := a.looks[originOfURL(r.URL)]
	bad := Violation{Host: r.Host, Second: *r, Rule: "P1"}
	switch {
	case len(looks) == 0 || looks[0].first.began > r.began:
		bad.Detail = "page before robots.txt"
	case last == nil:
		bad.Detail, bad.First = "page before robots.txt was answered", *looks[0].first
	case good == nil:
		bad.Rule, bad.Detail, bad.First = "P8", "page while robots.txt is unreachable", *last.last
	case last != good && r.Start.Sub(good.last.End) > robotsGood:
		bad.Rule, bad.Detail, bad.First = "P8", "page while robots.txt is unreachable for more than 30 days", *last.last
	case r.Start.Sub(last.last.End) > a.lifetime(last):
		bad.Detail, bad.First = "robots.txt was last looked at "+r.Start.Sub(last.last.End).String()+" ago", *last.last
	default:
		return
	}
	a.report(bad)
}

// lifetime returns the time for which pages may be requested after a look at robots.txt.
func (a *auditor) lifetime(l *look) time.Duration {
	const least = time.Minute
	most := robotsMaxAge
	if a.e.MaxRobotsAge > 0 {
		most = a.e.MaxRobotsAge
	}
	if !a.e.RobotsFreshness {
		return most + admitSlack
	}
	if age, ok := maxAge(l.last.Answer.Get("Cache-Control")); ok && l.good {
		most = min(most, max(age, least))
	}
	return most
}

// maxAge returns the max-age of a Cache-Control field (RFC 9111 section 5.2.2.1); no-store and no-cache are 0.
func maxAge(value string) (time.Duration, bool) {
	if value == "no-store" || value == "no-cache" {
		return 0, true
	}
	s, ok := strings.CutPrefix(value, "max-age=")
	n, err := strconv.Atoi(s)
	return time.Duration(n) * time.Second, ok && err == nil
}

// robotsRetries checks the looks at a failing robots.txt against the pauses of Expect.RobotsRetry. An incomplete answer is ignored,
// because the crawler itself may have aborted it.
func (a *auditor) robotsRetries() {
	for _, looks := range a.looks {
		var o outage
		for i := range looks {
			l := &looks[i]
			o.before(a, l)
			o.after(l)
		}
	}
}

// outage is a series of consecutive failed looks at one robots.txt.
type outage struct {
	first, last *look // nil if the last attempt to fetch robots.txt did not fail
	n           int
	late        time.Duration // sum of the delays of attempts beyond what Expect.RobotsRetry allows
	had         *look         // the last successful attempt
	flying      *look         // the previous attempt
}

// before checks a look against the results of the earlier looks.
func (o *outage) before(a *auditor, l *look) {
	if f := o.flying; f != nil && (f.first.ended == 0 || f.first.ended > l.first.began) {
		a.report(Violation{Rule: "P8", Host: l.first.Host, Detail: "robots.txt requested while another request for it is in flight", First: *f.first, Second: *l.first})
	}
	o.flying = l
	if o.n == 0 {
		return
	}
	long := o.last.last.End.Sub(o.first.last.End) - o.late
	if pauses := a.e.RobotsRetry; len(pauses) > 0 {
		pause := pauses[min(o.n, len(pauses))-1]
		a.robotsRetry(l.first, o.last.last, pause)
		due := o.last.last.End.Add(pause)
		if until, ok := retryTime(o.last.last); ok && until.After(due) {
			due = until
		}
		o.late += max(0, l.first.Start.Sub(due))
	}
	if o.had != nil && l.first.Start.Sub(o.had.last.End) < robotsGood+a.e.Late {
		return
	}
	if a.e.RobotsGiveUp > 0 && long >= a.e.RobotsGiveUp+a.e.Late {
		a.report(Violation{
			Rule: "P8", Host: l.first.Host, Detail: "robots.txt failed for " + long.String() + " and should have been given up",
			First: *o.last.last, Second: *l.first,
		})
	}
}

// after records the result of a look.
func (o *outage) after(l *look) {
	switch {
	case l.last != nil && l.good:
		*o = outage{had: l, flying: l}
	case l.last != nil && l.last.Status != 0 && l.last.Complete && l.last.ended != 0:
		if o.n == 0 {
			o.first = l
		}
		o.last = l
		o.n++
	}
}

func (a *auditor) robotsRetry(r, before *Request, pause time.Duration) {
	if gap := r.Start.Sub(before.End); gap < pause {
		a.report(Violation{
			Rule: "P8", Host: r.Host, Detail: "robots.txt requested again too shortly after a failure",
			First: *before, Second: *r, Gap: gap, Required: pause,
		})
	}
}

// forbidden checks r against P2, by the version of robots.txt that the crawler received or, if it received none, by the one it would have
// received.
func (a *auditor) forbidden(r *Request, good *look) {
	if r.site == nil {
		return
	}
	a.web.mu.Lock()
	rules := r.site.robots(r.Start.Sub(a.web.start))
	if good != nil {
		rules = good.first.served
	}
	no := r.site.forbids(pathOfURL(r.URL), rules)
	a.web.mu.Unlock()
	if no {
		a.report(Violation{Rule: "P2", Host: r.Host, Detail: "forbidden by robots.txt", Second: *r})
	}
}

// reluctant reports r if it requests a page of a host whose delay is longer than the crawler accepts.
func (a *auditor) reluctant(r *Request) {
	if d := a.crawlDelay(r); a.e.MaxCrawlDelay > 0 && d > a.e.MaxCrawlDelay {
		a.report(Violation{Rule: "P5", Host: r.Host, Second: *r, Detail: "the host requires " + d.String() + " between requests and should have been given up"})
	}
}

// overridden reports whether r need not follow the robots.txt of its origin.
func (a *auditor) overridden(r *Request) bool {
	until, ok := a.e.Overrides[originOfURL(r.URL)]
	return ok && !r.Start.After(until)
}

// crawlDelay returns the delay in the robots.txt that the crawler knew when it sent r.
func (a *auditor) crawlDelay(r *Request) time.Duration {
	_, good := a.known(r)
	if good == nil || r.site == nil || a.overridden(r) {
		return 0
	}
	a.web.mu.Lock()
	defer a.web.mu.Unlock()
	return r.site.crawlDelay(a.e.Agent, good.first.served)
}
