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

// page is what is known of a URL that was requested.
type page struct {
	good  bool     // it was fetched with status 200; whoever comes to another goes home
	to    string   // where a redirect leads
	links []string // the URLs in scope to which it links, each once
	match bool
}

// surfer is one random walk.
type surfer struct {
	rng   *rand.Rand
	next  string // where it goes
	left  int    // steps
	times map[string]int
}

// walk is a number of surfers at one site. All of them know what one has seen, so that each page is requested once; their ways depend on
// the seed and the pages alone.
type walk struct {
	options
	surfers []*surfer

	mu    sync.Mutex
	pages map[string]*page // by the URL in its normal form
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

// run lets all surfers go as far as they can, requests the pages they want next, and so on. Each Run of the Crawler makes its requests
// through the same gate, which remembers the pauses and the robots.txt of the one before.
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
			if w.pages[u] == nil { // the crawler took it for another one
				w.pages[u] = &page{}
			}
		}
	}
	if len(w.met()) == 0 {
		return errors.New("there is no page at " + w.home)
	}
	return nil
}

// handle notes what is at a URL. No link is followed but those that surfers choose.
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
		return nil // the crawler goes there
	}
	return crawler.SkipLinks
}

// find returns what is at a URL, behind redirects, nil if that was not requested. What a redirect leads to was requested with it, unless
// that is no page of the crawl.
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

// advance lets each surfer go until it wants a page that is not known, and returns these.
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
				return nil // there is no home to go to
			default:
				s.next = w.home
			}
		}
	}
	slices.Sort(wanted)
	return slices.Compact(wanted)
}

// choose returns where a surfer goes from a page.
func (w *walk) choose(s *surfer, p *page) string {
	if s.rng.Float64() < w.jump || len(p.links) == 0 {
		return w.home
	}
	return p.links[s.rng.IntN(len(p.links))]
}

// met returns the pages that were visited, sorted.
func (w *walk) met() []string {
	all := map[string]bool{}
	for _, s := range w.surfers {
		for u := range s.times {
			all[u] = true
		}
	}
	return slices.Sorted(maps.Keys(all))
}

// times returns how often all surfers together visited a page.
func (w *walk) times(u string) (n int) {
	for _, s := range w.surfers {
		n += s.times[u]
	}
	return n
}
