package crawltest

import (
	"net/http"
	"strconv"
	"time"
)

// failing counts consecutive answers of a host with 429 or 5xx. A 5xx counts half, and only if it answers the first request for its URL.
// It also counts consecutive challenges, which other failures do not interrupt.
type failing struct {
	halves      int
	last        *Request
	first, late *Request // the first and the last request that was answered with 429
	lateHalves  int      // halves at the time of late; a 5xx after it does not lengthen the silence
	walls       int
	wall        *Request // the last request that was answered with a challenge
}

// maxWalls is the number of consecutive challenges after which a host must not receive further requests.
const maxWalls = 5

// challenged reports whether an answer is the challenge of a bot wall.
func challenged(r *Request) bool {
	return (r.Status < 300 || r.Status > 399) && r.Answer.Get(wallField) == wallValue
}

// minSilent is the minimum number of failures for Expect.MaxSilence to apply.
const minSilent = 5

// failures checks r against the rule gone, and records its answer. An incomplete answer, which the crawler itself may have aborted, is
// ignored.
func (a *auditor) failures(r *Request) {
	f := a.fails[r.Host]
	if f == nil {
		f = &failing{}
		a.fails[r.Host] = f
	}
	if f.last != nil && f.last.ended != 0 && f.last.ended < r.began {
		v := Violation{Rule: "gone", Host: r.Host, First: *f.last, Second: *r}
		switch long := f.silence(); {
		case a.e.MaxFailures > 0 && f.halves/2 >= a.e.MaxFailures:
			v.Detail = "failed too often consecutively, and should have been given up"
			a.report(v)
		case a.e.MaxSilence > 0 && f.lateHalves/2 >= minSilent && long >= a.e.MaxSilence+a.e.Late:
			v.Detail = "has not answered well for " + long.String() + ", and should have been given up"
			a.report(v)
		}
	}
	if _, crowd, _ := a.e.at(r.Host); crowd == 1 && f.walls >= maxWalls && f.wall.ended < r.began {
		a.report(Violation{
			Rule: "gone", Host: r.Host, First: *f.wall, Second: *r,
			Detail: "answered with " + strconv.Itoa(f.walls) + " challenges of a bot wall consecutively, and should have been left",
		})
	}
	before := a.met[r.URL]
	a.met[r.URL] = true
	if !r.Complete || r.Status == 0 {
		return
	}
	robots, bad := a.isRobots(r), r.Status >= 500 || r.Status == http.StatusTooManyRequests
	if challenged(r) && !robots {
		f.walls, f.wall = f.walls+1, r
	}
	switch {
	case !bad && !challenged(r):
		*f = failing{walls: f.walls, wall: f.wall}
		if !robots {
			f.walls = 0
		}
	case robots, !bad:
	case r.Status == http.StatusTooManyRequests:
		if f.first == nil {
			f.first = r
		}
		f.last, f.late = r, r
		f.halves += 2
		f.lateHalves = f.halves
	case !before:
		f.last = r
		f.halves++
	}
}

// silence returns the time between the first and the last answer with 429 since the last good answer.
func (f *failing) silence() time.Duration {
	if f.first == nil {
		return 0
	}
	return f.late.End.Sub(f.first.End)
}

// limits checks r against Expect.Hours, OptOut and Contactless.
func (a *auditor) limits(r *Request) {
	granted := r.Start.Add(-a.e.Late)
	if !a.open(granted, r.Start) {
		a.report(Violation{Rule: "hours", Host: r.Host, Detail: "at " + r.Start.UTC().Format(time.TimeOnly), Second: *r})
	}
	if from, out := a.e.OptOut[hostname(r.Host)]; out && !granted.Before(from) {
		a.report(Violation{Rule: "opt-out", Host: r.Host, Detail: "requested " + r.Start.Sub(from).String() + " after it opted out", Second: *r})
	}
	if a.e.Contactless && !r.Addr.Addr().IsLoopback() {
		a.report(Violation{Rule: "P11", Host: r.Host, Detail: "requested without a contact", Second: *r})
	}
}

// open reports whether Expect.Hours includes a time between from and to, which are less than a day apart.
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
