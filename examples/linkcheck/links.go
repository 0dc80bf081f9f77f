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

// place is where a link was found.
type place struct {
	Page    string `json:"page"`              // "" for the URL at which the check started
	Element string `json:"element,omitempty"` // its name; "style" and "import" for a style sheet
}

// link is one URL to which pages link.
type link struct {
	url  string       // as first written; the text of the page if it is not a valid URL
	fate crawler.Fate // of the first mention
	rule string
	on   []place
}

// links collects the links of pages and the outcome of each URL. It is the crawl's Handler.
type links struct {
	site *crawler.SeedScope

	mu       sync.Mutex
	pages    int // of the site, whose links were extracted
	links    map[weburl.Key]*link
	invalid  map[string]*link // by text: not valid URLs
	findings map[weburl.Key]finding
}

func newLinks(seed weburl.URL, site *crawler.SeedScope) *links {
	l := &links{
		site: site, links: map[weburl.Key]*link{}, invalid: map[string]*link{}, findings: map[weburl.Key]finding{},
	}
	l.links[seed.Key()] = &link{url: seed.String(), fate: crawler.FateFollow, on: []place{{}}}
	return l
}

// Handle implements crawler.Handler. Pages of other sites are only checked for existence, and the links of an error
// page are not part of the site.
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

// add records one link of a page. All links of a page are added consecutively.
func (l *links) add(page weburl.URL, x crawler.Link) {
	var known *link
	switch {
	case x.Fate == crawler.FateResource:
		return // not requested
	case !x.URL.IsZero():
		known = entry(l.links, x.URL.Key(), x.URL.String(), x)
	case x.Rule == weburl.ReasonScheme:
		return // mailto:, javascript: and the like
	default:
		ref := strings.Clone(x.Ref) // a copy, so that the page does not remain in memory
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

// follow returns what is known about the URL at which the redirects of a URL end, and the targets of the redirects.
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
