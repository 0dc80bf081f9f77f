package view

import (
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/amble-crawler/amble/crawler"
	"github.com/amble-crawler/amble/frontier"
	"github.com/amble-crawler/amble/internal/cli"
	"github.com/amble-crawler/amble/politeness"
	"github.com/amble-crawler/amble/weburl"
)

// Watcher handles the events of a crawl. It logs them, prints the line of each URL, reports hosts for which the crawl has to wait, and
// keeps the outcomes of seeds.
type Watcher struct {
	view   *View
	pages  bool          // print a line for each URL
	giveUp time.Duration // time for which an unreachable robots.txt is retried

	mu    sync.Mutex
	down  map[string]bool // origins whose robots.txt cannot be fetched; true: reported already
	seeds []string
}

// Follow returns a Watcher of a crawl. giveUp is the time for which the crawl retries an unreachable robots.txt; 0: no limit. With pages,
// the Watcher prints a line for each URL on stdout.
func (v *View) Follow(giveUp time.Duration, pages bool) *Watcher {
	return &Watcher{view: v, pages: pages, giveUp: giveUp}
}

// SeedsFate returns the outcomes of the first seeds that were not fetched, one per line; "" if all were fetched.
func (w *Watcher) SeedsFate() string {
	w.mu.Lock()
	defer w.mu.Unlock()
	if len(w.seeds) == 0 {
		return ""
	}
	return ":\n  " + strings.Join(w.seeds, "\n  ")
}

// Trace returns the trace that passes the crawl's events to the Watcher.
func (w *Watcher) Trace() *crawler.Trace {
	t := &crawler.Trace{Visited: w.visited, Robots: w.robots, Retrying: w.retrying}
	if !w.view.flags.Verbose {
		return t
	}
	log := w.view.log
	t.Waiting = func(u weburl.URL, n *politeness.NotYet) {
		log.Debug("waiting", "url", u, "until", n.Until.Format(time.RFC3339Nano), "clause", n.Clauses[0].Name)
	}
	t.Admitted = func(_ weburl.URL, p politeness.Permit) {
		log.Debug("request", "url", p.URL(), "purpose", p.Purpose().String())
	}
	return t
}

// robots records whether the robots.txt of an origin can be fetched.
func (w *Watcher) robots(u weburl.URL, info politeness.OriginInfo) {
	w.view.log.Debug("robots.txt", "url", info.Source.RobotsURL, "status", info.Source.Status, "known", info.Known)
	if info.Known || !info.Unreachable {
		return
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.down == nil {
		w.down = map[string]bool{}
	}
	if _, known := w.down[u.Origin()]; !known {
		w.down[u.Origin()] = false
	}
}

// retrying reports, once per origin, that its robots.txt cannot be fetched, so all URLs of the origin have to wait.
func (w *Watcher) retrying(u weburl.URL, reason string, at time.Time) {
	w.view.log.Debug("retrying", "url", u, "reason", reason, "at", at.Format(time.RFC3339Nano))
	w.mu.Lock()
	told, down := w.down[u.Origin()]
	if down {
		w.down[u.Origin()] = true
	}
	w.mu.Unlock()
	if told || !down {
		return
	}
	until := "trying again"
	if w.giveUp > 0 && w.giveUp < crawler.Forever {
		until += " for " + cli.Duration(w.giveUp).String() + " at most"
	}
	w.view.Tell("%s cannot be fetched (%s): no page of its site is requested before it can be read; %s", u.RobotsURL(), reason, until)
}

func (w *Watcher) visited(v *crawler.Visit) {
	if w.pages {
		w.view.page(v)
	}
	w.view.log.Debug("visit", "url", v.URL, "outcome", string(v.Outcome), "status", v.Status(), "reason", v.Reason)
	w.mu.Lock()
	defer w.mu.Unlock()
	if len(w.seeds) < maxTold && v.Outcome != crawler.Fetched && (v.Kind == frontier.KindSeed || len(v.Hops) > 0) {
		w.seeds = append(w.seeds, fate(v))
	}
}

// maxTold limits the number of outcomes in the message about a crawl that fetched nothing.
const maxTold = 5

// Unreachable describes what a crawl tried that got no response from any host.
func Unreachable(e *crawler.UnreachableError) string {
	var b strings.Builder
	b.WriteString("nothing was fetched, no host answered:")
	for _, t := range e.Tried[:min(len(e.Tried), maxTold)] {
		fmt.Fprintf(&b, "\n  %s: %s (%s)", t.URL, cli.Printable(strings.TrimPrefix(t.Err.Error(), "fetcher: ")), cli.Plural(t.Attempts, "attempt"))
	}
	if n := len(e.Tried) - maxTold; n > 0 {
		fmt.Fprintf(&b, "\n  and %s more", cli.Plural(n, "host"))
	}
	return b.String()
}

// Walled lists the seeds that could not be fetched because of a bot wall, with advice.
func Walled(seeds []crawler.WalledSeed) string {
	var texts []string
	for _, s := range seeds[:min(len(seeds), maxTold)] {
		wall := "a bot wall"
		if s.Wall != "" {
			wall += " (" + s.Wall + ")"
		}
		texts = append(texts, cli.Printable(fmt.Sprintf("%s answers for the seed %s", wall, s.URL)))
	}
	return strings.Join(texts, "; ") + cli.AndMore(len(seeds)-len(texts)) + ": amble does not solve challenges; ask the operator of the site to let your crawl pass"
}

// fate describes the outcome of a URL that was not fetched, in words.
func fate(v *crawler.Visit) string {
	text := string(v.Outcome)
	switch {
	case v.Outcome == crawler.Redirected:
		return fmt.Sprintf("%s redirects to %s", v.URL, v.Location)
	case v.Outcome == crawler.OutOfScope:
		return fmt.Sprintf("%s is out of scope (%s)", v.URL, v.Rule)
	case v.Detail != "" && v.Err != nil:
		text = fmt.Sprintf("%s (%s)", v.Detail, v.Err)
	case v.Err != nil:
		text += ": " + strings.TrimPrefix(v.Err.Error(), "fetcher: ")
	case v.Detail != "":
		text = v.Detail
	case v.Reason != "":
		text += ": " + v.Reason
	}
	return cli.Printable(v.URL.String() + ": " + text)
}
