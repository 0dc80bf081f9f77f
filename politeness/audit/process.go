package audit

import "time"

// Process describes one of several processes that have shared a crawl, each on another machine. The times of its
// lines are compared with times of other processes by a clock that all processes have measured.
type Process struct {
	Run  string `json:"run"`  // name of the process in its lines
	Name string `json:"name"` // shown in the report
	// Ahead is the offset of its clock from the common one, in seconds, and Error the maximum error of Ahead.
	Ahead float64 `json:"ahead_s"`
	Error float64 `json:"error_s"`
	// Until is the time, by the common clock, at which another process took over its hosts. None of its requests may begin
	// later, and those in flight count as over. Zero: no process took over.
	Until time.Time `json:"until,omitzero"`
	// Stored is the time, by the common clock, at which it last stored received data. A process that took over may not
	// know later data. Zero: all data was stored.
	Stored time.Time `json:"stored,omitzero"`
}

// processes holds the processes of a configuration, by run.
type processes map[string]*Process

func processesOf(c *Config) processes {
	if len(c.Processes) == 0 {
		return nil
	}
	all := processes{}
	for i := range c.Processes {
		all[c.Processes[i].Run] = &c.Processes[i]
	}
	return all
}

// common returns a line with its times by the common clock: l itself if its process has that clock, otherwise x, or a new line if x is
// nil.
func (all processes) common(l, x *Line) *Line {
	p := all[l.Run]
	if p == nil {
		return l
	}
	if x == nil {
		x = new(Line)
	}
	clauses := append(x.Clauses[:0], l.Clauses...)
	*x = *l
	x.Clauses = clauses
	for _, t := range []*time.Time{&x.Allowed, &x.Written, &x.Dropped, &x.Ended, &x.Reported, &x.Expires} {
		if !t.IsZero() {
			*t = t.Add(-secs(p.Ahead))
		}
	}
	for i := range x.Clauses {
		x.Clauses[i].Until = x.Clauses[i].Until.Add(-secs(p.Ahead))
	}
	return x
}

// close ends a request at the time at which another process took over: lines that its process wrote later cannot prolong
// it, and nobody else knows the responses that it received later.
func (all processes) close(r *request) {
	if p := all[r.run]; p != nil && !p.Until.IsZero() && r.end.Ended.After(p.Until) && !r.start.Written.After(p.Until) {
		r.end.Ended, r.end.Reported, r.late = p.Until, time.Time{}, true
	}
	if p := all[r.run]; p != nil && !p.Stored.IsZero() && r.heard().After(p.Stored) {
		r.unstored = true
	}
}

// unknowable reports whether r's process could not know the pause that the response to another request asks for, because
// the other process received it and stored nothing afterwards.
func unknowable(r, other *request) bool { return other != nil && other.unstored && other.run != r.run }

// doubt returns the maximum error of a difference between times of two processes.
func (all processes) doubt(a, b *request) time.Duration {
	if a == nil || b == nil || a.run == b.run {
		return 0
	}
	var d time.Duration
	for _, r := range []*request{a, b} {
		if p := all[r.run]; p != nil {
			d += secs(p.Error)
		}
	}
	return d
}

// missed records a violation: r began too early after other, by the duration by. If the clocks of
// the two processes may differ by as much, the request counts as unproven instead.
func (a *auditor) missed(by time.Duration, inv string, r, other *request, format string, args ...any) {
	if d := a.processes.doubt(r, other); d > 0 && by <= d {
		a.rep.Unproven++
		return
	}
	a.violation(inv, r, other, format, args...)
}

// handovers checks that no process began a request after another one had taken over (P12).
func (a *auditor) handovers(rs []*request) {
	for _, r := range rs {
		a.handover(r)
	}
}

func (a *auditor) handover(r *request) {
	p := a.processes[r.run]
	if p == nil || p.Until.IsZero() {
		return
	}
	late := r.start.Written.Sub(p.Until)
	switch {
	case late <= 0:
	case late <= secs(p.Error):
		a.rep.Unproven++
	default:
		a.violation("P12", r, nil, "begun by %s %v after another process had taken over", p.Name, late)
	}
}
