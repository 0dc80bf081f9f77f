package crawler

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"maps"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/amble-crawler/amble/crawler/draw"
	"github.com/amble-crawler/amble/frontier"
	"github.com/amble-crawler/amble/weburl"
)

// Limits of a Sample.
const (
	maxSampleN = 10_000    // maximum of Sample.N
	maxSampled = 1_000_000 // maximum of Sample.N times the number of sites: the URLs held in memory
)

// Sample draws pages from sitemaps. The crawl reads all sitemaps that the robots.txt files of the seeds' hosts name. Then it requests the
// sample of each seed's site: the N pages with the smallest tickets (package draw) among the pages in scope that the sitemaps list.
// Nothing else is requested: a seed only identifies a site, and no link is followed. The ticket is that of the URL in its canonical form
// under Config.Canonical. As in ScopeHost, URLs with http and https, and with and without "www.", belong to one site.
//
// Scope decides which of the listed pages may be drawn. Sitemaps at the seeds' sites are read wherever they are, unless an exclude rule
// matches them. They count for Limits: if a limit ends the crawl before all of them are read, nothing is drawn.
//
// The draw depends only on the sitemaps and the seed. N+1 URLs of each site are kept in memory, however many the sitemaps list. A durable
// Frontier commits these URLs together with the sitemaps that list them. [Report].Draws has the numbers of listed and drawn pages.
type Sample struct {
	N    int    // number of pages of each site, at most maxSampleN. 0: no sample is drawn, and the crawl follows links
	Seed string // seed of the tickets: 1 to 64 bytes, without white space
}

// String returns the sample in the form of the command line, "100:seed", or "none".
func (s Sample) String() string {
	if s.N == 0 {
		return "none"
	}
	return fmt.Sprintf("%d:%s", s.N, s.Seed)
}

// ParseSample parses a text such as "100:seed". It returns the zero Sample for "none" and "". The error describes the mistake.
func ParseSample(text string) (s Sample, err error) {
	if text == "" || text == "none" {
		return s, nil
	}
	n, seed, ok := strings.Cut(text, ":")
	if s.N, err = strconv.Atoi(n); err != nil || !ok || s.N < 1 {
		return Sample{}, fmt.Errorf("crawler: sample %q: want N:SEED, such as 100:2026, or none", text)
	}
	s.Seed = seed
	return s, s.Validate()
}

// Validate returns an error if N or Seed is out of range.
func (s Sample) Validate() error {
	switch {
	case s.N < 0 || s.N > maxSampleN:
		return fmt.Errorf("crawler: a sample of %d pages: want 1 to %d of each site, or 0 for none", s.N, maxSampleN)
	case s.N == 0:
		return nil
	}
	return checkSeed(s.Seed)
}

// SiteDraw describes the sample of a site in a crawl with Config.Sample.
type SiteDraw struct {
	Site     string `json:"site"`     // as in ScopeHost: without a leading "www.", and without the port if it is a scheme's default
	Sitemaps int    `json:"sitemaps"` // number of sitemaps that list pages of the site in scope
	Listed   int    `json:"listed"`   // number of entries in the sitemaps; a page that is listed twice counts twice
	Drawn    int    `json:"drawn"`
	// Below is the ticket that separates the drawn pages from the others: every listed page with a smaller ticket was drawn. It has 16
	// hexadecimal digits, and is "" if all pages were drawn.
	Below string `json:"below,omitempty"`
	// Probability is the probability of each page to be drawn, given the tickets of the others: 1, or the share of tickets below Below.
	// It is valid even if sitemaps list pages repeatedly. If they do not, Drawn/Listed is the probability over all values of Sample.Seed.
	Probability float64 `json:"probability"`
	Ended       bool    `json:"ended"` // all sitemaps were read or have failed, and the drawn pages were queued
}

// Of reports whether u is a URL of the site.
func (d *SiteDraw) Of(u weburl.URL) bool { return d.Site == hostName(u) }

// validateSample returns an error if Sample is invalid, or if other settings conflict with it.
func (c *Config) validateSample() error {
	if err := c.Sample.Validate(); err != nil {
		return &ConfigError{"Sample", "is wrong: " + err.Error(), err}
	}
	switch {
	case c.Sample.N == 0:
	case c.Since != nil:
		return configError("Sample is set together with Since: what an earlier crawl knew would be requested beside the sample; leave out one of the two")
	}
	return nil
}

