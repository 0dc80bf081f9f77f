package digest

import (
	"time"

	"github.com/amble-crawler/amble/politeness/audit"
	"github.com/amble-crawler/amble/politeness/ledger"
)

// start is a request that has not ended.
type start struct {
	host    *Host
	written time.Time
	robots  bool
	early   bool
	pause   pause // pause before the request
}

// Judgement is the auditor's verdict on a line of the ledger.
type Judgement struct {
	pause    audit.Pause
	paused   bool
	found    []audit.Violation
	unjudged int // number of requests that could not be judged so far
}

// count adds a ledger line that was judged to the facts.
func (d *Digest) count(e *ledger.Entry, j *Judgement) {
	d.facts.Lines++
	d.facts.Unjudged = j.unjudged
	if d.broken(j.found); e.Event == ledger.Head {
		return
	}
	for _, t := range [...]time.Time{e.Written, e.Ended} {
		if t.After(d.facts.Last) {
			d.facts.Last = t
		}
	}
	switch e.Event {
	case ledger.Start:
		d.begin(e, j)
	case ledger.End:
		d.end(e)
	case ledger.Copied:
		d.host(e.Host).Rules.note(e)
	case ledger.Unsent:
		d.host(e.Host) // a host counts even if nothing was sent to it
	}
}

// setLine copies the entry e to l, the type of package audit, which shares no code with the crawler. For the end of a request it
// copies only the fields that ends have, and for other events only theirs.
func setLine(l *audit.Line, e *ledger.Entry) {
	l.Event, l.Run, l.ID, l.Behind = e.Event, e.Run, e.ID, 0
	if e.Behind != 0 {
		l.Behind = time.Duration(e.Behind).Seconds()
	}
	l.Written, l.Ended, l.Reported = e.Written, e.Ended, e.Reported
	if e.Event != ledger.Start {
		l.Aborted, l.Status, l.Error, l.Truncated, l.Challenged, l.Wall = e.Aborted, e.Status, e.Err, e.Truncated, e.Challenged, e.Wall
		l.RetryAfter, l.Date, l.Location, l.SHA256, l.Expires = e.RetryAfter, e.Date, e.Location, e.SHA256, e.Expires
	}
	if e.Event == ledger.End {
		return
	}
	l.URL, l.For, l.Host, l.Domain, l.Addr = e.URL, e.For, e.Host, e.Domain, e.Addr
	l.Attempt = e.Attempt
	l.Purpose, l.Override, l.Allowed, l.Clauses = e.Purpose, e.Override, e.Allowed, l.Clauses[:0]
	for i := range e.Clauses {
		l.Clauses = append(l.Clauses, audit.Clause{Clause: e.Clauses[i].Name, Until: e.Clauses[i].Until})
	}
}

// broken records the auditor's violations.
func (d *Digest) broken(found []audit.Violation) {
	if len(found) == 0 {
		return
	}
	d.facts.Total.Early++
	if h := d.hosts[found[0].Host]; h != nil {
		h.Early++
	}
	for _, v := range found {
		if len(d.facts.Early) < maxEarly {
			d.facts.Early = append(d.facts.Early, v)
		}
	}
}

// both returns a host and the total.
func (d *Digest) both(name string) [2]*Host { return [2]*Host{d.host(name), &d.facts.Total} }

func (d *Digest) begin(e *ledger.Entry, j *Judgement) {
	if d.facts.First.IsZero() || e.Written.Before(d.facts.First) {
		d.facts.First = e.Written
	}
	d.enter(e.Run)
	d.run.begin(e)
	h, early := d.host(e.Host), len(j.found) > 0
	p := pauseBefore(h, e, j.pause, j.paused)
	if p.held && !d.config.Brief {
		d.lanes.mark(h, h.ended, e.Written, Held)
	}
	p.lost = d.lostToOthers(h, e)
	for _, t := range [...]*Host{h, &d.facts.Total} {
		t.begin(e)
		t.LostToOthers += p.lost
		if p.real && h != &d.rest {
			t.Pauses.add(p, early)
		}
	}
	h.run = e.Run
	if d.opened < maxOpen {
		if _, again := d.run.open[e.ID]; !again {
			d.opened++
		}
		d.run.open[e.ID] = start{h, e.Written, e.Purpose == "robots", early, p}
	}
}

