// Package check finds what is broken on a site that a job has crawled: links that lead nowhere, with every page that has them, fragments
// that name no element, redirects to mend, and mixed content.
//
// The job should follow links to other sites by one step (crawler.ScopeConfig.Beyond) and read resources, and keep its links or an archive
// (job.Config.Links and Archive). Fragments need the archive. URLs that the job has not requested are counted, not judged.
//
// # Vocabulary
//
// The site comprises all URLs in the scope of the job. A finding is a URL with something to mend and the pages that link to it. A broken
// URL has no page for any reader. An undecided URL gave a response that proves nothing, such as a request to log in.
//
//	r, err := job.Read("site")
//	defer r.Close()
//	result, err := check.Job(ctx, r)
//	for _, f := range result.Findings {
//		fmt.Println(f.Why(), f.Pages)
//	}
package check

import (
	"context"
	"errors"
	"hash/maphash"
	"io/fs"
	"slices"
	"strings"

	"github.com/amble-crawler/amble/crawler"
	"github.com/amble-crawler/amble/job"
	"github.com/amble-crawler/amble/job/replay"
	"github.com/amble-crawler/amble/sink"
	"github.com/amble-crawler/amble/weburl"
)

// Reasons of findings that are not failed requests. A status of 400 or more has the reason "http_" and the status; other failures
// have the reason code of the visit, such as fetcher.ReasonNXDomain.
const (
	reasonFragment = "fragment"      // no element of the page has the name after "#"
	reasonRedirect = "redirect"      // the link works, through a redirect
	reasonMixed    = "mixed_content" // a page loaded over https loads a resource over http
	reasonRobots   = "robots"        // robots.txt forbids the request: nothing is known about the URL
)

// Level holds the severity of a finding.
type Level int

// The levels, worst first.
const (
	Broken    Level = iota // there is no page
	Undecided              // the response proves nothing: a login form, "too many requests", or a bot wall
	Mend                   // the link works but should be changed: a redirect, or mixed content
	Unknown                // robots.txt forbids the request
)

// Finding is a URL with something to mend. Its JSON form is a line of [Result.WriteJSON].
type Finding struct {
	URL    string `json:"url"` // target as written in the first link, with the fragment for "fragment"; unparsed if it is not a valid URL
	Status int    `json:"status"`
	Reason string `json:"reason"`
	Level  Level  `json:"-"`
	Pages  []Page `json:"pages"` // pages that link to URL, in the order of the crawl; empty for a seed

	// Redirects are the URLs to which the requests were redirected, in their order.
	Redirects []string `json:"redirects,omitempty"`
}

// Page is a page with a link.
type Page struct {
	URL  string `json:"url"`
	Text string `json:"text"` // the link's text, at most 256 bytes; "" for a resource
	Kind string `json:"kind"` // kind of the reference: anchor, image, …
}

// Result is the result of a check.
type Result struct {
	Findings []Finding // sorted by level, worst first, then by reason, then by number of pages, largest first

	Pages     int            // pages of the site that have links
	Links     int            // distinct URLs to which these pages link
	Unchecked map[string]int // links that the crawl did not request, by reason
	Notes     []string       // skipped checks, with the reason
}

// Broken returns the number of broken URLs.
func (r *Result) Broken() (n int) {
	for i := range r.Findings {
		if r.Findings[i].Level == Broken {
			n++
		}
	}
	return n
}

// checker collects what a job has recorded about the links of a site.
type checker struct {
	job  *job.Reader
	site *crawler.SeedScope
	key  func(weburl.URL) weburl.Key

	urls  map[weburl.Key]*verdict // verdict on each visited URL
	found map[finding]*Finding
	order []*Finding // findings in the order in which they were found

	// Sorted hashes of the element names to which pages link, by page of the site. After fragments, only names that the page lacks remain.
	names map[weburl.Key][]uint64
	seed  maphash.Seed

	// State of the page whose links are read.
	from   string
	counts bool // the page belongs to the site
	https  bool

	firstOnly bool // the job kept only the first link to each URL

	links map[weburl.Key]string // keyed by target: the reason why the crawl did not request the target; "" if it did
	res   Result
}

