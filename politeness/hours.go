package politeness

import (
	"time"

	"github.com/amble-crawler/amble/politeness/ledger"
	"github.com/amble-crawler/amble/robots"
)

// Hours are the parts of the day in which requests may be made. Empty Hours are the whole day.
type Hours []Window

// Window is a part of the day by the clocks of a time zone. It begins at From and includes the minute To, both counted
// from midnight. It may span midnight: From is then after To. The zero Window is the whole day.
//
// A Window is in local time. On the day when clocks are put forward, a Window within the skipped hour does not occur; on
// the day when they are put back, times of the repeated hour are in the Window twice.
type Window struct {
	From, To time.Duration
	Zone     *time.Location // nil: UTC
}

// plain returns w without its zone.
func (w Window) plain() robots.Window { return robots.Window{From: w.From, To: w.To} }

// wall returns the local time of w's zone at the time now, represented as UTC, the offset from UTC, and when that offset changes next:
// the zero Time if it never does.
func (w Window) wall(now time.Time) (shown time.Time, ahead time.Duration, until time.Time) {
	if w.Zone == nil || w.Zone == time.UTC {
		return now.UTC(), 0, time.Time{}
	}
	local := now.In(w.Zone)
	_, seconds := local.Zone()
	_, until = local.ZoneBounds()
	ahead = time.Duration(seconds) * time.Second
	return now.UTC().Add(ahead), ahead, until
}

// Contains reports whether t is in the Window.
func (w Window) Contains(t time.Time) bool {
	shown, _, _ := w.wall(t)
	return w.plain().Contains(shown)
}

// horizon limits the number of consecutive clock changes that may skip a Window: zones have two a year.
const horizon = 8

// opens returns the first instant in w that is not before now.
func (w Window) opens(now time.Time) time.Time {
	for range horizon {
		if w.Contains(now) {
			return now
		}
		shown, ahead, until := w.wall(now)
		start := midnight(shown).Add(w.From)
		if !start.After(shown) {
			start = start.Add(24 * time.Hour)
		}
		if start = start.Add(-ahead); until.IsZero() || start.Before(until) {
			return start
		}
		now = until
	}
	return now
}

// closes returns the end of w, which contains now: the end of its last minute, or the instant at which clocks are put forward
// beyond it.
func (w Window) closes(now time.Time) time.Time {
	for range horizon {
		shown, ahead, until := w.wall(now)
		end := midnight(shown).Add(w.To.Truncate(time.Minute) + time.Minute)
		if !end.After(shown) {
			end = end.Add(24 * time.Hour)
		}
		if end = end.Add(-ahead); until.IsZero() || !end.After(until) {
			return end
		}
		if now = until; !w.Contains(now) {
			return now
		}
	}
	return now
}

func midnight(t time.Time) time.Time { return t.Truncate(24 * time.Hour) }

// next returns the first instant, not before now, in one of the windows.
func (h Hours) next(now time.Time) time.Time {
	if len(h) == 0 {
		return now
	}
	best := h[0].opens(now)
	for _, w := range h[1:] {
		if t := w.opens(now); t.Before(best) {
			best = t
		}
	}
	return best
}

// end returns the last instant of the windows that contain now; 0 if they never end.
func (h Hours) end(now time.Time) (last instant) {
	for _, w := range h {
		if w.plain().IsZero() {
			return 0
		}
		if w.Contains(now) {
			last = max(last, at(w.closes(now))-1)
		}
	}
	return last
}

// visitTimes returns the site's Visit-time hours, if the operator honours them.
func (c *Config) visitTimes(o *origin) (h Hours) {
	if !c.VisitTime || o.rules == nil {
		return nil
	}
	for _, w := range o.rules.bound().VisitTimes() {
		h = append(h, Window{From: w.From, To: w.To})
	}
	return h
}

// openUntil returns the latest time at which a request for a page of o that is admitted now may begin; 0 if there is no limit.
func (c *Config) openUntil(now time.Time, o *origin) instant {
	last := c.Hours.end(now)
	if t := c.visitTimes(o).end(now); t != 0 && (last == 0 || t < last) {
		last = t
	}
	return last
}

// quiet returns a *NotYet outside the hours in which a host may be requested: the operator's hours, and the site's Visit-time
// if the operator honours it.
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