// begin counts a request.
func (h *Host) begin(e *ledger.Entry) {
	h.Requests++
	h.Cut++
	if h.First.IsZero() || e.Written.Before(h.First) {
		h.First = e.Written
	}
	if e.Purpose == "robots" {
		h.Robots++
	}
	if e.Attempt > 0 {
		h.Retries++
	}
}

// pause is the time before a request.
type pause struct {
	real     bool // the pause is between two requests of one process
	held     bool // the pause was extended by the host, or because of its errors
	observed time.Duration
	owed     time.Duration
	cause    ledger.ClauseID
	lost     time.Duration // the part of owed that only the requests of other crawls caused
}

// lostToOthers returns the part of the wait before a request that only other crawls caused. This part ends when the last of their
// clauses allowed the request, and begins at the latest of: the request's other clauses, the end of the host's previous request,
// the time when the URL was queued, and the first request of the process. (The ledger does not record when the process began.)
func (d *Digest) lostToOthers(h *Host, e *ledger.Entry) time.Duration {
	var until time.Time
	free := d.run.first
	if h.run == e.Run && h.ended.After(free) {
		free = h.ended
	}
	if e.Queued.After(free) {
		free = e.Queued
	}
	for _, c := range e.Clauses {
		switch {
		case c.Name == ledger.ClauseShared || c.By != "":
			if c.Until.After(until) {
				until = c.Until
			}
		case c.Until.After(free):
			free = c.Until
		}
	}
	return max(0, until.Sub(free))
}

// pauseBefore returns the pause before a request. The required delay is the larger of the auditor's and the one in the ledger line.
func pauseBefore(h *Host, e *ledger.Entry, judged audit.Pause, paused bool) (p pause) {
	if h.ended.IsZero() || h.run != e.Run || e.Written.Before(h.ended) {
		return p
	}
	p = pause{real: true, observed: e.Written.Sub(h.ended), cause: ledger.ClauseIDOf(ledger.ClauseDelay)}
	if paused {
		p.owed = judged.Due
	}
	var others time.Duration // delay required because of another crawl; not counted as a cause
	for _, c := range e.Clauses {
		if c.Name == ledger.ClauseShared {
			others = c.Until.Sub(h.ended)
		} else {
			p.owed = max(p.owed, c.Until.Sub(h.ended))
		}
	}
	found := false
	for _, c := range e.Clauses { // if a shared clock and the host's own clock require the same delay, the host's clock names the cause
		if owed := c.Until.Sub(h.ended); owed > 0 && c.Name != ledger.ClauseShared && owed >= p.owed-audit.Tolerance && (!found || isShared(p.cause) && !isShared(ledger.ClauseIDOf(c.Name))) {
			found, p.cause = true, ledger.ClauseIDOf(c.Name)
		}
	}
	p.held = HeldBy(p.cause.String())
	p.owed = max(p.owed, others)
	return p
}

// HeldBy reports whether a clause is due to errors of a host, or to its request to be left alone for a while.
func HeldBy(clause string) bool {
	switch clause {
	case ledger.ClauseRetryAfter, ledger.ClauseBackoff, ledger.ClauseRobots, ledger.ClauseRedirect, ledger.ClauseRateLimit:
		return true
	}
	return false
}

// isShared reports whether a clause belongs to a clock that hosts share.
func isShared(c ledger.ClauseID) bool {
	switch c.String() {
	case ledger.ClauseAddress, ledger.ClauseDomain, ledger.ClauseRate, ledger.ClauseBusy:
		return true
	}
	return false
}

