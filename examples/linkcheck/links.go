package main

import (
	"cmp"
	"context"
	"strings"
	"sync"
	"unique"

	"github.com/amble-crawler/amble/crawler"
	"github.com/amble-crawler/amble/weburl"
)

// Reasons of links that were not checked, besides those of the crawler.
const (
	reasonExternal   = "external"
	reasonNotReached = "not_reached" // the crawl ended before
)

// place is where a link stands.
type place struct {
	Page    string `json:"page"`              // "" for the URL the check began with
	Element string `json:"element,omitempty"` // its name; "style" and "import" of a style sheet
}

// link is one URL that pages link to.
type link struct {
	url  string       // as first written; what stands in the page when it is no URL
	fate crawler.Fate // of the first mention
	rule string
	on   []place
}

// links collects what pages link to and what became of each URL. It is the crawl's Handler.
type links struct {
	site *crawler.SeedScope

	mu       sync.Mutex
	pages    int // of the site, read for links
	links    map[weburl.Key]*link
	invalid  map[string]*link // what is no URL that can be asked for, as written
	findings map[weburl.Key]finding
}

func newLinks(seed weburl.URL, site *crawler.SeedScope) *links {
	l := &links{
		site: site, links: map[weburl.Key]*link{}, invalid: map[string]*link{}, findings: map[weburl.Key]finding{},
	}
	l.links[seed.Key()] = &link{url: seed.String(), fate: crawler.FateFollow, on: []place{{}}}
	return l
}

// Handle implements crawler.Handler. Pages of other sites are only asked whether they are there, and
// what an error page links to is no part of the site.
func (l *links) Handle(_ context.Context, v *crawler.Visit) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.findings[v.URL.Key()] = judge(v)
	switch {
	case v.Outcome != crawler.Fetched:
		return nil
	case v.Status() >= 400, !l.site.Decide(v.URL).In:
		return crawler.SkipLinks
	}
	if v.Doc != nil {
		l.pages++
	}
	for _, x := range v.Links() {
		l.add(v.URL, x)
	}
	return nil
}

// add notes one link of a page. All links of a page are added in a row.
func (l *links) add(page weburl.URL, x crawler.Link) {
	var known *link
	switch {
	case x.Fate == crawler.FateResource:
		return // not asked for
	case !x.URL.IsZero():
		known = entry(l.links, x.URL.Key(), x.URL.String(), x)
	case x.Rule == weburl.ReasonScheme:
		return // mailto:, javascript: and the like
	default:
		ref := strings.Clone(x.Ref) // what is kept must not keep its page in memory
		known = entry(l.invalid, ref, ref, x)
	}
	at := place{page.String(), unique.Make(cmp.Or(x.Tag, x.Kind.String())).Value()}
	for i := len(known.on) - 1; i >= 0 && known.on[i].Page == at.Page; i-- {
		if known.on[i] == at {
			return
		}
	}
	known.on = append(known.on, at)
}

func entry[K comparable](m map[K]*link, key K, url string, x crawler.Link) *link {
	if m[key] == nil {
		m[key] = &link{url: url, fate: x.Fate, rule: x.Rule}
	}
	return m[key]
}

// follow is what is known of a URL where its redirects end, and the redirects' targets.
func (l *links) follow(key weburl.Key) (f finding, hops []string) {
	seen := map[weburl.Key]bool{}
	for {
		f, known := l.findings[key]
		switch {
		case !known:
			return finding{reason: reasonNotReached}, hops
		case f.verdict != moved:
			return f, hops
		case seen[key]:
			return finding{verdict: broken, reason: crawler.ReasonRedirectLoop, status: f.status}, hops
		}
		seen[key] = true
		hops = append(hops, f.to.String())
		key = f.to.Key()
	}
}
