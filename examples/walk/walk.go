package main

import (
	"bytes"
	"context"
	"errors"
	"hash/fnv"
	"maps"
	"math/rand/v2"
	"slices"
	"sync"

	"github.com/amble-crawler/amble/crawler"
)

// page describes a URL that was requested.
type page struct {
	good  bool     // whether the page was fetched with status 200; from other pages a surfer goes home
	to    string   // target of a redirect
	links []string // URLs in scope to which the page links, each once
	match bool
}

// surfer is one random walk.
type surfer struct {
	rng   *rand.Rand
	next  string // normalized URL of the next page
	left  int    // number of steps left
	times map[string]int
}

// walk is a group of surfers on one site. They share the pages requested so far, so that each page is requested only once. Their paths
// depend only on the seed and the pages.
type walk struct {
	options
	surfers []*surfer

	mu    sync.Mutex
	pages map[string]*page // pages by normalized URL
}

func newWalk(o options) *walk {
	w := &walk{options: o, pages: map[string]*page{}}
	h := fnv.New64a()
	h.Write([]byte(o.seed))
	for i := range o.surfers {
		w.surfers = append(w.surfers, &surfer{rng: rand.New(rand.NewPCG(h.Sum64(), uint64(i))), next: o.home, left: o.steps, times: map[string]int{}})
	}
	return w
}

// run repeats two steps: it lets all surfers go as far as they can, and then requests the pages that they need next. Each Run of the
// Crawler uses the same gate, which keeps the pauses and the robots.txt files.
func (w *walk) run(ctx context.Context, cfg crawler.Config) error {
	cfg.Handler = crawler.HandlerFunc(w.handle)
	c, err := crawler.New(cfg)
	if err != nil {
		return err
	}
	for wanted := []string{w.home}; len(wanted) > 0; wanted = w.advance() {
		if _, err := c.Run(ctx, wanted...); err != nil {
			return err
		}
		for _, u := range wanted {
			if w.pages[u] == nil { // the crawler took the page for a duplicate
				w.pages[u] = &page{}
			}
		}
	}
	if len(w.met()) == 0 {
		return errors.New("there is no page at " + w.home)
	}
	return nil
}

// handle records the page at a URL. It follows no links, because surfers choose them.
func (w *walk) handle(_ context.Context, v *crawler.Visit) error {
	p := &page{good: v.Outcome == crawler.Fetched && v.Status() == 200}
	if p.good {
		text, err := v.Page.Text()
		if err != nil {
			return err
		}
		p.match = bytes.Contains(text, []byte(w.match))
		known := map[string]bool{v.URL.Normal(): true}
		for _, l := range v.Links() {
			if u := l.URL.Normal(); l.Fate == crawler.FateFollow && !known[u] {
				known[u] = true
				p.links = append(p.links, u)
			}
		}
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.pages[v.URL.Normal()] = p
	if v.Outcome == crawler.Redirected {
		p.to = v.Location.Normal()
		return nil // the crawler follows the redirect
	}
	return crawler.SkipLinks
}

// find returns the page at a URL, after redirects; nil if it was not requested. The target of a redirect was requested together with the
// URL, unless it is not a page of the crawl.
func (w *walk) find(u string) (at string, p *page) {
	at = u
	for range 2 * crawler.DefaultRedirects {
		p = w.pages[at]
		switch {
		case p == nil && at != u:
			return at, &page{}
		case p == nil || p.to == "" || p.to == at:
			return at, p
		}
		at = p.to
	}
	return at, &page{}
}

// advance lets each surfer go on until it needs a page that was not requested yet, and returns these pages.
func (w *walk) advance() (wanted []string) {
	for _, s := range w.surfers {
		for s.left > 0 {
			at, p := w.find(s.next)
			if p == nil {
				wanted = append(wanted, at)
				break
			}
			switch {
			case p.good:
				s.times[at]++
				s.left--
				s.next = w.choose(s, p)
			case s.next == w.home:
				return nil // the home page cannot be reached
			default:
				s.next = w.home
			}
		}
	}
	slices.Sort(wanted)
	return slices.Compact(wanted)
}

// choose returns the next page of a surfer that is at the page p.
func (w *walk) choose(s *surfer, p *page) string {
	if s.rng.Float64() < w.jump || len(p.links) == 0 {
		return w.home
	}
	return p.links[s.rng.IntN(len(p.links))]
}

// met returns the pages that surfers have visited, sorted.
func (w *walk) met() []string {
	all := map[string]bool{}
	for _, s := range w.surfers {
		for u := range s.times {
			all[u] = true
		}
	}
	return slices.Sorted(maps.Keys(all))
}

// times returns how often all surfers have visited a page.
func (w *walk) times(u string) (n int) {
	for _, s := range w.surfers {
		n += s.times[u]
	}
	return n
}