// add adds a pause. early marks the request after it as too early, regardless of rounding.
func (s *Pauses) add(p pause, early bool) {
	s.Count++
	if s.Count == 1 || p.observed < s.Least {
		s.Least, s.Due = p.observed, p.owed
	}
	owed := min(p.owed, p.observed)
	lost := min(p.lost, owed)
	s.Time[ledger.ClauseIDOf(ledger.ClauseShared)] += lost
	s.Time[p.cause] += owed - lost
	s.Time[Free] += p.observed - owed
	if p.owed <= 0 {
		return
	}
	s.Owed++
	ratio := float64(p.observed) / float64(p.owed)
	if s.Ratio == 0 || ratio < s.Ratio {
		s.Ratio = ratio
	}
	s.Ratios[bucket(ratio, early)]++
	s.Sum += ratio
}

// bucket returns the index of a ratio in Ratios. A pause that is too short only within the tolerance for clocks is not early.
func bucket(ratio float64, early bool) int {
	if early {
		return 0
	}
	for i, bound := range Bounds[1:] {
		if ratio <= bound {
			return i + 1
		}
	}
	return len(Bounds)
}

func (d *Digest) end(e *ledger.Entry) {
	run := d.run
	if e.Run != run.name {
		if run = d.runs[e.Run]; run == nil {
			return
		}
	}
	s, ok := run.open[e.ID]
	if !ok {
		return
	}
	delete(run.open, e.ID)
	d.opened--
	run.end(e)
	h := s.host
	for _, t := range [...]*Host{h, &d.facts.Total} {
		t.end(e, &s)
	}
	h.ended = e.Ended
	if e.Reported.After(h.ended) {
		h.ended = e.Reported
	}
	if s.robots {
		h.Rules.note(e)
	}
	if d.config.Brief {
		return
	}
	m := Mark{Host: h.Name, Start: s.written, Took: e.Ended.Sub(s.written), Kind: kindOf(e, &s), Pause: s.pause.observed, Owed: s.pause.owed, Held: s.pause.held}
	if len(d.facts.Opening) < maxMarks {
		d.facts.Opening = append(d.facts.Opening, m)
	}
	d.series.answer(e)
	d.lanes.mark(h, s.written, e.Ended, m.Kind)
}

// kindOf returns the kind of a request, as which lanes and marks count it.
func kindOf(e *ledger.Entry, s *start) (k Kind) {
	switch {
	case s.robots:
		k = Robots
	case e.Status == 0 || e.Status >= 400:
		k = Error
	default:
		k = Page
	}
	if s.early {
		k |= Early
	}
	return k
}

// end counts the end of a request.
func (h *Host) end(e *ledger.Entry, s *start) {
	h.Cut--
	h.Bytes += e.Bytes
	h.Classes[classOf(e.Status)]++
	if e.Wall != "" {
		count(&h.Walls, e.Wall)
	}
	if e.Status == 429 {
		h.TooMany++
	}
	if took := e.Ended.Sub(s.written); took > 0 {
		h.Server += took
		if e.Status > 0 {
			h.Answers.Add(int64(took))
		}
	}
	if e.Ended.After(h.Last) {
		h.Last = e.Ended
	}
}

// classOf returns the first digit of a status, 0 for no response.
func classOf(status int) int {
	if status < 100 || status > 599 {
		return 0
	}
	return status / 100
}

// note records a response to a request for robots.txt.
func (r *RobotsState) note(e *ledger.Entry) {
	r.At, r.Status, r.Err, r.SHA256, r.Wall = e.Ended, e.Status, cut(e.Err), e.SHA256, cut(e.Wall)
	if e.Wall != "" || e.Status == 0 || e.Status == 202 || e.Status == 429 || e.Status >= 500 {
		r.Failed++
	} else {
		r.Failed = 0
	}
}