// finding identifies a Finding.
type finding struct {
	url, reason string
}

// Job checks the links of a job's pages. It needs some 100 bytes of memory for each URL that the job has visited, and reads the
// job's files up to three times. The error is that of reading a file, or that of ctx.
func Job(ctx context.Context, r *job.Reader) (*Result, error) {
	m, err := r.Manifest()
	if err != nil {
		return nil, err
	}
	cfg, err := r.Config()
	if err == nil {
		r, err = r.Committed() // files that have lost their ends are errors
	}
	if err != nil {
		return nil, err
	}
	seeds := make([]weburl.URL, 0, len(m.Seeds))
	for _, s := range m.Seeds {
		if u, err := weburl.Parse(s); err == nil {
			seeds = append(seeds, u)
		}
	}
	kind := cfg.Crawl.Scope.Kind
	if kind == "" {
		kind = crawler.ScopeHost
	}
	site, err := crawler.NewSeedScope(kind, cfg.Crawl.Scope.Rules, seeds...)
	if err != nil {
		return nil, err
	}
	c := &checker{
		job: r, site: site, key: cfg.Crawl.Canonical.Key, urls: map[weburl.Key]*verdict{}, found: map[finding]*Finding{},
		names: map[weburl.Key][]uint64{}, seed: maphash.MakeSeed(), links: map[weburl.Key]string{},
	}
	for v, err := range r.Visits() {
		if err != nil {
			return nil, err
		}
		c.visit(v)
	}
	if err := c.lookForLinks(cfg.Since); err != nil {
		return nil, err
	}
	if err := c.readLinks(ctx, c.link); err != nil {
		return nil, err
	}
	if lacking, err := c.fragments(ctx); err != nil {
		return nil, err
	} else if lacking {
		if err := c.readLinks(ctx, c.fragment); err != nil {
			return nil, err
		}
	}
	c.unlinked()
	return c.result(), nil
}

// lookForLinks finds out whether the job kept its links, or a complete archive to read them from.
func (c *checker) lookForLinks(since string) error {
	switch kept, err := c.job.Open(job.LinksName); {
	case err == nil:
		return kept.Close()
	case !errors.Is(err, fs.ErrNotExist):
		return err
	}
	archives, err := c.job.Archives()
	if c.firstOnly = len(archives) == 0 || since != "" || replay.Check(c.job) != nil; c.firstOnly {
		c.res.Notes = append(c.res.Notes, "the crawl kept neither its links nor an archive of all pages: each URL has only the first page that links to it, without the text")
	}
	return err
}

// readLinks calls f with each link of the job's pages of the site.
func (c *checker) readLinks(ctx context.Context, f func(*sink.Outlink, Page)) error {
	each := func(l *sink.Outlink) error {
		if l.From != c.from {
			c.page(l.From)
		}
		if c.counts {
			f(l, Page{URL: c.from, Text: l.Text, Kind: l.Kind})
		}
		return ctx.Err()
	}
	if !c.firstOnly {
		_, err := replay.Links(ctx, c.job, each)
		return err
	}
	for v, err := range c.job.Visits() {
		if err != nil {
			return err
		}
		if v.Via != "" {
			if err := each(&sink.Outlink{From: v.Via, To: v.URL, Fate: string(crawler.FateFollow)}); err != nil {
				return err
			}
		}
	}
	return nil
}