// readsSitemaps reports whether the crawl requests the sitemaps that the robots.txt of u's origin names.
func (r *run) readsSitemaps(u weburl.URL) bool {
	if r.sampler == nil {
		return r.cfg.Follow.Sitemaps
	}
	return r.sampler.open(u)
}

// sampler draws the sample of a run. It collects the URLs of the seeds' sites that sitemaps list. When the queue is empty, it queues the
// drawn URLs, so the draw does not depend on the order in which sitemaps are read. Its methods may be called on nil, which stands for a
// run without a sample.
type sampler struct {
	of      Sample
	samples map[string]*siteSample // keyed by site; the map does not change while workers run
	mu      sync.Mutex
	changed map[string]bool // sites whose samples must be stored
	once    sync.Once
}

// siteSample holds the sampling state of a site. Its JSON is stored in durable frontiers.
type siteSample struct {
	draw.Bottom

	Sitemaps int  `json:"sitemaps"`
	Closed   bool `json:"closed"` // the sample is drawn; URLs listed later are ignored
}

// listed holds the URLs that one sitemap lists, keyed by site.
type listed map[string]*draw.Bottom

// newSampler returns the sampler of a crawl of these seeds, or nil without a sample.
func newSampler(of Sample, seeds []weburl.URL) (*sampler, error) {
	if of.N == 0 {
		return nil, nil
	}
	s := &sampler{of: of, samples: map[string]*siteSample{}, changed: map[string]bool{}}
	for _, u := range seeds {
		s.samples[hostName(u)] = &siteSample{Bottom: s.empty()}
	}
	if len(s.samples)*of.N > maxSampled {
		return nil, configError("Sample is of %d pages of each of %d sites: of %d in all the URLs would be in memory, and at most %d may be; crawl the sites in parts, each is drawn as in one crawl",
			of.N, len(s.samples), len(s.samples)*of.N, maxSampled)
	}
	return s, nil
}

func (s *sampler) empty() draw.Bottom { return draw.Bottom{N: s.of.N, Seed: s.of.Seed} }

// text returns the sample in the form stored in a rulebook.
func (s *sampler) text() string {
	if s == nil {
		return ""
	}
	return s.of.String()
}

// site returns the sample of u's site, or nil if no seed is on that site.
func (s *sampler) site(u weburl.URL) *siteSample {
	if s == nil {
		return nil
	}
	return s.samples[hostName(u)]
}

