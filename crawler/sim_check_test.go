package crawler_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/amble-crawler/amble/crawltest"
	"github.com/amble-crawler/amble/politeness"
	"github.com/amble-crawler/amble/politeness/audit"
	"github.com/amble-crawler/amble/politeness/ledger"
)

// check verifies the visits and the ledger of the finished crawl.
func (s *sim) check() {
	if len(s.visits.all) != len(s.visits.by) {
		s.t.Errorf("%d visits of %d URLs", len(s.visits.all), len(s.visits.by))
	}
	ledger := s.disk.content()
	rep, err := audit.Check(bytes.NewReader(ledger), s.audit, s.disk.evidence)
	if err != nil {
		s.t.Error(err)
		return
	}
	for _, v := range append(rep.Violations, paced(s.t, ledger, s.audit, s.disk.evidence)...) {
		s.t.Error(v, "\n", lines(ledger, v.Host))
	}
	starts, ends := s.read(ledger)
	s.compare()
	s.answers(starts, ends)
	s.admitted(starts)
	s.budgets()
	s.rate(ledger)
}

// answers checks that the ledger has the response of each visit. If a request's end could not be recorded, the request
// is repeated, as after a kill.
func (s *sim) answers(starts []ledger.Entry, ends map[permitKey]ledger.Entry) {
	type answer struct {
		url    string
		status int
	}
	got := map[answer]bool{}
	for _, e := range starts {
		if end, ok := ends[permitKey{e.Run, e.ID}]; ok {
			got[answer{e.URL, end.Status}] = true
		}
	}
	for u, v := range s.visits.by {
		if v.Status() > 0 && !got[answer{u, v.Status()}] {
			s.t.Errorf("P10 visit of %s at %v: the ledger has no answer of %d", u, v.Ended.Sub(s.w.Start()), v.Status())
		}
	}
}

// paced returns the findings of a line-by-line audit.
func paced(t *testing.T, ledger []byte, c audit.Config, body audit.Body) (all []audit.Violation) {
	p := audit.NewPacer(c, body)
	for b := range bytes.Lines(ledger) {
		var l audit.Line
		if json.Unmarshal(b, &l) == nil {
			_, _, found := p.Add(&l)
			all = append(all, found...)
		}
	}
	return all
}

// lines returns the ledger's lines about one host.
func lines(ledger []byte, host string) string {
	var b strings.Builder
	n := 0
	for l := range bytes.Lines(ledger) {
		if n++; bytes.Contains(l, []byte(`"host":"`+host+`"`)) {
			fmt.Fprintf(&b, "%d %s", n, l)
		}
	}
	return b.String()
}

// permitKey identifies a Permit.
type permitKey struct {
	run string
	id  uint64
}

// read returns the starts and ends in the ledger. The audit has already reported invalid lines.
func (s *sim) read(all []byte) (starts []ledger.Entry, ends map[permitKey]ledger.Entry) {
	ends = map[permitKey]ledger.Entry{}
	for l := range bytes.Lines(all) {
		var e ledger.Entry
		if json.Unmarshal(l, &e) != nil {
			continue
		}
		switch e.Event {
		case "start":
			starts = append(starts, e)
		case "end":
			ends[permitKey{e.Run, e.ID}] = e
		}
	}
	return starts, ends
}

// lost counts the received responses that are not in the ledger, by URL.
func (s *sim) lost() map[string]int {
	lost := map[string]int{}
	s.eachRequest(func(r *crawltest.Request, _, end *ledger.Entry) {
		if r.Complete && (end == nil || end.Status != r.Status) {
			lost[r.URL]++
		}
	})
	return lost
}

// eachRequest calls f for each request that the servers saw, with its ledger lines, or nil.
func (s *sim) eachRequest(f func(r *crawltest.Request, start, end *ledger.Entry)) {
	starts, ends := s.read(s.disk.content())
	waiting := map[string][]ledger.Entry{}
	key := func(url, addr string, at time.Time) string {
		return fmt.Sprint(url, " at ", addr, " ", at.Add(time.Microsecond-1).UnixMicro())
	}
	for _, e := range starts {
		k := key(e.URL, strings.TrimPrefix(e.Addr, "::ffff:"), e.Written)
		waiting[k] = append(waiting[k], e)
	}
	for _, r := range s.w.Requests() {
		k := key(r.URL, r.Addr.Addr().String(), r.Start)
		if len(waiting[k]) == 0 {
			f(&r, nil, nil)
			continue
		}
		start := waiting[k][0]
		waiting[k] = waiting[k][1:]
		if end, ok := ends[permitKey{start.Run, start.ID}]; ok {
			f(&r, &start, &end)
		} else {
			f(&r, &start, nil)
		}
	}
}

// compare checks that the ledger has every request that the servers saw, with a start before its arrival and its
// outcome (P10), and that no page is requested again if the ledger has its response.
func (s *sim) compare() {
	answered := map[string]bool{}
	s.eachRequest(func(r *crawltest.Request, start, end *ledger.Entry) {
		switch {
		case start == nil:
			s.t.Errorf("P10 request %d, %s at %v: the ledger has no start of it", r.ID, r.URL, r.Start.Sub(s.w.Start()))
		case end != nil:
			s.compareEnd(r, end)
		case s.livedOn(r):
			s.t.Errorf("P10 request %d, %s: the ledger has no end of it", r.ID, r.URL)
		}
		if start == nil || start.Purpose == politeness.Robots.String() {
			return
		}
		if answered[r.URL] {
			s.t.Errorf("request %d, %s at %v: the ledger has its answer already", r.ID, r.URL, r.Start.Sub(s.w.Start()))
		}
		answered[r.URL] = answered[r.URL] || end != nil && r.Complete && end.Status == r.Status && final(r.Status)
	})
}

