package main

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

// watcher follows the events of a crawl: it logs them, reports hosts for which the crawl has to wait, and keeps the
// outcomes of seeds.
type watcher struct {
	ui     *ui
	giveUp time.Duration // how long an unreachable robots.txt is retried

	mu    sync.Mutex
	down  map[string]bool // origins whose robots.txt cannot be fetched; true once that was printed
	seeds []string
}

func (w *watcher) trace() *crawler.Trace {
	t := &crawler.Trace{Visited: w.visited, Robots: w.robots, Retrying: w.retrying}
	if !w.ui.flags.Verbose {
		return t
	}
	log := w.ui.log
	t.Waiting = func(u weburl.URL, n *politeness.NotYet) {
		log.Debug("waiting", "url", u, "until", n.Until.Format(time.RFC3339Nano), "clause", n.Clauses[0].Name)
	}
	t.Admitted = func(_ weburl.URL, p politeness.Permit) {
		log.Debug("request", "url", p.URL(), "purpose", p.Purpose().String())
	}
	return t
}

// robots notes whether an origin's robots.txt can be fetched.
func (w *watcher) robots(u weburl.URL, info politeness.OriginInfo) {
	w.ui.log.Debug("robots.txt", "url", info.Source.RobotsURL, "status", info.Source.Status, "known", info.Known)
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

// retrying prints, once per origin, that its robots.txt cannot be fetched and everything there has to wait.
func (w *watcher) retrying(u weburl.URL, reason string, at time.Time) {
	w.ui.log.Debug("retrying", "url", u, "reason", reason, "at", at.Format(time.RFC3339Nano))
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
	if w.giveUp > 0 {
		until += " for " + cli.Duration(w.giveUp).String() + " at most"
	}
	w.ui.tell("%s cannot be fetched (%s): no page of its site is requested before it can be read; %s", u.RobotsURL(), reason, until)
}

func (w *watcher) visited(v *crawler.Visit) {
	w.ui.log.Debug("visit", "url", v.URL, "outcome", string(v.Outcome), "status", v.Status(), "reason", v.Reason)
	w.mu.Lock()
	defer w.mu.Unlock()
	if len(w.seeds) < mostSeedsTold && v.Outcome != crawler.Fetched && (v.Kind == frontier.KindSeed || len(v.Hops) > 0) {
		w.seeds = append(w.seeds, fate(v))
	}
}

// mostSeedsTold is the maximum number of outcomes of seeds that are printed.
const mostSeedsTold = 5

// fate describes the outcome of a URL that was not fetched.
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

// seedsFate returns the outcomes of seeds as lines of an error message.
func (e *ending) seedsFate() string {
	if len(e.seeds) == 0 {
		return ""
	}
	return ":\n  " + strings.Join(e.seeds, "\n  ")
}
