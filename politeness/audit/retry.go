package audit

import (
	"net/http"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
)

// waits holds two of the requests to a host so far: the one whose Retry-After ends last, and the one with the longest Retry-After.
type waits struct {
	last, longest *request
	until         time.Time     // end of the pause that the response to last requests
	requested     time.Duration // length of the pause that the response to longest requests
}

// note records the pauses that a response requests.
func (w *waits) note(r *request) {
	if until, requested, ok := pauseRequested(r); ok {
		w.add(r, until, requested)
	}
	if requested := quotaRequested(r); requested > 0 {
		w.add(r, r.end.Ended.Add(requested), requested)
	}
}

func (w *waits) add(r *request, until time.Time, requested time.Duration) {
	if w.last == nil || until.After(w.until) {
		w.last, w.until = r, until
	}
	if w.longest == nil || requested > w.requested {
		w.longest, w.requested = r, requested
	}
}

// retryAfter checks r against every Retry-After that the host sent before (P7). At an own host, a response comes too
// late for requests that are in flight, or that begin before the crawler has received it.
func (a *auditor) retryAfter(w *waits, r *request, own int) {
	said := func(by *request) bool {
		if by == nil {
			return false
		}
		return r.start.Written.After(by.heard()) || own <= 1 && !r.start.Written.Before(by.end.Ended)
	}
	if said(w.last) && r.start.Written.Before(w.until.Add(-Tolerance)) {
		if unknowable(r, w.last) {
			a.rep.Unknown++
			return
		}
		a.missed(w.until.Add(-Tolerance).Sub(r.start.Written), "P7", r, w.last, "the host requested a pause until %s", stamp(w.until))
	}
	const rounding = time.Second // dates have this resolution
	if most := secs(a.config.MaxRetryAfter); most > 0 && said(w.longest) && w.requested > most+rounding {
		if unknowable(r, w.longest) {
			a.rep.Unknown++
			return
		}
		a.violation("P7", r, w.longest, "the host requested a pause of %v, longer than the maximum of %v: it should have been given up", w.requested, most)
	}
}

// led is a redirect that requests a pause of the host to which it leads.
type led struct {
	by           *request
	known, until time.Time
}

// leads returns the host to which a redirect leads, if the redirect requests a pause there, otherwise "".
// It ignores a pause longer than MaxRetryAfter, because then the crawler must not follow the redirect.
func (a *auditor) leads(r *request) (host string, l led) {
	if r.end == nil || r.end.Status < 300 || r.end.Status > 399 || r.end.Location == "" || r.end.Aborted {
		return "", led{}
	}
	until, requested, ok := pauseRequested(r)
	if most := secs(a.config.MaxRetryAfter); !ok || most > 0 && requested > most {
		return "", led{}
	}
	if host = hostOf(leadsTo(r)); host == r.start.Host {
		return "", led{} // the host's own Retry-After already covers the redirect
	}
	by := *r
	return host, led{&by, r.heard().Add(Tolerance), until.Add(-Tolerance)}
}

// allLed returns the redirects that request a pause, by the host to which they lead, in the order in which they
// became known.
func (a *auditor) allLed(rs []*request) map[string][]led {
	all := map[string][]led{}
	for _, r := range rs {
		if host, l := a.leads(r); host != "" {
			all[host] = append(all[host], l)
		}
	}
	for _, some := range all {
		slices.SortStableFunc(some, func(x, y led) int { return x.known.Compare(y.known) })
	}
	return all
}

// redirected checks r against the pauses that redirects to its host have requested (P7). Of several processes, each knows only
// the redirects that it received.
func (a *auditor) redirected(c *hostClock, r *request) {
	kept := c.led[:0]
	for i, l := range c.led {
		if l.by.epoch > r.epoch || l.by.epoch == r.epoch && !r.start.Written.After(l.known) {
			kept = append(kept, c.led[i:]...) // the list is sorted by known, so the rest became known later, too
			break
		}
		if l.by.epoch < r.epoch || !r.start.Written.Before(l.until) {
			continue
		}
		kept = append(kept, l)
		if l.by.epoch == r.epoch && (l.by.run == r.run || a.processes[l.by.run] == nil || a.processes[r.run] == nil) {
			a.missed(l.until.Sub(r.start.Written), "P7", r, l.by, "a redirect to the host requested a pause until %s", stamp(l.until.Add(Tolerance)))
		}
	}
	c.led = kept
}

// quotaRequested returns the time for which a response's line reports a RateLimit quota as
// exhausted; 0 if it reports none.
func quotaRequested(r *request) time.Duration {
	if r.end == nil || r.late {
		return 0
	}
	m := quota.FindStringSubmatch(r.end.RateLimit)
	if m == nil {
		return 0
	}
	used, wait := false, int64(0)
	for _, p := range parameter.FindAllStringSubmatch(m[1], -1) {
		switch p[1] {
		case "r":
			used = p[2] == "0"
		case "t":
			wait, _ = strconv.ParseInt(p[2], 10, 64)
		}
	}
	const most = 1 << 32
	if !used {
		return 0
	}
	return time.Duration(min(max(0, wait), most)) * time.Second
}

// quota matches an item: a string or a token, with parameters.
var (
	quota     = regexp.MustCompile(`^(?:"(?:[^"\\]|\\.)*"|[A-Za-z*][^\s;",]*)[ \t]*((?:;.*)?)$`)
	parameter = regexp.MustCompile(`;[ \t]*([a-z*][a-z0-9_.*-]*)(?:=("(?:[^"\\]|\\.)*"|[^;]*))?`)
)

// pauseRequested returns the Retry-After of a response: the end of the pause, and its length from when
// the gate learned of it. If the server's clock is behind, a date counts from the response's own Date.
func pauseRequested(r *request) (until time.Time, requested time.Duration, ok bool) {
	if r.end == nil || r.late || r.end.RetryAfter == "" {
		return time.Time{}, 0, false
	}
	v := strings.TrimSpace(r.end.RetryAfter)
	if v != "" && strings.Trim(v, "0123456789") == "" {
		const most = 1 << 32 // seconds; 136 years
		s, err := strconv.ParseInt(v, 10, 64)
		if err != nil || s > most {
			s = most
		}
		d := time.Duration(s) * time.Second
		return r.end.Ended.Add(d), d, true
	}
	t, err := http.ParseTime(v)
	if err != nil {
		return time.Time{}, 0, false
	}
	theirs, err := http.ParseTime(r.end.Date)
	length := func(at time.Time) time.Duration {
		if err == nil && theirs.Before(at) {
			return t.Sub(theirs)
		}
		return t.Sub(at)
	}
	return r.end.Ended.Add(length(r.end.Ended)), length(r.heard()), true
}
