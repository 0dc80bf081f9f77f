package plan

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net/http"
	"time"

	"github.com/amble-crawler/amble/crawler"
	"github.com/amble-crawler/amble/extract"
	"github.com/amble-crawler/amble/fetcher"
	"github.com/amble-crawler/amble/frontier"
	"github.com/amble-crawler/amble/politeness"
	"github.com/amble-crawler/amble/weburl"
)

// Survey makes plans. It requests the robots.txt of each seed's host and the sitemaps that this file names, and nothing else.
type Survey struct {
	Client     *fetcher.Client
	Politeness politeness.Config // settings of the Client's Gate, and of the crawl
	Crawl      crawler.Config    // the crawl's scope and settings of hosts
	Service    time.Duration     // assumed time of a response
	Pages      int               // assumed number of pages of a host without sitemaps
	MaxPages   int               // page limit of the crawl; 0 or less: none
	MaxPerHost int               // page limit of each host; 0 or less: none
}

// Plan plans the crawl from these seeds. The plan has notes about everything that cannot be fetched. Plan returns an error only if the
// seeds give no scope.
func (s *Survey) Plan(ctx context.Context, seeds ...weburl.URL) (*Plan, error) {
	scope, err := s.Crawl.SeedScope(seeds...)
	if err != nil {
		return nil, err
	}
	p := &Plan{Rate: max(0, s.Politeness.Rate)}
	settingsOf, known := s.Crawl.SettingsOf(), map[string]bool{}
	for _, u := range seeds {
		if !known[u.Host()] {
			known[u.Host()] = true
			if out := s.Politeness.OptOut; out != nil && out(u.Hostname()) {
				p.Notes = append(p.Notes, u.Host()+" is on the opt-out list: nothing is requested from it")
				continue
			}
			h := s.host(ctx, scope, u)
			p.apply(&h, settingsOf, s.Service)
			p.Hosts = append(p.Hosts, h)
			p.sampled(&h, s.Crawl.Sample)
		}
	}
	p.unmet(&s.Crawl)
	p.Limit(s.MaxPages, s.MaxPerHost)
	p.SetBound(s.Service)
	return p, nil
}

// host returns the part of a plan that concerns one host.
func (s *Survey) host(ctx context.Context, scope crawler.Scope, u weburl.URL) Host {
	h := Host{Host: u.Host(), Pages: s.Pages, Source: "assumed"}
	info, err := s.Client.Robots(ctx, u)
	if err != nil {
		h.Problem = err.Error()
	}
	if addr, err := s.Client.Fetcher.Resolve(ctx, u); err == nil {
		h.Addr = addr.String()
	}
	state := s.Client.Gate.Host(u.Host()).HostState
	state.Latency = s.Service // the few responses so far are not representative, so the assumed time is used
	h.Delay, h.Clause = s.Politeness.DelayFor(state)
	if info.Rules != nil {
		h.Sitemaps = weburl.Shown(info.Rules.Sitemaps())
	}
	n, ok := s.sitemapPages(ctx, scope, u, h.Sitemaps)
	switch of := s.Crawl.Sample; {
	case of.N > 0:
		h.Pages, h.Source, h.listed = min(n, of.N), "sample", n
	case ok:
		h.Pages, h.Source = n, "sitemap"
	}
	return h
}

// maxSitemaps is the maximum number of sitemaps that are read for one host.
const maxSitemaps = 50

// sitemapPages counts the pages in scope that a host's sitemaps list.
func (s *Survey) sitemapPages(ctx context.Context, scope crawler.Scope, u weburl.URL, refs []string) (n int, ok bool) {
	seen, pages := map[string]bool{}, map[weburl.Key]bool{}
	for i := 0; i < len(refs) && len(seen) < maxSitemaps; i++ {
		to, err := u.RobotsURL().Resolve(refs[i])
		if err != nil || seen[to.String()] || to.Host() != u.Host() {
			continue
		}
		seen[to.String()] = true
		body, err := s.get(ctx, to)
		var moved *movedError
		if errors.As(err, &moved) {
			refs = append(refs, moved.to.String())
		}
		if err != nil {
			continue
		}
		ok = true
		sm := extract.Sitemap(bytes.NewReader(body), extract.SitemapOptions{})
		for e, err := sm.Next(); err == nil; e, err = sm.Next() {
			if e.Sitemap {
				refs = append(refs, e.Loc)
				continue
			}
			if p, err := to.Resolve(e.Loc); err == nil && scope.JudgeKind(p, frontier.KindPage).In {
				pages[p.Key()] = true
			}
		}
	}
	return len(pages), ok
}

// get requests a sitemap as a crawl does, after robots.txt, and returns the body of a response with status 200.
func (s *Survey) get(ctx context.Context, u weburl.URL) ([]byte, error) {
	page, err := s.Client.Get(ctx, u, politeness.Sitemap)
	if err != nil {
		return nil, err
	}
	switch to, err := u.Resolve(page.Header.Get("Location")); {
	case page.Status == http.StatusOK:
		return page.Text()
	case page.Status/100 == 3 && err == nil:
		return nil, &movedError{to}
	}
	return nil, fmt.Errorf("%s: status %d", u, page.Status)
}

// movedError reports a redirect to another URL.
type movedError struct{ to weburl.URL }

func (e *movedError) Error() string { return "moved to " + e.to.String() }
