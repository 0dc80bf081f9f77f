package main

import (
	"bytes"
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/amble-crawler/amble/crawler"
	"github.com/amble-crawler/amble/crawltest"
)

const contact = "https://lab.university.edu/crawl"

// web makes a site of n pages, one in five of which has the text, and returns its links. Old pages have more links to them than new ones,
// and the text is on old ones, so a walk meets it far too often.
func web(w *crawltest.Web, n int) (home string, links map[string][]string, match map[string]bool) {
	rng := rand.New(rand.NewPCG(7, 7))
	s := w.Site("https://site.example")
	links, match = map[string][]string{}, map[string]bool{}
	at := func(i int) string {
		if i == 0 {
			return s.URL("/")
		}
		return s.URL(fmt.Sprint("/p", i))
	}
	ends := []int{0} // contains a page once for each link to it
	link := func(from, to int) {
		if !slices.Contains(links[at(from)], at(to)) && from != to {
			links[at(from)] = append(links[at(from)], at(to))
			ends = append(ends, to)
		}
	}
	for i := 1; i < n; i++ {
		link(rng.IntN(i), i) // so that it can be reached
		for range 4 {
			link(i, ends[rng.IntN(len(ends))])
		}
	}
	for i := range n {
		text := "<title>x</title>"
		if match[at(i)] = i < n/5; match[at(i)] {
			text += "festival"
		}
		for _, l := range links[at(i)] {
			text += fmt.Sprintf(" <a href=%q>x</a>", l)
		}
		s.Page(strings.TrimPrefix(at(i), "https://site.example"), text)
	}
	return at(0), links, match
}

// walked runs a walk at the site, politely, and returns it.
func walked(t *testing.T, n int, o options, look func(w *walk, links map[string][]string, match map[string]bool)) {
	t.Helper()
	crawltest.Test(t, func(t *testing.T, sim *crawltest.Web) {
		sim.Expect(crawltest.Expect{Delay: time.Second, Agent: "amble", Contact: contact})
		var links map[string][]string
		var match map[string]bool
		o.home, links, match = web(sim, n)
		o.match, o.jump = "festival", 0.15
		var cfg crawler.Config
		sim.Apply(&cfg)
		cfg.Contact = contact
		w := newWalk(o)
		if err := w.run(t.Context(), cfg); err != nil {
			t.Fatal(err)
		}
		if got := len(sim.Visited("")); got != 1+len(w.met()) { // and robots.txt
			t.Errorf("%d requests for %d pages", got, len(w.met()))
		}
		look(w, links, match)
	})
}

// TestWalkIsAsOftenAtAPageAsItsPageRank checks that the walk visits pages in proportion to their PageRank, and that its estimates correct
// for that. The web's PageRank is known, as all its links are.
func TestWalkIsAsOftenAtAPageAsItsPageRank(t *testing.T) {
	walked(t, 60, options{seed: "1", surfers: 4, steps: 20_000}, func(w *walk, links map[string][]string, _ map[string]bool) {
		truth, seen := rank(w.home, links, w.jump), w.ranks()
		away, wrong := 0.0, 0.0
		for u, r := range truth {
			away += math.Abs(r-float64(w.times(u))/80_000) / 2
			wrong = max(wrong, math.Abs(r-seen[u]))
		}
		if len(w.met()) != 60 || away > 0.01 || wrong > 1e-9 {
			t.Errorf("total variation of visits and PageRank %.4f, greatest difference from the PageRank of what was seen %g", away, wrong)
		}
	})
}

