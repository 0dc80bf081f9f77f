package crawler

import (
	"fmt"
	"time"

	"github.com/amble-crawler/amble/frontier"
)

// reservation holds everything that one visit has been counted in before it is known whether it is final:
// the pages of the crawl and of its host, the bodies among the duplicates, and the crowds, for its links
// and the Handler's additions. commit keeps all of it when the visit is final. Whatever an attempt has not
// committed when it ends is released, on every path: see attempt.serve.
type reservation struct {
	run *run

	ticket bool               // one of the crawl's pages, taken before the claim
	host   string             // one of this host's pages; "": none
	maps   string             // one of this host's sitemaps; "": none
	page   bool               // the visit is a page or a sitemap: ticket, host and maps stay counted
	body   meeting            // what duplicates has counted
	links  []frontier.Request // counted in crowds: the links of the page
	work   *work              // counted in crowds: the additions of the Handler
}

// pageOf reserves a page of a host, for which an entry of Config.Hosts may hold. It returns false if the host has used
// up a budget, with the rule of the entry that sets it. A page that was begun needs no more of its host.
func (s *reservation) pageOf(host string, h *HostSettings, begun bool) (rule string, ok bool) {
	if rule := s.run.tally.overBudget(host, h, time.Now()); rule != "" && !begun {
		return rule, false
	}
	most, rule := s.run.cfg.pagesOf(h)
	if !s.run.tally.reserve(host, most) {
		return rule, false
	}
	s.host = host
	return "", true
}

// sitemapOf reserves a sitemap of a host. It returns false if the host has used up the budget, with the rule that says so.
func (s *reservation) sitemapOf(host string) (rule string, ok bool) {
	most := budgets[kindSitemaps].host.of(&s.run.cfg, nil)
	if !s.run.tally.reserveSitemap(host, most) {
		return fmt.Sprintf("%d sitemaps", most), false
	}
	s.maps = host
	return "", true
}

// commit keeps what is reserved, because the visit is final.
func (s *reservation) commit() {
	if s.ticket {
		s.run.budget.settle(true)
	}
	*s = reservation{run: s.run}
}

// release takes back what is reserved and not committed.
func (s *reservation) release() {
	s.releasePage()
	s.releaseLinks()
	s.run.duplicates.forget(s.body)
	*s = reservation{run: s.run}
}

// releasePage takes back the page. A URL that returns to the queue, or that is not a page, must not keep
// the next claim from its place, so this happens before the URL is settled.
func (s *reservation) releasePage() {
	if s.ticket {
		s.run.budget.settle(false)
	}
	if s.host != "" {
		s.run.tally.unreserve(s.host)
	}
	if s.maps != "" {
		s.run.tally.unreserveSitemap(s.maps)
	}
	s.ticket, s.host, s.maps = false, "", ""
}

// releaseLinks takes back the links and the Handler's additions, which are not queued.
func (s *reservation) releaseLinks() {
	s.releasePageLinks()
	if s.work != nil {
		s.work.undo()
	}
}

// releasePageLinks takes back only the links of the page.
func (s *reservation) releasePageLinks() {
	s.run.judge.uncount(s.links)
	s.links = nil
}
