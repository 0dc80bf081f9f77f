package politeness

import (
	"time"

	"github.com/amble-crawler/amble/politeness/ledger"
	"github.com/amble-crawler/amble/robots"
)

// Hours are the parts of the day, in UTC, in which requests may be made. Without any, it is the whole day.
type Hours []robots.Window

// next is the first instant from now on that is in one of the windows.
func (h Hours) next(now time.Time) time.Time {
	if len(h) == 0 {
		return now
	}
	var best time.Time
	for _, w := range h {
		if w.Contains(now) {
			return now
		}
		day := now.UTC().Truncate(24 * time.Hour)
		start := day.Add(w.From)
		if !start.After(now) {
			start = start.Add(24 * time.Hour)
		}
		if best.IsZero() || start.Before(best) {
			best = start
		}
	}
	return best
}

// end is the last instant of the windows that contain now; 0 when there is no end.
func (h Hours) end(now time.Time) (last instant) {
	for _, w := range h {
		if w.IsZero() {
			return 0
		}
		if w.Contains(now) {
			last = max(last, at(closes(w, now))-1)
		}
	}
	return last
}

// closes is the end of w, which contains now: the end of its last minute.
func closes(w robots.Window, now time.Time) time.Time {
	t := now.UTC().Truncate(24 * time.Hour).Add(w.To.Truncate(time.Minute) + time.Minute)
	if !t.After(now) {
		t = t.Add(24 * time.Hour)
	}
	return t
}

// visitTimes are the hours that the site names, where the operator honours them.
func (c *Config) visitTimes(o *origin) Hours {
	if !c.VisitTime || o.rules == nil {
		return nil
	}
	return o.rules.bound().VisitTimes()
}

// openUntil is how long a request for a page of o may be begun that is admitted now; 0 when there is no end.
func (c *Config) openUntil(now time.Time, o *origin) instant {
	last := c.Hours.end(now)
	if t := c.visitTimes(o).end(now); t != 0 && (last == 0 || t < last) {
		last = t
	}
	return last
}

// quiet is the wait for the hours in which a host may be requested: the operator's, and the site's Visit-time where the
// operator honours it.
func (c *Config) quiet(now time.Time, o *origin) error {
	until := c.Hours.next(now)
	if t := c.visitTimes(o).next(now); t.After(until) {
		until = t
	}
	if until.After(now) {
		return notYet(ledger.Clause{Name: ledger.ClauseQuiet, Until: until})
	}
	return nil
}
