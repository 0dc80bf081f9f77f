package audit

import (
	"net/http"
	"strconv"
	"strings"
	"time"
)

// waits are the Retry-Afters of a host so far: the one that ends last, and the longest.
type waits struct {
	last, longest *request
	until         time.Time     // which last requests
	requested     time.Duration // by longest
}

// note notes an answer.
func (w *waits) note(r *request) {
	until, requested, ok := pauseRequested(r)
	if !ok {
		return
	}
	if w.last == nil || until.After(w.until) {
		w.last, w.until = r, until
	}
	if w.longest == nil || requested > w.requested {
		w.longest, w.requested = r, requested
	}
}

// retryAfter checks r against every Retry-After that the host sent before (P7). What an own host answers to one request
// comes too late for another that is under way, or that begins before the crawler has received it.
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
	const rounding = time.Second // the resolution of dates
	if most := secs(a.config.MaxRetryAfter); most > 0 && said(w.longest) && w.requested > most+rounding {
		if unknowable(r, w.longest) {
			a.rep.Unknown++
			return
		}
		a.violation("P7", r, w.longest, "the host requested a pause of %v, longer than the maximum of %v: it should have been given up", w.requested, most)
	}
}

// pauseRequested is the Retry-After of an answer: until when, and how long that is. A date is read by the server's own clock
// where that is behind.
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
	if theirs, err := http.ParseTime(r.end.Date); err == nil && theirs.Before(r.end.Ended) {
		t = t.Add(r.end.Ended.Sub(theirs))
	}
	return t, t.Sub(r.end.Ended), true
}
