package crawler

import (
	"bytes"
	"context"
	"errors"
	"math"
	"net/http"

	"github.com/amble-crawler/amble/extract"
	"github.com/amble-crawler/amble/fetcher"
	"github.com/amble-crawler/amble/frontier"
	"github.com/amble-crawler/amble/politeness"
	"github.com/amble-crawler/amble/weburl"
)

// sitemaps returns Requests for the sitemaps that the robots.txt of u's origin names, if the crawl follows sitemaps. It records them in
// the report in any case.
func (a *attempt) sitemaps(u weburl.URL) []frontier.Request {
	info := a.run.gate.Origin(u)
	if info.Rules == nil {
		return nil
	}
	for _, ref := range info.Rules.Sitemaps() {
		if _, err := u.RobotsURL().Resolve(ref); err != nil {
			ref = weburl.Redact(ref)
		}
		a.run.tally.sitemap(ref)
	}
	if !a.run.readsSitemaps(u) {
		return nil
	}
	return a.run.named(u)
}

// maxIndexLevels limits how many sitemap indexes may lead to a sitemap. The protocol allows one; a few sites have two. A sitemap's
// Request has their number as its depth.
const maxIndexLevels = 2

func (c *Config) sitemapRequest(to, via weburl.URL) frontier.Request {
	return frontier.Request{URL: to, Via: via, Kind: frontier.KindSitemap, Priority: c.sitemapPriority()}
}

// isPage reports whether the response to a request for a sitemap is an HTML page. Sites that have no sitemap at the address in robots.txt
// may redirect to a page.
func isPage(p *fetcher.Page) bool {
	if p.Status != http.StatusOK || !p.IsHTML() {
		return false
	}
	text, err := p.Text()
	if err != nil {
		return false
	}
	_, err = extract.Sitemap(bytes.NewReader(text), extract.SitemapOptions{}).Next()
	return errors.Is(err, extract.ErrNotSitemap)
}

// readSitemap returns the entries of a sitemap: pages in scope, at the depth of a seed's links, and further sitemaps. With Config.Sample
// it returns only the sitemaps, and stores the pages in v.listed. If the file has an error, the entries before it are used.
func (a *attempt) readSitemap(v *Visit) []frontier.Request {
	page := v.Page
	if page.Status != http.StatusOK {
		return nil
	}
	text, err := page.Text()
	if err != nil {
		return nil
	}
	c := &a.claim
	sm := extract.Sitemap(bytes.NewReader(text), extract.SitemapOptions{})
	var queue []frontier.Request
	v.listed = a.run.sampler.list()
	indexed := 0
	for e, err := sm.Next(); err == nil; e, err = sm.Next() {
		to, err := c.URL.Resolve(e.Loc)
		if err != nil {
			continue
		}
		switch {
		case e.Sitemap && c.Depth < maxIndexLevels && len(c.Hops) < a.run.cfg.Limits.Redirects && indexed < a.run.cfg.sitemapsOfAFile():
			indexed++
			s := a.run.cfg.sitemapRequest(to, c.URL)
			s.Depth = c.Depth + 1
			s.Hops = append(c.Hops[:len(c.Hops):len(c.Hops)], c.URL.String())
			queue = append(queue, s)
		case e.Sitemap:
		case a.run.sampler != nil:
			a.list(v.listed, to)
		case a.run.judge.admissible(to, 1, frontier.KindSitemap).fate == FateFollow:
			queue = append(queue, frontier.Request{URL: to, Depth: 1, Via: c.URL, Priority: a.run.judge.priorities.of(to)})
		}
	}
	return queue
}

// missedSitemaps queues the sitemaps of an origin whose robots.txt an earlier process read, when this process requests the first page of
// the origin: the earlier process may have been killed before it queued them.
func (r *run) missedSitemaps(ctx context.Context, u weburl.URL, p politeness.Purpose) error {
	if r.checkpoint == nil || !r.checkpoint.resumed || !r.readsSitemaps(u) || p == politeness.Robots || !r.tally.firstOf(u.Origin()) {
		return nil
	}
	_, err := r.frontier.Add(context.WithoutCancel(ctx), r.named(u)...)
	return err
}

// overSitemaps returns the Deferred visit of a sitemap whose host has used up its sitemap budget, otherwise nil.
func (a *attempt) overSitemaps() *Visit {
	if a.claim.Kind != frontier.KindSitemap || a.standsForSeed() {
		return nil
	}
	rule, ok := a.reserved.sitemapOf(a.claim.URL.Host())
	if ok {
		return nil
	}
	return &Visit{
		Outcome: Deferred, Reason: ReasonSitemapBudget, Rule: rule,
		Detail: "the crawl has read as many sitemaps of this host as it may",
	}
}

// sitemapsOfAFile limits the sitemaps that are queued from one robots.txt or index. Each sitemap beyond the host's budget gets a visit,
// and 500 indexes must not queue 50,000 each.
func (c *Config) sitemapsOfAFile() int {
	return int(min(c.Limits.Sitemaps.Value(), math.MaxInt/2)) * 2
}

// named returns Requests for the sitemaps that the robots.txt of u's origin names, if it is known, but at most sitemapsOfAFile. The first
// sitemap comes before all pages of its host, so that the pages that it lists are known; the other sitemaps take turns with the pages.
func (r *run) named(u weburl.URL) (queue []frontier.Request) {
	rules := r.gate.Origin(u).Rules
	if rules == nil {
		return nil
	}
	for _, ref := range rules.Sitemaps() {
		if to, err := u.RobotsURL().Resolve(ref); err == nil && len(queue) < r.cfg.sitemapsOfAFile() {
			s := r.cfg.sitemapRequest(to, u.RobotsURL())
			if len(queue) == 0 {
				s.Priority = max(s.Priority, 1)
			}
			queue = append(queue, s)
		}
	}
	return queue
}
