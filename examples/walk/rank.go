package main

import (
	"fmt"
	"io"
	"maps"
	"math"
	"slices"
	"text/tabwriter"
)

// ranks returns the PageRank of the pages that surfers may visit: the share of the steps of an endless walk that are at the page. It uses
// the known links: a page that was not requested has none, and from there a surfer goes home.
func (w *walk) ranks() map[string]float64 {
	home, _ := w.find(w.home)
	links := map[string][]string{}
	for u, p := range w.pages {
		if !p.good {
			continue
		}
		links[u] = nil
		for _, l := range p.links {
			at, q := w.find(l)
			if q != nil && !q.good {
				at = home
			}
			links[u] = append(links[u], at)
		}
	}
	return rank(home, links, w.jump)
}

// rank computes the PageRank of a graph. jump is the probability of a jump to the home page.
func rank(home string, links map[string][]string, jump float64) map[string]float64 {
	all := map[string]bool{home: true}
	for u, to := range links {
		all[u] = true
		for _, v := range to {
			all[v] = true
		}
	}
	names := slices.Sorted(maps.Keys(all)) // sorted, so that sums are the same each time
	is := map[string]float64{home: 1}
	for range 200 { // the remaining error is less than (1-jump)^200
		next := map[string]float64{}
		for _, u := range names {
			follow := (1 - jump) * is[u]
			if len(links[u]) == 0 {
				follow = 0
			}
			next[home] += is[u] - follow
			for _, v := range links[u] {
				next[v] += follow / float64(len(links[u]))
			}
		}
		is = next
	}
	return is
}

// estimate is an estimated share of pages, with its standard error.
type estimate struct{ share, err float64 }

// weighted estimates the share of matching pages from all visits, with a weight for each page. The error is that of a ratio, from the
// variation between surfers (Cochran, Sampling Techniques, 6.3). It does not include errors of the weights.
func (w *walk) weighted(weight func(u string) float64) (e estimate) {
	var above, below []float64
	var a, b float64
	for _, s := range w.surfers {
		var x, y float64
		for _, u := range slices.Sorted(maps.Keys(s.times)) {
			n := float64(s.times[u]) * weight(u)
			if y += n; w.pages[u].match {
				x += n
			}
		}
		above, below, a, b = append(above, x), append(below, y), a+x, b+y
	}
	e.share = a / b
	for i := range above {
		d := above[i] - e.share*below[i]
		e.err += d * d
	}
	n := float64(len(above))
	e.err = math.Sqrt(e.err*n/(n-1)) / b
	return e
}

// asMet counts each visit once. This is an estimate for visits of surfers, not for pages.
func (w *walk) asMet() estimate { return w.weighted(func(string) float64 { return 1 }) }

// once counts each page once. Pages with many incoming links still are overrepresented.
func (w *walk) once() estimate {
	n := 0
	met := w.met()
	for _, u := range met {
		if w.pages[u].match {
			n++
		}
	}
	return estimate{float64(n) / float64(len(met)), math.NaN()}
}

// corrected weights each visit with the inverse of the page's rank (Hansen and Hurwitz): visits of a page that is visited twice as often
// count half.
func (w *walk) corrected(ranks map[string]float64) estimate {
	return w.weighted(func(u string) float64 { return 1 / ranks[u] })
}

// tell prints the estimates for the site.
func (w *walk) tell(to io.Writer, ranks map[string]float64) {
	fmt.Fprintf(to, "%d surfers made %d steps each and met %d pages\n", len(w.surfers), w.steps, len(w.met()))
	t := tabwriter.NewWriter(to, 0, 0, 2, ' ', 0)
	fmt.Fprintf(t, "share of %q\t\terror (95 %%)\n", w.match)
	row := func(what string, e estimate) {
		plus := "unknown"
		if !math.IsNaN(e.err) {
			plus = fmt.Sprintf("± %.3f", 1.96*e.err)
		}
		fmt.Fprintf(t, "%s\t%.3f\t%s\n", what, e.share, plus)
	}
	row("of visits", w.asMet())
	row("of pages met", w.once())
	row("of all pages, corrected by PageRank", w.corrected(ranks))
	_ = t.Flush() // an error of the terminal is ignored
}