// link judges a link, and records a finding if something is wrong.
func (c *checker) link(l *sink.Outlink, at Page) {
	if l.To == "" {
		if l.Rule == weburl.ReasonSyntax {
			c.add(l.Ref, &verdict{level: Broken, reason: weburl.ReasonSyntax}, nil, at)
		}
		return // mailto:, javascript: and similar schemes
	}
	u, err := weburl.Parse(l.To)
	if err != nil {
		return
	}
	if c.https && u.Scheme() == "http" && isResource(l.Kind) {
		c.add(l.To, &verdict{level: Mend, reason: reasonMixed}, nil, at)
	}
	k := c.key(u)
	v, hops := c.follow(k)
	if v == nil {
		c.links[k] = l.Fate
		return
	}
	c.links[k] = ""
	switch {
	case v.level == unchecked:
		c.links[k] = v.reason
	case v.level != good:
		c.add(l.To, v, hops, at)
	case len(hops) > 0:
		c.add(l.To, &verdict{level: Mend, reason: reasonRedirect, status: c.urls[k].status}, hops, at)
		fallthrough
	default:
		if v.html {
			c.want(l)
		}
	}
}

// page is called before the links of each page. It ignores pages of other sites and error pages.
func (c *checker) page(from string) {
	c.from, c.counts = strings.Clone(from), false
	u, err := weburl.Parse(from)
	if err != nil {
		return
	}
	v := c.urls[c.key(u)]
	c.https = u.Scheme() == "https"
	if c.counts = c.site.Decide(u).In && v != nil && v.level == good; c.counts && !v.read {
		v.read = true
		c.res.Pages++
	}
}

// follow returns the verdict on the URL where the redirects from k end, and the URLs in between. The verdict is nil if that URL
// was not visited.
func (c *checker) follow(k weburl.Key) (v *verdict, hops []string) {
	for v = c.urls[k]; v != nil && v.level == moved; v = c.urls[k] {
		hops = append(hops, v.to)
		to, err := weburl.Parse(v.to)
		if err != nil || len(hops) > maxHops {
			return &verdict{level: Broken, reason: crawler.ReasonRedirectLoop, status: v.status}, hops
		}
		k = c.key(to)
	}
	return v, hops
}

const maxHops = 30

// add records that a page links to a URL that has a finding.
func (c *checker) add(url string, v *verdict, hops []string, at Page) {
	f := c.found[finding{url, v.reason}]
	if f == nil {
		f = &Finding{URL: strings.Clone(url), Status: v.status, Reason: v.reason, Level: v.level, Redirects: hops, Pages: []Page{}}
		c.found[finding{f.URL, f.Reason}] = f
		c.order = append(c.order, f)
	}
	for i := len(f.Pages) - 1; i >= 0 && f.Pages[i].URL == at.URL; i-- {
		if f.Pages[i] == at {
			return
		}
	}
	if at.URL != "" {
		at.Text, at.Kind = strings.Clone(at.Text), strings.Clone(at.Kind)
		f.Pages = append(f.Pages, at)
	}
}

// unlinked adds the broken URLs to which no page links: seeds and URLs listed in a sitemap.
func (c *checker) unlinked() {
	for k, v := range c.urls {
		_, linked := c.links[k]
		if v.level == moved || v.level == good || v.level == unchecked || linked {
			continue
		}
		c.add(v.url, v, nil, Page{URL: v.via})
	}
}

// result sorts the findings.
func (c *checker) result() *Result {
	r := &c.res
	r.Links, r.Unchecked = len(c.links), map[string]int{}
	for _, why := range c.links {
		if why != "" {
			r.Unchecked[why]++
		}
	}
	for _, f := range c.order {
		r.Findings = append(r.Findings, *f)
	}
	pages := map[string]int{} // number of pages by reason
	for i := range r.Findings {
		pages[r.Findings[i].Reason] += len(r.Findings[i].Pages)
	}
	slices.SortStableFunc(r.Findings, func(a, b Finding) int {
		switch {
		case a.Level != b.Level:
			return int(a.Level - b.Level)
		case a.Reason != b.Reason && pages[a.Reason] != pages[b.Reason]:
			return pages[b.Reason] - pages[a.Reason]
		case a.Reason != b.Reason:
			return strings.Compare(a.Reason, b.Reason)
		case len(a.Pages) != len(b.Pages):
			return len(b.Pages) - len(a.Pages)
		}
		return strings.Compare(a.URL, b.URL)
	})
	return r
}
