package crawltest

import (
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/amble-crawler/amble/weburl"
)

// lane holds the requests so far to one host, address or domain, in order of arrival.
type lane struct {
	rs    []*Request
	free  []time.Time // free[i] is the end of all pauses that rs[:i+1] require, apart from the delay
	slack []time.Duration
}

// never returns the time that stands for the end of a request in flight.
func never() time.Time { return time.Unix(1<<40, 0) }

func endOf(r *Request) time.Time {
	if r.ended == 0 {
		return never()
	}
	return r.End
}

// add appends r. slack is the pause required after r, whatever the delay is.
func (l *lane) add(r *Request, slack time.Duration) {
	free := endOf(r).Add(slack)
	if n := len(l.free); n > 0 && l.free[n-1].After(free) {
		free = l.free[n-1]
	}
	l.rs, l.free, l.slack = append(l.rs, r), append(l.free, free), append(l.slack, slack)
}

// conflict lists the requests because of which r must not be sent yet.
type conflict struct {
	flying, near   int      // number of requests in flight when r began; near also counts requests that ended too shortly before r
	overlap, close *Request // the last request that overlaps with r; the last request that ended too shortly before r
	required       time.Duration
}

// conflicts compares r with all earlier requests. delay is the gap required after each of them, in addition to the slack.
func (l *lane) conflicts(r *Request, delay time.Duration) conflict {
	var c conflict
	for i := len(l.rs) - 1; i >= 0 && l.free[i].Add(delay).After(r.Start); i-- {
		s, n := l.rs[i], max(delay, l.slack[i])
		switch {
		case s.ended == 0 || s.ended > r.began:
			c.flying++
			c.near++
			if c.overlap == nil {
				c.overlap = s
			}
		case r.Start.Sub(s.End) < n:
			c.near++
			if c.close == nil || r.Start.Sub(s.End) < r.Start.Sub(c.close.End) {
				c.close, c.required = s, n
			}
		}
	}
	return c
}

// pace checks r against P3 to P6.
func (a *auditor) pace(r *Request) {
	if r.Host == "" {
		return
	}
	operator, per, own := a.e.at(r.Host)
	delay := max(operator, a.crawlDelay(r))
	host := laneOf(a.hosts, r.Host)
	c := host.conflicts(r, delay)
	a.crowded(r, c, operator, per, "P3", r.Host)
	host.add(r, a.latency(host, r, per))
	if own {
		return
	}
	if a.e.PerAddress {
		a.together(a.addrs, r.Addr.Addr().String(), r)
	}
	if u, err := weburl.Parse(r.URL); a.e.PerDomain && err == nil {
		a.together(a.domains, u.Domain(), r)
	}
}

// together checks r against the other requests to its address or domain.
func (a *auditor) together(m map[string]*lane, key string, r *Request) {
	l := laneOf(m, key)
	a.crowded(r, l.conflicts(r, a.e.Delay), a.e.Delay, max(a.e.PerHost, 1), "P6", key)
	l.add(r, 0)
}

func laneOf(m map[string]*lane, key string) *lane {
	if m[key] == nil {
		m[key] = &lane{}
	}
	return m[key]
}

// latency returns the gap that P5 requires after a slow answer: none after an incomplete answer, which the client may have aborted. A
// request that was never answered leaves the gap unchanged.
func (a *auditor) latency(l *lane, r *Request, per int) time.Duration {
	switch n := len(l.slack); {
	case a.e.LatencyFactor == 0:
		return 0
	case r.ended != 0 && r.Status == 0 && n > 0 && per == 1:
		return l.slack[n-1]
	case r.ended == 0 || !r.Complete:
		return 0
	}
	d := time.Duration(float64(r.End.Sub(r.Start)) * a.e.LatencyFactor)
	if a.e.MaxLatencyDelay > 0 {
		d = min(d, a.e.MaxLatencyDelay)
	}
	return d
}

// crowded reports a request that came while other requests were in flight, or too shortly after them. rule is P6, or P3 for a host: then a
// gap that is too short is reported as P4 or P5. operator is the operator's delay. who names the host, address or domain.
func (a *auditor) crowded(r *Request, c conflict, operator time.Duration, per int, rule, who string) {
	v := Violation{Rule: rule, Host: who, Second: *r}
	switch {
	case c.flying >= per:
		v.First, v.Gap, v.Required = *c.overlap, -r.Start.Sub(c.overlap.Start), operator
		v.Detail = strconv.Itoa(c.flying+1) + " requests in flight"
	case c.near >= per && c.close != nil:
		v.First, v.Gap, v.Required = *c.close, r.Start.Sub(c.close.End), c.required
		v.Detail = "too shortly after the one before"
		if rule == "P3" {
			v.Rule = "P4"
			if v.Gap >= operator {
				v.Rule = "P5"
			}
		}
	default:
		return
	}
	if rule == "P6" && c.sameHost(r) {
		return // reported by another rule
	}
	a.report(v)
}

