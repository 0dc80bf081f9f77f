package audit

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"slices"
	"time"
)

const (
	maxAge   = 24 * time.Hour      // RFC 9309 section 2.4
	maxStale = 30 * 24 * time.Hour // RFC 9309 section 2.3.1.4
)

// rules goes through the ledger in order and checks every request for a page against the robots.txt that had been received
// when it was written (P1, P2, P8). It also records in each request the delay that robots.txt had requested by then.
func (a *auditor) rules(l *ledger) {
	origins := map[string]*origin{}
	state := func(u string) *origin {
		k := originOf(u)
		if origins[k] == nil {
			origins[k] = &origin{}
		}
		return origins[k]
	}
	for _, e := range events(l) {
		r := e.request
		if r.start.Purpose == "robots" && !e.end {
			a.again(state(r.wanted()), r)
		}
		switch {
		case r.copied:
			a.copied(state(r.start.URL), r)
		case r.start.Purpose == "robots" && e.end:
			a.answer(state(r.wanted()), r)
		case e.end || isRobotsURL(r.start.URL) || r.start.Override != "":
		case r.start.Purpose != "robots" || !isHop(state(r.wanted()).hop, r.start.URL):
			a.page(state(r.start.URL), r) // also checks requests falsely recorded as redirect hops of a robots.txt
		}
		if f := state(r.start.URL).file; f != nil && a.plain() && r.start.Override == "" {
			if e.end {
				r.after = f.binding.pause
			} else {
				r.before = f.binding.pause
			}
		}
	}
}

// event is a request's start or its end.
type event struct {
	at      time.Time
	end     bool
	request *request
}

// events returns the starts and ends of requests in the order of time, and at the same instant in the order in which they were
// written. A request that was not sent has only an end.
func events(l *ledger) []event {
	es := make([]event, 0, 2*len(l.requests)+len(l.unsent))
	for _, r := range l.unsent {
		at := r.end.Ended
		if r.copied {
			at = r.end.Reported
		}
		es = append(es, event{at, true, r})
	}
	for _, r := range l.requests {
		es = append(es, event{r.start.Written, false, r})
		if r.end != nil {
			es = append(es, event{r.end.Ended, true, r})
		}
	}
	slices.SortFunc(es, func(x, y event) int {
		return cmp.Or(x.request.epoch-y.request.epoch, x.at.Compare(y.at), x.line()-y.line())
	})
	return es
}

func (e event) line() int {
	if e.end {
		return e.request.last
	}
	return e.request.line
}

// page checks a request for a page against the known state of its origin.
func (a *auditor) page(o *origin, r *request) {
	at := r.start.Written
	switch {
	case o.lost != nil: // a missing body is reported only once
		a.violation("P2", r, o.lost, "the body of %s is missing", o.lost.start.URL)
		o.lost = nil
	case !o.known && o.failing:
		a.violation("P8", r, nil, "%s was requested while robots.txt was unreachable", r.start.URL)
		return
	case !o.known:
		a.violation("P1", r, nil, "%s was requested before robots.txt was known", r.start.URL)
		return
	case r.epoch != o.epoch: // the age of the rules is unknown, so no limit is checked
	case at.Sub(o.at) > maxStale:
		a.violation("P8", r, nil, "robots.txt was last fetched at %s, more than 30 days before", stamp(o.at))
	case !o.until.IsZero() && at.Sub(o.until) > Tolerance && !o.failing:
		a.violation("P1", r, nil, "robots.txt had expired at %s", stamp(o.until))
	case at.Sub(o.at) > maxAge && !o.failing:
		a.violation("P1", r, nil, "robots.txt was last fetched at %s, more than 24 hours before", stamp(o.at))
	}
	if o.file == nil || !a.plain() {
		return
	}
	if ok, line := o.file.allows(target(r.start.URL)); !ok {
		a.violation("P2", r, nil, "%s is forbidden by line %d of robots.txt", r.start.URL, line)
	}
}

// answer applies the end of a request for a robots.txt. Only the file itself and the targets of its redirects count.
func (a *auditor) answer(o *origin, r *request) {
	if !isRobotsURL(r.start.URL) && !isHop(o.hop, r.start.URL) {
		return
	}
	e := r.end
	ok := e.Error == "" && e.Wall == "" && e.Status != 202 && (e.Truncated == "" || e.Truncated == "length")
	hops, hop := o.hops, o.hop
	if !isHop(o.hop, r.start.URL) { // not the next hop of the redirects: robots.txt was requested anew, as after a restart
		hops, hop = 0, ""
	}
	o.hops, o.hop = 0, ""
	switch {
	case e.Aborted: // an aborted response says nothing about the file
	case e.Challenged && (e.Status == 401 || e.Status == 403 || e.Status == 429): // nor does a challenge: the crawler repeats the request
		o.hops, o.hop = hops, hop
	case ok && e.Status >= 200 && e.Status < 300:
		a.learn(o, r)
	case ok && e.Status >= 300 && e.Status < 400 && hops < 5 && leadsTo(r) != "":
		o.hops, o.hop = hops+1, leadsTo(r)
		if o.hop == anywhere {
			o.know(r, nil) // the target is unknown: there may be none, and then no rules apply
		}
	case ok && (e.Status == 401 || e.Status == 403) && a.config.ForbidDenies:
		o.know(r, parse([]byte("user-agent: *\ndisallow: /"), a.config.Product))
	case ok && (e.Status >= 300 && e.Status < 500) && e.Status != 429:
		o.know(r, nil)
	default:
		o.failing, o.failed = true, r
		o.times++
		r.failures = o.times
	}
}

