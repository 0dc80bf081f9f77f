package main

import (
	"encoding/json"
	"fmt"

	"github.com/amble-crawler/amble/politeness"
	"github.com/amble-crawler/amble/politeness/ledger"
	"github.com/amble-crawler/amble/robots"
	"github.com/amble-crawler/amble/weburl"
)

// findRequests reads the ledger for the requests for a URL in this spelling, and for the robots.txt of u's origin that was
// in force when the first of them was made.
func findRequests(dir, url string, u weburl.URL) ([]request, rulesFile, error) {
	f := finder{url: url, wanted: member("url", url), robots: member("purpose", politeness.Robots.String()), open: map[string]*request{}, rules: rulesFile{of: u}}
	if err := eachLine(dir, ledgerName, f.read); err != nil {
		return nil, f.rules, err
	}
	res := make([]request, 0, len(f.found)+2)
	for _, r := range append([]*request{f.rules.answer, f.rules.failed}, f.found...) {
		if r != nil {
			res = append(res, *r)
		}
	}
	return res, f.rules, nil
}

// finder picks requests from a ledger.
type finder struct {
	url            string
	wanted, robots []byte
	open           map[string]*request // that have no end so far
	found          []*request
	rules          rulesFile
}

func (f *finder) read(n int, b []byte) bool {
	starts := has(b, f.wanted) || has(b, f.robots)
	if !starts && len(f.open) == 0 {
		return true
	}
	var e ledger.Entry
	if json.Unmarshal(b, &e) != nil {
		return true
	}
	id := fmt.Sprint(e.Run, " ", e.ID)
	switch e.Event {
	case "start":
		if r := f.start(n, e); r != nil {
			f.open[id] = r
		}
	case "unsent":
		if r := f.start(n, e); r != nil && e.Purpose == politeness.Robots.String() {
			f.ended(r, e)
		}
	default:
		if r := f.open[id]; r != nil {
			f.ended(r, e)
			delete(f.open, id)
		}
	}
	return true
}

// start is the request that a line begins, nil if it is of no interest.
func (f *finder) start(n int, e ledger.Entry) *request {
	r := &request{start: e, line: n}
	switch {
	case e.URL == f.url && e.Event == "start":
		f.found = append(f.found, r)
		return r
	case e.Purpose == politeness.Robots.String() && originOf(e.For) == f.rules.of.Origin():
		return r
	}
	return nil
}

func (f *finder) ended(r *request, e ledger.Entry) {
	r.end = e
	if r.start.URL != f.url && len(f.found) == 0 { // later ones did not decide about it
		f.rules.add(r)
	}
}

func originOf(url string) string {
	u, err := weburl.Parse(url)
	if err != nil {
		return ""
	}
	return u.Origin()
}

// rulesFile is what a ledger tells of the robots.txt of one origin.
type rulesFile struct {
	of     weburl.URL // a URL of the origin
	hops   []string   // of redirects that are being followed
	via    []string   // of those that led to answer
	answer *request   // the last one that says what is allowed
	failed *request   // a later one that does not
}

// add takes in the end of a request for the file, or for what it redirects to, as the gate does.
func (f *rulesFile) add(r *request) {
	e := &r.end
	hops := f.hops
	f.hops = nil
	switch policy := robots.ForStatus(e.Status); {
	case e.Aborted: // says nothing about the file
	case e.Err != "", e.Truncated != "" && e.Truncated != politeness.CutByLength, policy == robots.Unreachable:
		f.failed = r
	default:
		if to := redirect(r); policy == robots.Redirect && to != "" && len(hops) < robots.MaxRedirects {
			f.hops = append(hops, to)
			return
		}
		f.answer, f.failed, f.via = r, nil, hops
	}
}

// redirect is where an answer leads, "" if nowhere.
func redirect(r *request) string {
	u, err := weburl.Parse(r.start.URL)
	if err != nil || r.end.Location == "" {
		return ""
	}
	to, err := u.Resolve(r.end.Location)
	if err != nil {
		return ""
	}
	return to.String()
}

// robots judges u by the robots.txt that was in force, nil if none was asked for.
func (s *story) robots(q question, u weburl.URL, statuses robots.StatusPolicy) (*judgement, error) {
	f := &s.rules
	if f.answer == nil && f.failed == nil {
		return nil, nil
	}
	last, info := f.failed, politeness.OriginInfo{Statuses: statuses}
	if f.answer != nil {
		last, info.Known = f.answer, true
	}
	info.Source = robots.Source{
		RobotsURL: u.RobotsURL().String(), Status: last.end.Status, FetchedAt: last.end.Ended, Redirects: f.via,
		Stale: info.Known && f.failed != nil,
	}
	if info.Known && statuses.ForStatus(last.end.Status) == robots.Obey {
		body, err := keptRobots(s.Dir, last.end.SHA256)
		if err != nil {
			return nil, err
		}
		info.Rules = robots.Parse(body, robots.WithDialect(q.dialect), robots.WithOrigin(u.Origin()))
	}
	return q.online(u, info), nil
}
