package crawltest

import (
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/amble-crawler/amble/weburl"
)

// lane is the requests of one host or address so far, in order of arrival.
type lane struct {
	rs    []*Request
	free  []time.Time // free[i]: when the last of rs[:i+1] asks for nothing any more, but for the delay
	slack []time.Duration
}

// never returns the end of what has none yet.
func never() time.Time { return time.Unix(1<<40, 0) }

func endOf(r *Request) time.Time {
	if r.ended == 0 {
		return never()
	}
	return r.End
}

// add appends r. slack is what it asks for after its end, whatever the next request's delay.
func (l *lane) add(r *Request, slack time.Duration) {
	free := endOf(r).Add(slack)
	if n := len(l.free); n > 0 && l.free[n-1].After(free) {
		free = l.free[n-1]
	}
	l.rs, l.free, l.slack = append(l.rs, r), append(l.free, free), append(l.slack, slack)
}

// conflict is what stands against sending r now.
type conflict struct {
	flying, near   int      // requests in flight when r began; these and those that ended too shortly before
	overlap, close *Request // the last of each
	required       time.Duration
}

// conflicts compares r with all before it. delay is the gap asked for after each, its slack another.
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

// pace holds r to P3 to P6.
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

// together holds r to one clock with the others of its address or domain.
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

// latency returns the gap asked for after a slow answer; one that is not whole may have been broken off by the
// client, and has none. A request that was never answered leaves the gap as it was.
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

// crowded reports a request that came while others were in flight, or too shortly after them. rule
// is P3 for hosts, which P4 and P5 go with, or P6; operator is the delay the operator set, who the host, address
// or domain.
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
		return // said already
	}
	a.report(v)
}

// sameHost reports whether the conflict is with r's own host.
func (c conflict) sameHost(r *Request) bool {
	first := c.overlap
	if first == nil {
		first = c.close
	}
	return first.Host == r.Host
}

// wait is a Retry-After.
type wait struct {
	by    *Request
	until time.Time
}

// retryAfter holds r to P7 and notes what its answer asks for.
func (a *auditor) retryAfter(r *Request) {
	_, crowd, _ := a.e.at(r.Host)
	for _, wt := range a.waits[r.Host] {
		asked := wt.until.Sub(wt.by.End)
		v := Violation{Rule: "P7", Host: r.Host, First: *wt.by, Second: *r, Gap: r.Start.Sub(wt.by.End), Required: asked}
		switch {
		case wt.by.ended == 0 || wt.by.ended > r.began:
			continue // it could not know
		case crowd > 1 && r.Start.Equal(wt.by.End):
			continue // nor at the very instant, beside the other
		case r.Start.Before(wt.until):
			v.Detail = "before Retry-After was over"
		case a.e.MaxRetryAfter > 0 && asked > a.e.MaxRetryAfter:
			v.Detail = "Retry-After is longer than " + a.e.MaxRetryAfter.String() + ", the host should have been given up"
		default:
			continue
		}
		a.report(v)
		break
	}
	if until, ok := retryTime(r); ok {
		a.waits[r.Host] = append(a.waits[r.Host], wait{r, until})
	}
}

// retryTime returns when a 429 or 503 allows the next request (RFC 9110 section 10.2.3).
func retryTime(r *Request) (time.Time, bool) {
	if r.Status != http.StatusTooManyRequests && r.Status != http.StatusServiceUnavailable || r.ended == 0 {
		return time.Time{}, false
	}
	value := strings.TrimSpace(r.Answer.Get("Retry-After"))
	var clock time.Duration
	if r.site != nil {
		clock = r.site.clock // set before the first request
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

// rate holds all requests together to Expect.Rate: of those from i to j, which came in a time t, all but
// one and what was held up before had to be granted in t.
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
