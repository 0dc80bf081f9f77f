package crawler_test

import (
	"math/rand/v2"
	"slices"
	"strings"
	"time"

	"github.com/amble-crawler/amble/crawler"
	"github.com/amble-crawler/amble/crawltest"
)

// setBudgets gives budgets to some entries of Config.Hosts. Pages left out because of a budget may be requested or not.
func (s *sim) setBudgets(rng *rand.Rand) {
	for i := range s.config.Hosts {
		e := &s.config.Hosts[i]
		switch rng.IntN(6) {
		case 0:
			e.Pages = crawler.Limit(1 + rng.IntN(6))
		case 1:
			e.Bytes = crawler.Limit(1 + rng.IntN(3000))
		case 2:
			e.Time = time.Duration(1+rng.IntN(20)) * time.Second
		}
	}
	for _, h := range s.web.Hosts() {
		if e := s.entryOf(h); e != nil && (e.Pages > 0 || e.Bytes > 0 || e.Time > 0) {
			s.web.Excuse(h.Name)
		}
	}
}

// budgets checks, by what the servers saw, that no Run exceeded the budget of a host.
func (s *sim) budgets() {
	for _, h := range s.web.Hosts() {
		e := s.entryOf(h)
		if e == nil || e.Pages == 0 && e.Bytes == 0 && e.Time == 0 {
			continue
		}
		var all []crawltest.Request
		for _, r := range s.w.Requests() {
			if r.Host == h.Host {
				all = append(all, r)
			}
		}
		slices.SortFunc(all, func(a, b crawltest.Request) int { return a.Start.Compare(b.Start) })
		for _, run := range s.runs {
			s.budget(h, e, run, all)
		}
	}
}

// budget checks one Run and one host; all has the requests to the host in order.
func (s *sim) budget(h crawltest.RandomHost, e *crawler.HostSettings, run span, all []crawltest.Request) {
	wrong := func(what string, is, most any) {
		s.t.Errorf("%s: %s %v in the Run from %v, the budget of entry %s is %v", h.Host, what, is, run.from.Sub(s.w.Start()), e.Match, most)
	}
	if n := s.fetched(h, run); e.Pages > 0 && crawler.Limit(n) > e.Pages {
		wrong("pages:", n, e.Pages)
	}
	// A request allowed in time may be sent later, and an own host may have other requests in flight.
	slack := time.Duration(0)
	if _, own := s.hosts[h.Host]; own || s.Careless || s.Hasty {
		slack = s.ttl() + 5*time.Second
	}
	var first, over time.Time // time of the first request, and when the byte budget was used up
	var bytes int64
	for _, r := range all {
		forOther := strings.Contains(r.URL, "/robots-of-") // the robots.txt of another host redirects here, and needs the response
		switch {
		case r.Start.Before(run.from) || !r.Start.Before(run.to): // a Run ends later than its requests begin
			continue
		case first.IsZero() && !forOther: // requests for other hosts do not start the time budget
			first = r.Start
		}
		if late := r.Start.Sub(first) - e.Time - s.ttl(); e.Time > 0 && late > 0 && !forOther {
			wrong("a request after", r.Start.Sub(first), e.Time)
		}
		if !over.IsZero() && r.Start.Sub(over) > slack && !forOther {
			wrong("a request after bytes:", bytes, e.Bytes)
		}
		if bytes += s.received(&r); e.Bytes > 0 && over.IsZero() && crawler.Limit(bytes) >= e.Bytes {
			over = r.End
		}
	}
}

// received returns the number of body bytes that certainly arrived.
func (s *sim) received(r *crawltest.Request) int64 {
	if !r.Complete || r.Status != 200 {
		return 0
	}
	return r.Bytes
}

// fetched counts the page visits of a host in a Run. A Run begins at the instant at which the last visit of the previous Run ends.
func (s *sim) fetched(h crawltest.RandomHost, run span) (n int) {
	for u, v := range s.visits.by {
		if strings.HasPrefix(u, h.Origin+"/") && v.Outcome == crawler.Fetched && !v.Started.Before(run.from) && !v.Ended.After(run.to) {
			n++
		}
	}
	return n
}
