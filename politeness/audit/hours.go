package audit

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"
)

// span is a part of the day that includes its first and its last minute. It spans midnight if its first minute is the later one.
type span struct {
	from, to int // minutes after midnight
	zone     *time.Location
}

// spans parses parts of the day.
func spans(texts []string) (all []span, err error) {
	for _, text := range texts {
		s := span{zone: time.UTC}
		part, zone, zoned := strings.Cut(text, "@")
		var h, m, h2, m2 int
		if _, err := fmt.Sscanf(part, "%d:%d-%d:%d", &h, &m, &h2, &m2); err != nil {
			return nil, fmt.Errorf("%q is no part of the day", text)
		}
		if zoned {
			if s.zone, err = time.LoadLocation(zone); err != nil {
				return nil, fmt.Errorf("%q: %w", text, err)
			}
		}
		s.from, s.to = 60*h+m, 60*h2+m2
		all = append(all, s)
	}
	return all, nil
}

// outside reports whether a time is outside all spans, even if the clock was off by Tolerance in either direction.
func outside(all []span, t time.Time) bool {
	for _, s := range all {
		for _, at := range []time.Time{t.Add(-Tolerance), t.Add(Tolerance)} {
			at = at.In(s.zone)
			now := 60*at.Hour() + at.Minute()
			if in := s.from <= now && now <= s.to; in || s.from > s.to && (now >= s.from || now <= s.to) {
				return false
			}
		}
	}
	return len(all) > 0
}

// hours checks that no request was allowed outside of the hours.
func (a *auditor) hours(rs []*request) {
	all, err := spans(a.config.Hours)
	if err != nil {
		a.rep.Notes = append(a.rep.Notes, "hours were not checked: "+err.Error())
	}
	for _, r := range rs {
		if outside(all, r.start.Allowed) {
			a.violation("hours", r, nil, "allowed at %s, outside of %s", stamp(r.start.Allowed), strings.Join(a.config.Hours, ", "))
		}
	}
}

// rate checks the intervals between requests to all hosts together.
func (a *auditor) rate(rs []*request) {
	if a.config.Rate <= 0 || len(a.config.Processes) > 0 {
		return
	}
	due := secs(1 / a.config.Rate)
	var last *request
	for _, r := range slices.SortedStableFunc(slices.Values(rs), func(x, y *request) int {
		return cmp.Or(x.epoch-y.epoch, x.start.Allowed.Compare(y.start.Allowed))
	}) {
		if last != nil && last.epoch == r.epoch {
			if gap := r.start.Allowed.Sub(last.start.Allowed); gap < due-Tolerance {
				a.violation("rate", r, last, "allowed %v after the request before, of %v in all one in %v", gap, a.config.Rate, due)
			}
		}
		last = r
	}
}
