package audit

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"slices"
	"strings"
	"time"
)

const (
	maxAge   = 24 * time.Hour      // RFC 9309 section 2.4
	maxStale = 30 * 24 * time.Hour // RFC 9309 section 2.3.1.4
)

// origin is what is known of an origin's robots.txt as the ledger goes on.
type origin struct {
	known   bool
	epoch   int
	at      time.Time // of the last good answer
	until   time.Time // how long it says that it may be gone by; zero: it does not say
	failing bool      // the last attempt failed
	failed  *request  // that attempt
	times   int       // attempts that failed, one after another
	lost    *request  // the last good answer, if its body is not there and nobody has asked by it
	hops    int
	hop     string // where the last answer redirects to, "" when it does not
	file    *file  // nil: no rules
}

// rules goes through the ledger in order and holds every page request to the robots.txt that had
// been answered when it was written (P1, P2, P8). It also notes on each request the pause that
// robots.txt asked for by then.
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
		case r.start.Purpose == "robots" && e.end:
			a.answer(state(r.wanted()), r)
		case e.end || isRobotsURL(r.start.URL) || r.start.Override != "":
		case r.start.Purpose != "robots" || !isHop(state(r.wanted()).hop, r.start.URL):
			a.page(state(r.start.URL), r) // also one that only passes for a hop of robots.txt's redirects
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

// events are the starts and ends of requests in the order they happened; of one instant, in the order they
// were written. What was not sent has an end alone.
func events(l *ledger) []event {
	es := make([]event, 0, 2*len(l.requests)+len(l.unsent))
	for _, r := range l.unsent {
		es = append(es, event{r.end.Ended, true, r})
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

// wanted is the page that a robots request was made for.
func (r *request) wanted() string {
	if r.start.For != "" {
		return r.start.For
	}
	return r.start.URL
}

func isRobotsURL(u string) bool { return strings.TrimPrefix(u, originOf(u)) == "/robots.txt" }

func originOf(u string) string {
	i := strings.Index(u, "://")
	if i < 0 {
		return u
	}
	if j := strings.IndexAny(u[i+3:], "/?#"); j >= 0 {
		return u[:i+3+j]
	}
	return u
}

// page holds a page request to what is known of its origin.
func (a *auditor) page(o *origin, r *request) {
	at := r.start.Written
	switch {
	case o.lost != nil: // said once
		a.violation("P2", r, o.lost, "the body of %s is not there", o.lost.start.URL)
		o.lost = nil
	case !o.known && o.failing:
		a.violation("P8", r, nil, "%s was asked for while robots.txt was unreachable", r.start.URL)
		return
	case !o.known:
		a.violation("P1", r, nil, "%s was asked for before robots.txt was known", r.start.URL)
		return
	case r.epoch != o.epoch: // how old it is nobody can tell
	case at.Sub(o.at) > maxStale:
		a.violation("P8", r, nil, "robots.txt was last had at %s, more than 30 days before", stamp(o.at))
	case !o.until.IsZero() && at.Sub(o.until) > Tolerance && !o.failing:
		a.violation("P1", r, nil, "robots.txt was to be asked for again from %s on", stamp(o.until))
	case at.Sub(o.at) > maxAge && !o.failing:
		a.violation("P1", r, nil, "robots.txt was last had at %s, more than 24 hours before", stamp(o.at))
	}
	if o.file == nil || !a.plain() {
		return
	}
	if ok, line := o.file.allows(target(r.start.URL)); !ok {
		a.violation("P2", r, nil, "%s is forbidden by line %d of robots.txt", r.start.URL, line)
	}
}

func target(u string) string {
	t := strings.TrimPrefix(u, originOf(u))
	if !strings.HasPrefix(t, "/") {
		t = "/" + t
	}
	return t
}

// answer applies the end of a robots request. Only the file itself and what it redirects to count.
func (a *auditor) answer(o *origin, r *request) {
	if !isRobotsURL(r.start.URL) && !isHop(o.hop, r.start.URL) {
		return
	}
	e := r.end
	ok := e.Error == "" && (e.Truncated == "" || e.Truncated == "length")
	hops := o.hops
	if !isHop(o.hop, r.start.URL) { // from the beginning again, as after a restart
		hops = 0
	}
	o.hops, o.hop = 0, ""
	switch {
	case e.Aborted: // says nothing about the file
	case ok && e.Status >= 200 && e.Status < 300:
		a.learn(o, r)
	case ok && e.Status >= 300 && e.Status < 400 && hops < 5 && leadsTo(r) != "":
		o.hops, o.hop = hops+1, leadsTo(r)
		if o.hop == anywhere {
			o.know(r, nil) // perhaps it leads nowhere
		}
	case ok && (e.Status == 401 || e.Status == 403) && a.config.ForbidDenies:
		o.know(r, parse([]byte("user-agent: *\ndisallow: /"), a.config.Product))
	case ok && (e.Status >= 300 && e.Status < 500) && e.Status != 429:
		o.know(r, nil)
	default:
		o.failing, o.failed = true, r
		o.times++
	}
}

// again holds a request for a robots.txt to the pause after the attempts that failed before (P8). One without an end may
// have been answered, which only a line that could not be written told.
func (a *auditor) again(o *origin, r *request) {
	if r.end == nil {
		defer func() { o.times = 0 }()
	}
	if !isRobotsURL(r.start.URL) || o.times == 0 || o.failed.epoch != r.epoch {
		return
	}
	since := o.failed.end.Ended
	if o.failed.end.Reported.After(since) {
		since = o.failed.end.Reported
	}
	if gap, due := r.start.Written.Sub(since), retryPause(o.times); gap < due-Tolerance {
		a.violation("P8", r, o.failed, "robots.txt was asked for again %v after attempt %d had failed, %v is due", gap, o.times, due)
	}
}

// retryPause is what is due after so many failures to fetch a robots.txt, as docs/politeness.md says.
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

// know takes over what an answer says.
func (o *origin) know(r *request, f *file) {
	o.known, o.failing, o.times, o.lost = true, false, 0, nil
	o.epoch, o.at, o.until, o.file = r.epoch, r.end.Ended, r.end.Expires, f
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
			a.violation("P2", r, nil, "the body that is kept of %s is not the one that was received", r.start.URL)
			a.changed[r.end.SHA256] = true
		default:
			f = parse(b, a.config.Product)
		}
		a.files[r.end.SHA256] = f
	}
	o.know(r, f)
	if f == nil && !a.changed[r.end.SHA256] { // the process may have ended before it was kept: then it is asked for again
		o.lost = r
	}
}