// open reports whether u is on a seed's site whose sample is not drawn yet.
func (s *sampler) open(u weburl.URL) bool {
	l := s.site(u)
	if l == nil {
		return false
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return !l.Closed
}

// entries returns the Requests that replace the seeds, one for each origin. Their URL is that of the robots.txt, which names the
// sitemaps.
func (r *run) entries() (queue []frontier.Request) {
	known := map[string]bool{}
	for _, u := range r.seeds {
		if at := u.RobotsURL(); !known[at.String()] {
			known[at.String()] = true
			queue = append(queue, frontier.Request{URL: at, Kind: frontier.KindSitemap, Priority: r.cfg.sitemapPriority()})
		}
	}
	return queue
}

// standsForSeed reports whether the claim is one of the Requests that entries returns.
func (a *attempt) standsForSeed() bool {
	c := &a.claim
	return a.run.sampler != nil && c.Kind == frontier.KindSitemap && c.Via.IsZero() && c.URL == c.URL.RobotsURL()
}

// wanted returns the URL to request: that of the claim or, if the claim stands for a seed, the origin's root, which makes the gate
// request the robots.txt first.
func (a *attempt) wanted() weburl.URL {
	if a.standsForSeed() {
		if root, err := a.claim.URL.Resolve("/"); err == nil {
			return root
		}
	}
	return a.claim.URL
}

// entered ends a claim that stands for a seed when the robots.txt of its origin is known, and reports whether it did. It queues the
// sitemaps that the file names, even if they were queued before: an earlier process may have been killed between requesting robots.txt
// and queueing them.
func (a *attempt) entered(ctx context.Context) bool {
	u := a.claim.URL
	if !a.standsForSeed() || !a.run.gate.Origin(u).Known {
		return false
	}
	a.end(ctx, &Visit{Outcome: OutOfScope, Reason: ReasonSample, Rule: "sample " + a.run.cfg.Sample.String(), Detail: "not a page: it names the sitemaps from which the sample is drawn"}, a.run.named(u))
	return true
}

// list returns an empty list for the URLs of a sitemap, or nil without a sample.
func (s *sampler) list() listed {
	if s == nil {
		return nil
	}
	return listed{}
}

// list adds u to the list of the claim's sitemap.
func (a *attempt) list(all listed, u weburl.URL) {
	if len(u.String()) > a.run.cfg.Limits.URLLength || a.run.sampler.site(u) == nil || a.run.judge.belongs(u, frontier.KindSitemap).fate != FateFollow {
		return
	}
	b := all[hostName(u)]
	if b == nil {
		b = new(draw.Bottom)
		*b = a.run.sampler.empty()
		all[hostName(u)] = b
	}
	b.Add(a.run.cfg.Canonical.Normal(u), u.String(), a.claim.URL.String())
}

// collect adds the URLs that a sitemap lists to the samples of their sites. It is called when the sitemap's visit is final.
func (s *sampler) collect(all listed) error {
	if s == nil || len(all) == 0 {
		return nil
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	var errs []error
	for site, b := range all {
		if l := s.samples[site]; !l.Closed {
			errs = append(errs, l.Merge(b))
			l.Sitemaps++
			s.changed[site] = true
		}
	}
	return errors.Join(errs...)
}

// draw queues the samples when every sitemap has been read. It first stores that the samples are closed. So if the process is killed in
// between, the one that resumes the crawl ignores further sitemaps, and queues the same samples when its queue is empty.
func (r *run) draw(ctx context.Context) {
	r.sampler.once.Do(func() {
		ctx = context.WithoutCancel(ctx)
		values, err := r.sampler.close()
		if err == nil && r.checkpoint != nil {
			err = r.checkpoint.store.Commit(ctx, nil, frontier.Checkpoint{Values: values})
		}
		if err == nil {
			err = r.addDrawn(ctx)
		}
		if err != nil {
			r.fail(fmt.Errorf("crawler: the sample: %w", err))
		}
	})
}

// close closes all site samples and returns the values to store.
func (s *sampler) close() (map[string][]byte, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for site, l := range s.samples {
		if !l.Closed {
			l.Closed, s.changed[site] = true, true
		}
	}
	return s.values()
}

// changes returns the stored values of the samples that have changed since the last call.
func (s *sampler) changes() (map[string][]byte, error) {
	if s == nil {
		return nil, nil
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.values()
}

func (s *sampler) values() (map[string][]byte, error) {
	values := map[string][]byte{}
	for site := range s.changed {
		b, err := json.Marshal(s.samples[site])
		if err != nil {
			return nil, err
		}
		values[keySample+site] = b
	}
	clear(s.changed)
	return values, nil
}

// recall restores a site sample that an earlier process stored. Samples of sites that are no longer seeds' sites are ignored.
func (s *sampler) recall(site string, value []byte) error {
	if s.samples[site] == nil {
		return nil
	}
	l := new(siteSample)
	if err := json.Unmarshal(value, l); err != nil {
		return fmt.Errorf("what the sitemaps of %s list: %w", site, err)
	}
	s.samples[site] = l
	return nil
}

// sorted returns the site samples, ordered by site name.
func (s *sampler) sorted() iter.Seq2[string, *siteSample] {
	return func(yield func(string, *siteSample) bool) {
		for _, site := range slices.Sorted(maps.Keys(s.samples)) {
			if !yield(site, s.samples[site]) {
				return
			}
		}
	}
}

// addDrawn queues the drawn pages, for each site in the order of their tickets.
func (r *run) addDrawn(ctx context.Context) error {
	for _, l := range r.sampler.sorted() {
		for batch := range slices.Chunk(l.Drawn(), pastBatch) {
			if _, err := r.frontier.Add(ctx, r.requests(batch)...); err != nil {
				return err
			}
		}
	}
	return nil
}

func (r *run) requests(items []draw.Item) (queue []frontier.Request) {
	for _, it := range items {
		u, err := weburl.Parse(it.URL)
		via, viaErr := weburl.Parse(it.From)
		if err == nil && viaErr == nil { // both are valid, because they were parsed when the sitemap was read
			queue = append(queue, frontier.Request{URL: u, Depth: 1, Via: via, Priority: r.judge.priorities.of(u)})
		}
	}
	return queue
}

// draws returns a description of the samples, by site.
func (s *sampler) draws() (all []SiteDraw) {
	if s == nil {
		return nil
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for site, l := range s.sorted() {
		d := SiteDraw{Site: site, Sitemaps: l.Sitemaps, Listed: l.Listed, Drawn: len(l.Drawn()), Probability: l.Probability(), Ended: l.Closed}
		if below, every := l.Bound(); !every {
			d.Below = fmt.Sprintf("%016x", below)
		}
		all = append(all, d)
	}
	return all
}
