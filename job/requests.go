package job

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/amble-crawler/amble/politeness"
	"github.com/amble-crawler/amble/politeness/ledger"
	"github.com/amble-crawler/amble/robots"
	"github.com/amble-crawler/amble/weburl"
)

// findRequests reads from the ledger the requests for a URL in this spelling, and the robots.txt of u's origin that was in force at the
// first of them.
func (t *teller) findRequests(url string, u weburl.URL) (of, loads []Request, rules rulesFile, err error) {
	f := finder{url: url, wanted: member("url", url), needed: member("for", url), robots: member("purpose", politeness.Robots.String()), open: map[string]*Request{}, rules: rulesFile{of: u}}
	if err := t.files.eachLine(LedgerName, f.read); err != nil {
		return nil, nil, f.rules, err
	}
	for _, r := range f.loads {
		loads = append(loads, *r)
	}
	res := make([]Request, 0, len(f.found)+2)
	for _, r := range append([]*Request{f.rules.answer, f.rules.failed}, f.found...) {
		if r != nil {
			res = append(res, *r)
		}
	}
	return res, loads, f.rules, nil
}

// finder selects requests from a ledger.
type finder struct {
	url            string
	wanted, needed []byte
	robots         []byte
	loads          []*Request          // requests for resources of the page
	open           map[string]*Request // requests that have not ended
	found          []*Request
	rules          rulesFile
}

func (f *finder) read(n int, b []byte) bool {
	starts := has(b, f.wanted) || has(b, f.needed) || has(b, f.robots)
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
	case ledger.Copied:
		if len(f.found) == 0 && originOf(e.URL) == f.rules.of.Origin() {
			f.rules.copied(&Request{Line: n, Start: e, End: e})
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

// start returns the request that a line begins, or nil if it is not one of those sought.
func (f *finder) start(n int, e ledger.Entry) *Request {
	r := &Request{Start: e, Line: n}
	switch {
	case e.Purpose == politeness.Resource.String():
		if e.For == f.url && e.Event == "start" && len(f.loads) < maxLoads {
			f.loads = append(f.loads, r)
			return r
		}
	case e.URL == f.url && e.Event == "start":
		f.found = append(f.found, r)
		return r
	case e.Purpose == politeness.Robots.String() && originOf(e.For) == f.rules.of.Origin():
		return r
	}
	return nil
}

func (f *finder) ended(r *Request, e ledger.Entry) {
	r.End = e
	if r.Start.Purpose == politeness.Robots.String() && r.Start.URL != f.url && len(f.found) == 0 { // later ones did not decide about the URL
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

// rulesFile is the state of one origin's robots.txt according to a ledger.
type rulesFile struct {
	of     weburl.URL // a URL of the origin
	hops   []string   // redirects that are being followed
	via    []string   // redirects that led to answer
	answer *Request   // the last request whose response decided what robots.txt allows
	failed *Request   // a later request whose response does not decide
}

// add processes the end of a request for the file, or for a redirect target of it, like the gate.
func (f *rulesFile) add(r *Request) {
	e := &r.End
	hops := f.hops
	f.hops = nil
	switch policy := robots.ForStatus(e.Status); {
	case e.Aborted: // an aborted request decides nothing
	case e.Challenged: // a challenge decides nothing: the URL is requested again, at the same point in its redirects
		f.hops = hops
	case e.Err != "", e.Wall != "", e.Truncated != "" && e.Truncated != politeness.CutByLength, policy == robots.Unreachable:
		f.failed = r
	default:
		if to := redirect(r); policy == robots.Redirect && to != "" && len(hops) < robots.MaxRedirects {
			f.hops = append(hops, to)
			return
		}
		f.answer, f.failed, f.via = r, nil, hops
	}
}

// copied processes a response for the file that another crawl received.
func (f *rulesFile) copied(r *Request) {
	f.hops = strings.Fields(r.End.Via)
	f.add(r)
}

// redirect returns where an answer redirects to, or "" if nowhere.
func redirect(r *Request) string {
	u, err := weburl.Parse(r.Start.URL)
	if err != nil || r.End.Location == "" {
		return ""
	}
	to, err := u.Resolve(r.End.Location)
	if err != nil {
		return ""
	}
	return to.String()
}

// robots returns the robots.txt that decided about u, nil if none was requested.
func (t *teller) robots(f *rulesFile, u weburl.URL) (*politeness.OriginInfo, error) {
	if f.answer == nil && f.failed == nil {
		return nil, nil
	}
	last, info := f.failed, politeness.OriginInfo{Statuses: robots.StatusPolicy{ForbiddenDenies: t.crawl.Politeness.ForbiddenDenies}}
	if f.answer != nil {
		last, info.Known = f.answer, true
	}
	info.Source = robots.Source{
		RobotsURL: u.RobotsURL().String(), Status: last.End.Status, Wall: last.End.Wall, FetchedAt: last.End.Ended, Redirects: f.via,
		Stale: info.Known && f.failed != nil,
	}
	if info.Known && info.Statuses.ForStatus(last.End.Status) == robots.Obey {
		body, err := t.RobotsBody(last.End.SHA256)
		if err != nil {
			return nil, &Error{Kind: Refused, Err: err}
		}
		info.Rules = robots.Parse(body, robots.WithDialect(t.crawl.Politeness.Dialect), robots.WithOrigin(u.Origin()))
	}
	return &info, nil
}
