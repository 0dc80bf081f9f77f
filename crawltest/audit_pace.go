package crawltest

import (
	"net/http"
	"strconv"
	"strings"
	"time"
)

// lane is the requests of one host or address so far, in order of arrival.
type lane struct {
	rs   []*Request
	free []time.Time // free[i]: when the last of rs[:i+1] asks for nothing any more, but for the delay
}

// never is the end of what has none yet.
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
	l.rs, l.free = append(l.rs, r), append(l.free, free)
}

// conflict is what stands against sending r now.
type conflict struct {
	flying, near   int      // requests in flight when r began; these and those that ended too shortly before
	overlap, close *Request // the last of each
	required       time.Duration
}

// conflicts compares r with all before it; need is the gap asked for after an earlier request.
func (l *lane) conflicts(r *Request, delay time.Duration, need func(*Request) time.Duration) conflict {
	var c conflict
	for i := len(l.rs) - 1; i >= 0 && l.free[i].Add(delay).After(r.Start); i-- {
		s := l.rs[i]
		n := need(s)
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
	c := host.conflicts(r, delay, func(s *Request) time.Duration { return max(delay, a.latency(s)) })
	a.crowded(r, c, operator, per, "P3")
	host.add(r, a.latency(r))
	if !a.e.PerAddress || own {
		return
	}
	addr := laneOf(a.addrs, r.Addr.Addr().String())
	c = addr.conflicts(r, a.e.Delay, func(*Request) time.Duration { return a.e.Delay })
	a.crowded(r, c, a.e.Delay, per, "P6")
	addr.add(r, 0)
}

func laneOf(m map[string]*lane, key string) *lane {
	if m[key] == nil {
		m[key] = &lane{}
	}
	return m[key]
}

// latency is the gap asked for after a slow answer; one that is not whole may have been broken off by the
// client, and has none.
func (a *auditor) latency(r *Request) time.Duration {
	if a.e.LatencyFactor == 0 || r.ended == 0 || !r.Complete {
		return 0
	}
	d := time.Duration(float64(r.End.Sub(r.Start)) * a.e.LatencyFactor)
	if a.e.MaxLatencyDelay > 0 {
		d = min(d, a.e.MaxLatencyDelay)
	}
	return d
}

// crowded reports a request that came while others were in flight, or too shortly after them. rule
// is P3 for hosts, which P4 and P5 go with, or P6; operator is the delay the operator set.
func (a *auditor) crowded(r *Request, c conflict, operator time.Duration, per int, rule string) {
	v := Violation{Rule: rule, Host: r.Host, Second: *r}
	if rule == "P6" {
		v.Host = r.Addr.Addr().String()
	}
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
	for _, wt := range a.waits[r.Host] {
		asked := wt.until.Sub(wt.by.End)
		v := Violation{Rule: "P7", Host: r.Host, First: *wt.by, Second: *r, Gap: r.Start.Sub(wt.by.End), Required: asked}
		switch {
		case wt.by.ended == 0 || wt.by.ended > r.began:
			continue // it could not know
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

// retryTime is when a 429 or 503 allows the next request (RFC 9110 section 10.2.3).
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

// connects holds attempts to connect that came to nothing to P4, where their host is known.
func (a *auditor) connects(dials []Dial) {
	failed := make(map[string]Dial)
	for _, d := range dials {
		host := a.soleHost(d)
		if host == "" {
			continue
		}
		delay, per, _ := a.e.at(host)
		if before, ok := failed[host]; ok && per == 1 && d.Start.Sub(before.End) < delay {
			a.report(Violation{
				Rule: "P4", Host: host, Gap: d.Start.Sub(before.End), Required: delay,
				Detail: "connected again too shortly after an attempt that came to nothing",
			})
		}
		delete(failed, host)
		if d.Requests == 0 && !d.End.IsZero() {
			failed[host] = d
		}
	}
}

// soleHost is the host that an attempt to connect was for, "" when there are several at the
// address and port, or none.
func (a *auditor) soleHost(d Dial) string {
	a.web.mu.Lock()
	defer a.web.mu.Unlock()
	host := ""
	for _, s := range a.web.sites {
		if s.port != d.Addr.Port() || !s.name.has(d.Addr.Addr()) {
			continue
		}
		if host != "" {
			return ""
		}
		host = s.key
	}
	return host
}
