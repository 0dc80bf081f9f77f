package crawltest

import (
	"net/http"
	"time"
)

// failing is a host's answers that say 429 or 5xx for the first request for a URL, with no good one between.
type failing struct {
	n           int
	first, last *Request
}

// failures holds r to the ends that a crawl sets to hosts that fail, and notes what its answer says. One that is
// not whole may have been broken off by the crawler: it counts for nothing.
func (a *auditor) failures(r *Request) {
	f := a.fails[r.Host]
	if f == nil {
		f = &failing{}
		a.fails[r.Host] = f
	}
	if f.n > 0 && f.last.ended != 0 && f.last.ended < r.began {
		long := f.last.End.Sub(f.first.End)
		v := Violation{Rule: "gone", Host: r.Host, First: *f.last, Second: *r}
		switch {
		case a.e.MaxFailures > 0 && f.n >= a.e.MaxFailures:
			v.Detail = "failed too often in a row, and should have been given up"
			a.report(v)
		case a.e.MaxSilence > 0 && long >= a.e.MaxSilence+a.e.Late:
			v.Detail = "has not answered well for " + long.String() + ", and should have been given up"
			a.report(v)
		}
	}
	before := a.met[r.URL]
	a.met[r.URL] = true
	switch {
	case !r.Complete || r.Status == 0:
	case r.Status < 500 && r.Status != http.StatusTooManyRequests:
		*f = failing{}
	case !a.isRobots(r) && !before:
		if f.n == 0 {
			f.first = r
		}
		f.last = r
		f.n++
	}
}

// limits holds r to Expect.Hours, OptOut and Contactless.
func (a *auditor) limits(r *Request) {
	granted := r.Start.Add(-a.e.Late)
	if !a.open(granted, r.Start) {
		a.report(Violation{Rule: "hours", Host: r.Host, Detail: "at " + r.Start.UTC().Format(time.TimeOnly), Second: *r})
	}
	if from, out := a.e.OptOut[hostname(r.Host)]; out && !granted.Before(from) {
		a.report(Violation{Rule: "opt-out", Host: r.Host, Detail: "asked " + r.Start.Sub(from).String() + " after it opted out", Second: *r})
	}
	if a.e.Contactless && !r.Addr.Addr().IsLoopback() {
		a.report(Violation{Rule: "P11", Host: r.Host, Detail: "asked without a contact", Second: *r})
	}
}

// open reports whether Expect.Hours has an instant between two that are less than a day apart.
func (a *auditor) open(from, to time.Time) bool {
	if len(a.e.Hours) == 0 {
		return true
	}
	for _, s := range a.e.Hours {
		if s.To <= s.From {
			s.To += 24 * time.Hour
		}
		day := to.UTC().Truncate(24 * time.Hour)
		for _, midnight := range []time.Time{day.Add(-24 * time.Hour), day} {
			if !midnight.Add(s.From).After(to) && midnight.Add(s.To).After(from) {
				return true
			}
		}
	}
	return false
}