// TestBias measures the estimates of walks that request a part of a web of 400 pages, a fifth of which has the text.
// docs/research-crawls.md has the figures.
func TestBias(t *testing.T) {
	const seeds = 10
	var met, once, corrected, known, surfing, requests, within float64
	for seed := range seeds {
		walked(t, 400, options{seed: fmt.Sprint(seed), surfers: 8, steps: 40}, func(w *walk, links map[string][]string, match map[string]bool) {
			truth := rank(w.home, links, w.jump)
			met += w.asMet().share / seeds
			once += w.once().share / seeds
			c := w.corrected(w.ranks())
			corrected += c.share / seeds
			known += w.corrected(truth).share / seeds
			requests += float64(len(w.met())) / seeds
			if math.Abs(c.share-0.2) <= 1.96*c.err {
				within++
			}
			surfing = 0
			for u, r := range truth {
				if match[u] {
					surfing += r
				}
			}
		})
	}
	got := fmt.Sprintf("of 400 pages %.0f are met; the share is 0.200, of visits %.3f (expected %.3f), of pages met %.3f, corrected %.3f, by the true PageRank %.3f; within the error %.0f of %d",
		requests, met, surfing, once, corrected, known, within, seeds)
	if want := "of 400 pages 73 are met; the share is 0.200, of visits 0.848 (expected 0.842), of pages met 0.600, corrected 0.214, by the true PageRank 0.254; within the error 7 of 10"; got != want {
		t.Errorf("\n%s\nwant\n%s", got, want)
	}
}

// TestWhatIsWrong checks the errors for bad command lines, and for a home page that is not a page.
func TestWhatIsWrong(t *testing.T) {
	for _, args := range []string{"", "-match x", "-match x http://a.example/ http://b.example/", "http://a.example/", "-match x -surfers 1 http://a.example/", "-match x -jump 1 http://a.example/", "-match x -steps 0 http://a.example/", "-match x ftp://a/"} {
		if err := run(t.Context(), strings.Fields(args), io.Discard, io.Discard, crawler.Config{}); err == nil {
			t.Errorf("%q is accepted", args)
		}
	}
	crawltest.Test(t, func(t *testing.T, w *crawltest.Web) {
		s := w.Site("http://site.example")
		s.Page("/", "").Status(404)
		var cfg crawler.Config
		w.Apply(&cfg)
		if err := run(t.Context(), []string{"-contact", contact, "-match", "x", s.URL("/")}, io.Discard, io.Discard, cfg); err == nil || !strings.Contains(err.Error(), "there is no page") {
			t.Error(err)
		}
	})
}

// TestSummary checks that links to something other than a page of the site lead home, and that of two spellings one is requested.
func TestSummary(t *testing.T) {
	crawltest.Test(t, func(t *testing.T, w *crawltest.Web) {
		w.Expect(crawltest.Expect{Delay: time.Second, Agent: "amble", Contact: contact})
		s := w.Site("http://site.example")
		s.Robots("User-agent: *\nDisallow: /no\n").Forbids("/no")
		s.Redirect("/", "/home")
		s.Page("/home", `<a href="/a">a</a> <a href="/gone">gone</a> <a href="/no">no</a> <a href="/moved">moved</a> <a href="/loop">loop</a> <a href="/%61">a</a> <a href="http://other.example/">o</a>`)
		s.Page("/a", `festival <a href="/home">home</a>`)
		s.Redirect("/loop", "/round")
		s.Redirect("/round", "/loop")
		s.Redirect("/moved", "http://other.example/")
		var cfg crawler.Config
		w.Apply(&cfg)
		var out, said bytes.Buffer
		if err := run(t.Context(), []string{"-contact", contact, "-match", "festival", "-steps", "200", s.URL("/")}, &out, &said, cfg); err != nil {
			t.Fatal(err)
		}
		if out.String() != printed || said.String() != summary {
			t.Errorf("%s%s", &out, &said)
		}
	})
}

const printed = `{"url":"http://site.example/a","visits":229,"rank":0.145299,"match":true}
{"url":"http://site.example/home","visits":1371,"rank":0.854701,"match":false}
`

const summary = `8 surfers made 200 steps each and met 2 pages
share of "festival"                         error (95 %)
of visits                            0.143  ± 0.019
of pages met                         0.500  unknown
of all pages, corrected by PageRank  0.496  ± 0.038
`