// sameHost reports whether r is in conflict with a request to its own host.
func (c conflict) sameHost(r *Request) bool {
	first := c.overlap
	if first == nil {
		first = c.close
	}
	return first.Host == r.Host
}

// wait is the time required by a Retry-After or by a RateLimit that is used up.
type wait struct {
	by    *Request
	until time.Time
	field string
}

// retryAfter checks r against P7. It records the Retry-After of its answer, which also applies to the target host of a redirect, and its
// RateLimit.
func (a *auditor) retryAfter(r *Request) {
	_, crowd, _ := a.e.at(r.Host)
	for _, wt := range a.waits[r.Host] {
		asked := wt.until.Sub(wt.by.End)
		v := Violation{Rule: "P7", Host: r.Host, First: *wt.by, Second: *r, Gap: r.Start.Sub(wt.by.End), Required: asked}
		switch {
		case wt.by.ended == 0 || wt.by.ended > r.began:
			continue // the request began before the crawler received the answer
		case (crowd > 1 || wt.by.Host != r.Host) && r.Start.Equal(wt.by.End):
			continue // the crawler may not have received the answer at this instant
		case r.Start.Before(wt.until):
			v.Detail = "before " + wt.field + " was over"
		case a.e.MaxRetryAfter > 0 && asked > a.e.MaxRetryAfter:
			v.Detail = wt.field + " is longer than " + a.e.MaxRetryAfter.String() + ", the host should have been given up"
		default:
			continue
		}
		a.report(v)
		break
	}
	if until, ok := retryTime(r); ok {
		a.waits[r.Host] = append(a.waits[r.Host], wait{r, until, "Retry-After"})
		if to := redirectsTo(r); to != "" && to != r.Host && (a.e.MaxRetryAfter <= 0 || until.Sub(r.End) <= a.e.MaxRetryAfter) {
			a.waits[to] = append(a.waits[to], wait{r, until, "Retry-After of a redirect"})
		}
	}
	if d := quotaUsedUp(r); d > 0 {
		a.waits[r.Host] = append(a.waits[r.Host], wait{r, r.End.Add(d), "RateLimit"})
	}
}

// redirectsTo returns the host to which an answer redirects, or "" if it is no redirect.
func redirectsTo(r *Request) string {
	location := r.Answer.Get("Location")
	from, err := weburl.Parse(r.URL)
	if err != nil || location == "" || r.Status < 300 || r.Status > 399 {
		return ""
	}
	to, err := from.Resolve(location)
	if err != nil {
		return ""
	}
	return to.Host()
}

// quotaUsedUp returns the longest t of a RateLimit with r=0 (draft-ietf-httpapi-ratelimit-headers-11). It ignores items with a comma or
// semicolon in their names.
func quotaUsedUp(r *Request) (longest time.Duration) {
	if r.ended == 0 {
		return 0
	}
	for _, item := range strings.Split(strings.Join(r.Answer.Values("RateLimit"), ","), ",") {
		used, wait := false, time.Duration(0)
		for _, p := range strings.Split(item, ";")[1:] {
			key, value, _ := strings.Cut(strings.TrimSpace(p), "=")
			n, err := strconv.ParseUint(value, 10, 31)
			used = used || key == "r" && value == "0"
			if key == "t" && err == nil {
				wait = time.Duration(n) * time.Second
			}
		}
		if used {
			longest = max(longest, wait)
		}
	}
	return longest
}

// retryTime returns the time from which an answer permits the next request (RFC 9110 section 10.2.3).
func retryTime(r *Request) (time.Time, bool) {
	if r.ended == 0 {
		return time.Time{}, false
	}
	value := strings.TrimSpace(r.Answer.Get("Retry-After"))
	var clock time.Duration
	if r.site != nil {
		clock = r.site.clock // set before the first request, so it needs no lock
	}
	if n, err := strconv.ParseUint(value, 10, 32); err == nil {
		return r.End.Add(time.Duration(n) * time.Second), true
	}
	if value != "" && strings.Trim(value, "0123456789") == "" {
		return never(), true
	}
	at, err := http.ParseTime(value)
	return at.Add(-clock), err == nil
}

// rate checks all requests together against Expect.Rate: of the requests from i to j, which arrived within t, all but one, and all but
// those delayed before, must have been granted within t.
func (a *auditor) rate() {
	if a.e.Rate == 0 || len(a.log) == 0 {
		return
	}
	start := a.log[0].Start
	least := 0.0
	var from *Request
	for i := range a.log {
		r := &a.log[i]
		ahead := float64(i) - a.e.Rate*r.Start.Sub(start).Seconds()
		if from == nil || ahead < least {
			least, from = ahead, r
		}
		if n := ahead - least; n > a.e.Rate*a.e.RateSlack.Seconds()+1 {
			a.report(Violation{Rule: "rate", Host: r.Host, Detail: "more requests a second than configured", First: *from, Second: *r})
			least, from = ahead, r
		}
	}
}