// final reports whether a status needs no retry.
func final(status int) bool {
	return status >= 200 && status < 500 && status != http.StatusRequestTimeout && status != http.StatusTooEarly && status != http.StatusTooManyRequests
}

// livedOn reports whether the process that made a request had time to record its end.
func (s *sim) livedOn(r *crawltest.Request) bool {
	for _, p := range s.ran {
		if !r.Start.Before(p.from) && !r.Start.After(p.to) {
			return !p.full && !r.End.IsZero() && p.to.Sub(r.End) > 10*time.Second
		}
	}
	return false
}

// compareEnd checks that the ledger has everything about a response that an audit and another process need.
func (s *sim) compareEnd(r *crawltest.Request, e *ledger.Entry) {
	wrong := func(what string, is, want any) {
		if is != want {
			s.t.Errorf("P10 request %d, %s: the ledger has %s %v, it was %v", r.ID, r.URL, what, is, want)
		}
	}
	if !r.Complete || e.Aborted || e.Err != "" || e.Truncated != "" {
		return
	}
	if e.Ended.Before(r.End) {
		wrong("the end", e.Ended, r.End)
	}
	wrong("the status", e.Status, r.Status)
	wrong("the Location", e.Location, r.Answer.Get("Location"))
	if r.Status == http.StatusTooManyRequests || r.Status == http.StatusServiceUnavailable {
		wrong("the Retry-After", e.RetryAfter, r.Answer.Get("Retry-After"))
		if theirs := r.Answer.Get("Date"); e.RetryAfter != "" && theirs != "" {
			wrong("the Date", e.Date, theirs)
		}
	}
	if e.Purpose == "robots" && e.Status == 200 {
		if _, err := s.disk.evidence(e.SHA256); err != nil {
			s.t.Errorf("P10 request %d, %s: its body is %v", r.ID, r.URL, err)
		}
	}
}

// admitted checks each start against the lifetime of its Permit, and the time of the Permit against hours and opt-outs.
func (s *sim) admitted(starts []ledger.Entry) {
	for _, e := range starts {
		wrong := func(what string) {
			s.t.Errorf("Permit %d, %s, given at %v: %s", e.ID, e.URL, e.Allowed.Sub(s.w.Start()), what)
		}
		if late := earliest(e.Written).Sub(e.Allowed); late > s.ttl() {
			wrong(fmt.Sprintf("used after %v", late))
		}
		wanted := e.For
		if wanted == "" {
			wanted = e.URL
		}
		if t := s.front.deadline(wanted, e.Allowed); !t.IsZero() && earliest(e.Written).After(t) {
			wrong(fmt.Sprintf("P12 used %v after its claim", e.Written.Sub(t)))
		}
		if hs := s.config.Politeness.Hours; len(hs) > 0 && !slices.ContainsFunc(s.expect.Hours, func(h crawltest.Span) bool { return mayBeWithin(h, e.Allowed) && mayBeWithin(h, e.Written) }) {
			wrong("outside the hours")
		}
		name, _, _ := strings.Cut(e.Host, ":")
		if from, out := s.out[name]; out && !earliest(e.Allowed).Before(from) {
			wrong("the host has opted out")
		}
	}
}

// earliest returns the earliest instant for a time in the ledger, which is rounded up to microseconds.
func earliest(t time.Time) time.Time { return t.Add(1 - time.Microsecond) }

// mayBeWithin reports whether a time in the ledger may be within the hours.
func mayBeWithin(h crawltest.Span, t time.Time) bool { return within(h, t) || within(h, earliest(t)) }

// within reports whether an instant is in a part of the day.
func within(h crawltest.Span, t time.Time) bool {
	at := t.UTC().Sub(t.UTC().Truncate(24 * time.Hour))
	if h.From < h.To {
		return h.From <= at && at < h.To
	}
	return h.From <= at || at < h.To
}

// rate checks that all Permits together keep exactly to the rate.
func (s *sim) rate(all []byte) {
	if s.config.Politeness.Rate <= 0 {
		return
	}
	var given []time.Time
	seen := map[permitKey]bool{}
	for l := range bytes.Lines(all) {
		var e ledger.Entry
		if json.Unmarshal(l, &e) == nil && !e.Allowed.IsZero() && !seen[permitKey{e.Run, e.ID}] {
			seen[permitKey{e.Run, e.ID}] = true
			given = append(given, e.Allowed)
		}
	}
	slices.SortFunc(given, time.Time.Compare)
	least := time.Duration(float64(time.Second)/s.config.Politeness.Rate) - 10*time.Microsecond
	for i := 1; i < len(given); i++ {
		if d := given[i].Sub(given[i-1]); d < least {
			s.t.Errorf("two Permits within %v, at %v: the rate allows one in %v", d, given[i].Sub(s.w.Start()), least)
		}
	}
}