// copied applies another crawl's response for a robots.txt. It must be fresh (P1).
func (a *auditor) copied(o *origin, r *request) {
	e := r.end
	o.hops, o.hop = 0, ""
	switch {
	case !isRobotsURL(r.start.URL), e.Ended.IsZero(), e.Ended.After(e.Reported.Add(Tolerance)):
		a.violation("P10", r, nil, "%s was copied at %s, and requested by the other crawl at %s", r.start.URL, stamp(e.Reported), stamp(e.Ended))
	case e.Reported.After(e.Expires.Add(Tolerance)):
		a.violation("P1", r, nil, "the copy of %s had expired at %s, before it was used", r.start.URL, stamp(e.Expires))
	case r.start.Attempt > 0:
		o.failing, o.failed, o.times = true, r, r.start.Attempt
	case e.Error != "", e.Wall != "", e.Status < 200, e.Status == 202, e.Status == 429, e.Status >= 500:
		a.violation("P8", r, nil, "%s was unreachable for the other crawl, and counts as answered", r.start.URL)
	case e.Status < 300:
		a.learn(o, r)
	case (e.Status == 401 || e.Status == 403) && a.config.ForbidDenies:
		o.know(r, parse([]byte("user-agent: *\ndisallow: /"), a.config.Product))
	default:
		o.know(r, nil)
	}
}

// again checks a request for a robots.txt against the pause after the failed attempts before it. An attempt without an end
// may have succeeded, although its line could not be written.
func (a *auditor) again(o *origin, r *request) {
	if r.end == nil {
		defer func() { o.times = 0 }()
	}
	if !isRobotsURL(r.start.URL) || o.times == 0 || o.failed.epoch != r.epoch {
		return
	}
	since := o.failed.end.Ended
	if !o.failed.copied && o.failed.end.Reported.After(since) {
		since = o.failed.end.Reported
	}
	if gap, due := r.start.Written.Sub(since), retryPause(o.times); gap < due-Tolerance {
		a.missed(due-Tolerance-gap, "P8", r, o.failed, "robots.txt was requested again %v after attempt %d had failed, %v is due", gap, o.times, due)
	}
}

// retryPause returns the pause that docs/politeness.md requires after this number of failures to fetch a robots.txt.
func retryPause(failures int) time.Duration {
	first := [...]time.Duration{time.Second, 5 * time.Second, 30 * time.Second}
	if failures <= len(first) {
		return first[failures-1]
	}
	const most = time.Hour
	d := time.Minute
	for range failures - len(first) - 1 {
		if d *= 2; d >= most {
			return most
		}
	}
	return d
}

func (a *auditor) learn(o *origin, r *request) {
	if a.body == nil {
		o.know(r, nil)
		return
	}
	f, seen := a.files[r.end.SHA256]
	if !seen {
		b, err := a.body(r.end.SHA256)
		switch sum := sha256.Sum256(b); {
		case err != nil:
		case hex.EncodeToString(sum[:]) != r.end.SHA256:
			a.violation("P2", r, nil, "the kept body of %s is not the one that was received", r.start.URL)
			a.changed[r.end.SHA256] = true
		default:
			f = parse(b, a.config.Product)
		}
		a.files[r.end.SHA256] = f
	}
	o.know(r, f)
	if f == nil && !a.changed[r.end.SHA256] { // no fault yet: a process that ended before it stored the body repeats the request
		o.lost = r
	}
}

// origin holds the state of an origin's robots.txt at one place in the ledger.
type origin struct {
	known   bool
	epoch   int
	at      time.Time // time of the last good response
	until   time.Time // expiry according to the ledger; zero: unknown
	failing bool      // the last attempt failed
	failed  *request  // the last attempt, if it failed
	times   int       // consecutive attempts that failed
	asked   *request  // in a Pacer: the last request for the file or for the target of its redirect
	lost    *request  // the last good response, if its body is missing and no page was requested under it
	hops    int
	hop     string // target of the redirect in the last response; "" if the response is not a redirect
	file    *file  // nil: no rules
}

// know records the rules of a response.
func (o *origin) know(r *request, f *file) {
	o.known, o.failing, o.times, o.lost = true, false, 0, nil
	o.epoch, o.at, o.until, o.file = r.epoch, r.end.Ended, r.end.Expires, f
}
