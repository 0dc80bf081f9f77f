package audit

import (
	"fmt"
	"strings"
)

// jointRobots holds the requests for the robots.txt files that crawls share.
type jointRobots struct {
	byRun  map[string][]*partRequest // requests for a robots.txt, and at least one request of each run
	last   map[string]*partRequest   // keyed by origin: the request whose response is valid longest
	failed map[string]*partRequest   // keyed by origin: the last attempt, if that attempt failed
	copies []*partRequest            // robots.txt files that another crawl requested, according to their lines
}

// unsent records the copy of another crawl's robots.txt, or an attempt that failed before a byte was sent.
func (s *jointRobots) unsent(r *partRequest) {
	if r.copied {
		s.copies = append(s.copies, r)
	} else {
		s.byRun[r.run] = append(s.byRun[r.run], r)
	}
}

// sharedRobots checks a request for a robots.txt that crawls share: a fresh file is not requested again (P1), and a failed file
// not before the end of its pause (P8).
func (j *joint) sharedRobots(r *partRequest) {
	s := &j.robots
	if r.start.Purpose == "robots" || s.byRun[r.run] == nil {
		s.byRun[r.run] = append(s.byRun[r.run], r)
	}
	if r.start.Purpose != "robots" || !r.start.Shares {
		return
	}
	origin := originOf(r.wanted())
	if isRobotsURL(r.start.URL) {
		j.requestedAgain(s.last[origin], r)
		j.triedAgain(s.failed[origin], r)
	}
	switch before := s.failed[origin]; {
	case r.end == nil || before != nil && before.heard().After(r.heard()):
	case r.failures > 0:
		s.failed[origin] = r
	default:
		delete(s.failed, origin)
	}
	if r.decidesRobots() && (s.last[origin] == nil || r.end.Expires.After(s.last[origin].end.Expires)) {
		s.last[origin] = r
	}
}

// copied checks that each copy equals the response received by the crawl that the copy names (P1).
func (j *joint) copied() {
	if j.dropped > 0 {
		j.Notes = append(j.Notes, fmt.Sprintf("%d robots.txt files were requested again that may have been dropped for want of room", j.dropped))
	}
	strangers := 0
	for _, c := range j.robots.copies {
		if of := j.robots.byRun[c.end.ByRun]; of == nil {
			strangers++
		} else {
			j.copyOf(c, of)
		}
	}
	if strangers > 0 {
		j.Notes = append(j.Notes, fmt.Sprintf("%d robots.txt files are copies from crawls that are not checked here", strangers))
	}
}

// decidesRobots reports whether other crawls use the response to r: it is neither a failure nor a redirect that is
// followed.
func (r *partRequest) decidesRobots() bool {
	e := r.end
	return e != nil && !e.Aborted && !e.Challenged && e.Error == "" && e.Wall == "" && e.Truncated == "" && !e.Expires.IsZero() &&
		!(e.Status >= 300 && e.Status < 400 && leadsTo(r.request) != "")
}

// requestedAgain checks a request for a robots.txt to which another crawl had received a response. The files of a crawl that has
// ended may be lost.
func (j *joint) requestedAgain(known, r *partRequest) {
	if known == nil || known.of == r.of || !sameMachine(known, r) || !known.heard().Before(r.start.Allowed) || known.alive.Before(r.start.Written) ||
		!r.start.Written.Before(known.end.Expires.Add(-Tolerance)) {
		return
	}
	if !known.end.Ended.After(r.start.Dropped) {
		j.dropped++
		return
	}
	j.violation("P1", r, known, "%s was requested again, although it had been answered and is valid until %s", r.start.URL, stamp(known.end.Expires))
}

// triedAgain checks a request for a robots.txt against the pause after another crawl's failed attempt (P8).
func (j *joint) triedAgain(failed, r *partRequest) {
	if failed == nil || failed.of == r.of || !sameMachine(failed, r) || !failed.heard().Before(r.start.Allowed) || failed.alive.Before(r.start.Written) {
		return
	}
	if gap, due := r.start.Written.Sub(failed.heard()), retryPause(failed.failures); gap < due-Tolerance {
		j.violation("P8", r, failed, "%s was requested again %v after attempt %d had failed, %v is due", r.start.URL, gap, failed.failures, due)
	}
}

// copyOf checks a copy against the requests of the crawl it names. Times of two machines may differ by the uncertainty of
// their clocks.
func (j *joint) copyOf(c *partRequest, requests []*partRequest) {
	for _, r := range requests {
		about := Tolerance
		if !sameMachine(c, r) {
			about += c.error() + r.error()
		}
		if e := r.end; r.start.Purpose == "robots" && e != nil && originOf(r.wanted()) == originOf(c.start.URL) && e.Ended.Sub(c.end.Ended).Abs() <= about &&
			e.Status == c.end.Status && (c.end.SHA256 == "" || strings.EqualFold(e.SHA256, c.end.SHA256)) && (c.start.Attempt > 0 || !e.Expires.Add(about).Before(c.end.Expires)) {
			return
		}
	}
	j.violation("P1", c, requests[0], "%s, said to be what %q was answered at %s: its ledger has no such answer", c.start.URL, c.end.By, stamp(c.end.Ended))
}

func (j *joint) violation(inv string, r, other *partRequest, format string, args ...any) {
	j.Violations = append(j.Violations, JointViolation{
		Invariant: inv, Host: r.start.Host, Message: fmt.Sprintf(format, args...),
		Lines: [2]JointLine{{r.of.Name, r.line}, {other.of.Name, other.line}},
	})
}
