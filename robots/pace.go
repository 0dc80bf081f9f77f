package robots

import (
	"math"
	"strconv"
	"strings"
	"time"
)

// pace holds a group's limits on the times of requests.
type pace struct {
	delay    time.Duration
	hasDelay bool
	rates    []Rate
	visits   []Window
}

// Rate is the value of a Request-rate line: at most Requests in any period of length Per.
type Rate struct {
	Requests int64         // at least 1
	Per      time.Duration // at least 0
	Window   Window        // part of the day in which the rate applies; the zero Window means always
}

// Interval returns the time per request at this rate, rounded up.
func (r Rate) Interval() time.Duration {
	if r.Requests <= 1 {
		return r.Per
	}
	n := time.Duration(r.Requests)
	d := r.Per / n
	if r.Per%n != 0 {
		d++
	}
	return d
}

// Window is a part of the day in UTC. It begins at From and includes the minute To, both counted from midnight. If From is after To, it
// spans midnight. The zero Window is the whole day.
type Window struct{ From, To time.Duration }

// IsZero reports whether w is the whole day.
func (w Window) IsZero() bool { return w == Window{} }

// Contains reports whether t is inside the window.
func (w Window) Contains(t time.Time) bool {
	if w.IsZero() {
		return true
	}
	t = t.UTC()
	at := time.Duration(t.Hour())*time.Hour + time.Duration(t.Minute())*time.Minute
	if w.From <= w.To {
		return w.From <= at && at <= w.To
	}
	return at >= w.From || at <= w.To
}

// read reads the value of a line and reports whether the value is valid.
func (p *pace) read(k kind, value string) (ok bool) {
	switch k {
	case crawlDelay:
		var d time.Duration
		if d, ok = parseSeconds(value); ok {
			p.delay, p.hasDelay = max(p.delay, d), true
		}
	case requestRate:
		var r Rate
		if r, ok = parseRate(value); ok {
			p.rates = append(p.rates, r)
		}
	case visitTime:
		var w Window
		if w, ok = parseWindow(value); ok {
			p.visits = append(p.visits, w)
		}
	}
	return ok
}

func (p *pace) merge(q pace) {
	p.delay, p.hasDelay = max(p.delay, q.delay), p.hasDelay || q.hasDelay
	p.rates = append(p.rates, q.rates...)
	p.visits = append(p.visits, q.visits...)
}

// parseSeconds reads a decimal number of seconds. It accepts the sign "+", but no other sign, no unit, and neither NaN nor infinity.
func parseSeconds(s string) (time.Duration, bool) {
	for i := range len(s) {
		if c := s[i]; (c < '0' || c > '9') && c != '.' && (c != '+' || i > 0) {
			return 0, false
		}
	}
	f, err := strconv.ParseFloat(s, 64)
	if err != nil && !math.IsInf(f, 1) {
		return 0, false
	}
	return seconds(f), true
}

// seconds returns f seconds, or the largest Duration.
func seconds(f float64) time.Duration {
	ns := math.Round(f * float64(time.Second))
	if ns >= math.MaxInt64 {
		return math.MaxInt64
	}
	return time.Duration(ns)
}

// parseRate reads "n/m", which may have a unit s, m or h after m, and a part of the day after a space.
func parseRate(s string) (Rate, bool) {
	rate, window, timed := cutBlank(s)
	n, per, ok := strings.Cut(rate, "/")
	if !ok {
		return Rate{}, false
	}
	requests, err := strconv.ParseInt(n, 10, 64)
	if err != nil || requests < 1 {
		return Rate{}, false
	}
	r := Rate{Requests: requests}
	if r.Per, ok = parsePeriod(per); ok && timed {
		r.Window, ok = parseWindow(window)
	}
	return r, ok
}

// parsePeriod reads a number of seconds, or a number with a unit.
func parsePeriod(s string) (time.Duration, bool) {
	unit := 1.0
	if n := len(s) - 1; n >= 0 {
		switch lower(s[n]) {
		case 's':
			s = s[:n]
		case 'm':
			s, unit = s[:n], 60
		case 'h':
			s, unit = s[:n], 3600
		}
	}
	d, ok := parseSeconds(s)
	if unit == 1 || !ok {
		return d, ok
	}
	return seconds(d.Seconds() * unit), true
}

// parseWindow reads "hhmm-hhmm" in UTC.
func parseWindow(s string) (Window, bool) {
	from, to, ok := strings.Cut(s, "-")
	if !ok {
		return Window{}, false
	}
	var w Window
	var ok1, ok2 bool
	w.From, ok1 = parseClock(strings.Trim(from, " \t"))
	w.To, ok2 = parseClock(strings.Trim(to, " \t"))
	return w, ok1 && ok2
}

// parseClock reads "hhmm" or "hh:mm".
func parseClock(s string) (time.Duration, bool) {
	if len(s) == 5 && s[2] == ':' {
		s = s[:2] + s[3:]
	}
	if len(s) != 4 {
		return 0, false
	}
	n, err := strconv.ParseUint(s, 10, 16)
	if err != nil || n/100 > 24 || n%100 > 59 || n > 2400 {
		return 0, false
	}
	return time.Duration(n/100)*time.Hour + time.Duration(n%100)*time.Minute, true
}

// cutBlank splits s at its first run of spaces and tabs.
func cutBlank(s string) (before, after string, found bool) {
	i := strings.IndexAny(s, " \t")
	if i < 0 {
		return s, "", false
	}
	return s[:i], strings.TrimLeft(s[i:], " \t"), true
}
