package view

import (
	"fmt"
	"sync"
	"time"

	"github.com/amble-crawler/amble/cmd/amble/internal/terminal"
	"github.com/amble-crawler/amble/crawler"
	"github.com/amble-crawler/amble/crawler/plan"
	"github.com/amble-crawler/amble/internal/cli"
	"github.com/amble-crawler/amble/job/digest"
)

// Intervals between two updates of the status, on a terminal and elsewhere.
const (
	drawEvery = 200 * time.Millisecond
	logEvery  = 30 * time.Second
)

// Watch shows the crawl's progress until the returned function is called. That function removes the status.
func (v *View) Watch(c *crawler.Crawler, cfg *crawler.Config, o *plan.Outlook) (stop func()) {
	if v.flags.Quiet {
		return func() { _ = v.pages.Close() } // stdout keeps the error
	}
	every := logEvery
	if v.screen.Live() {
		every = drawEvery
	}
	s := status{maxPages: int(cfg.Limits.Pages), maxTime: cfg.Limits.Time, outlook: o}
	done := make(chan struct{})
	var watching sync.WaitGroup
	watching.Go(func() {
		tick := time.NewTicker(every)
		defer tick.Stop()
		for {
			select {
			case <-done:
				return
			case now := <-tick.C:
				v.show(s.at(now, c.Progress()))
			}
		}
	})
	return func() {
		close(done)
		watching.Wait()
		_ = v.pages.Close() // stdout keeps the error
		v.screen.Status()
	}
}

// Below adds a line to the status of a crawl: f returns it for each update. Call Below before Watch.
func (v *View) Below(f func() string) { v.below = f }

// show shows a snapshot: as the status of a terminal, or as a log line.
func (v *View) show(s snapshot) {
	below := ""
	if v.below != nil {
		below = v.below()
	}
	if v.screen.Live() {
		rows := s.rows(v.screen.Columns())
		if below != "" {
			rows = append(rows, terminal.Row{{Text: below, Style: terminal.Dim}})
		}
		v.screen.Status(rows...)
		return
	}
	facts := []any{
		"pages", s.pages, "rate", fmt.Sprintf("%.1f/s", s.rate), "hosts_active", s.active,
		"hosts_waiting", s.waiting, "queued", s.queued, "refused", s.refused, "deferred", s.deferred, "errors", s.failed,
		"next", s.next.Round(time.Second), "eta", etaText(s.eta),
	}
	for _, f := range [][2]string{{"host", s.host}, {"waits", s.waits}, {"cause", s.cause}} {
		if f[1] != "" {
			facts = append(facts, f[0], f[1])
		}
	}
	if below != "" {
		facts = append(facts, "then", below)
	}
	if s.troubled > 0 {
		facts = append(facts, "answers_429_5xx", s.troubled)
	}
	v.log.Info("progress", facts...)
}

// status takes snapshots of a crawl's progress.
type status struct {
	maxPages int
	maxTime  time.Duration
	recent   []sample // samples within rateWindow, oldest first

	outlook *plan.Outlook // nil: the time left is estimated only from pages per second
	looked  time.Time
	least   time.Duration // minimum time left at the time looked; negative: unknown
	first   plan.Left     // host that was due first at the time looked
}

type sample struct {
	at    time.Time
	pages int
}

// rateWindow is the period for computing pages per second.
const rateWindow = 30 * time.Second

// snapshot is a crawl's progress in displayable form.
type snapshot struct {
	pages           int
	rate            float64 // recent pages per second
	active, waiting int     // numbers of hosts
	queued          int
	refused, failed int
	troubled        int // responses 429 and 5xx, including those of URLs that are retried
	deferred        int // number of postponed URLs, which are not errors
	age             time.Duration
	next            time.Duration // time until the next host is due; 0 if a host is due, or if unknown
	host            string        // host that is due next
	waits           string        // name of the clause that delays the host
	cause           string        // error of the host; "" if there is none
	eta             time.Duration // estimated time left, without new links; negative: unknown
}

// at returns the snapshot of a crawl's progress at the time now.
func (s *status) at(now time.Time, p crawler.Progress) snapshot {
	f := p.Frontier
	snap := snapshot{
		pages: p.Pages, active: f.Claimed, waiting: max(0, f.Hosts-f.Claimed), queued: f.Queued + f.Waiting,
		refused: p.Outcomes[crawler.Refused] + p.Outcomes[crawler.OutOfScope] + p.Outcomes[crawler.Trapped],
		failed:  p.Outcomes[crawler.Failed], deferred: p.Outcomes[crawler.Deferred], troubled: p.Troubled,
	}
	if !p.Started.IsZero() {
		snap.age = now.Sub(p.Started)
	}
	snap.rate = s.count(now, snap)
	s.look(now)
	if snap.next = max(0, s.first.Due.Sub(now)); snap.next > 0 {
		snap.host, snap.waits = s.first.Host, s.first.Waits
	}
	if digest.HeldBy(snap.waits) {
		snap.cause = s.first.Cause
	}
	snap.eta = s.left(snap, f.Claimed)
	return snap
}

// lookEvery is the minimum time between two calls of the outlook, which count the remaining URLs of each host.
const lookEvery = time.Second

// look updates least and first from the outlook, at most once per lookEvery.
func (s *status) look(now time.Time) {
	if s.outlook == nil || now.Sub(s.looked) < lookEvery {
		return
	}
	s.looked, s.least, s.first = now, -1, plan.Left{}
	if v, ok := s.outlook.Look(); ok {
		s.least, s.first = v.Least, v.First
	}
}

// count adds a sample and returns pages per second in the time of the recent samples, or since the start if that is shorter.
func (s *status) count(now time.Time, snap snapshot) float64 {
	for len(s.recent) > 0 && now.Sub(s.recent[0].at) > rateWindow {
		s.recent = s.recent[1:]
	}
	first := sample{at: now.Add(-snap.age)}
	if len(s.recent) > 0 && snap.age > rateWindow {
		first = s.recent[0]
	}
	s.recent = append(s.recent, sample{now, snap.pages})
	return float64(snap.pages-first.pages) / max(now.Sub(first.at).Seconds(), 0.001)
}

// farOff is longer than any crawl can take.
const farOff = time.Duration(1 << 60)

// left returns the time until everything queued is done or a limit is reached. It estimates the time from the URLs left of each host or, if
// these are unknown, from the present rate.
func (s *status) left(snap snapshot, claimed int) time.Duration {
	all := snap.queued + claimed
	urls := all
	if s.maxPages > 0 {
		urls = min(urls, s.maxPages-snap.pages)
	}
	eta := time.Duration(-1)
	if !s.looked.IsZero() && s.least >= 0 {
		eta = time.Duration(float64(s.least) * float64(urls) / float64(max(1, all)))
	} else if seconds := float64(urls) / snap.rate; snap.rate > 0 && seconds < farOff.Seconds() {
		eta = time.Duration(seconds * float64(time.Second))
	}
	if end := s.maxTime - snap.age; s.maxTime > 0 && (eta < 0 || end < eta) {
		eta = max(0, end)
	}
	return eta
}

// statusRows limits the number of lines for facts in the status. The line about a waiting host comes in addition.
const statusRows = 2

// rows arranges the snapshot in lines for a terminal of this width: first the facts, in order of importance, then the host for which the
// crawl waits. If that host has errors and nothing else can be requested, its line comes first.
func (s snapshot) rows(columns int) []terminal.Row {
	rows := terminal.Wrap(s.facts(), columns-1, statusRows)
	wait := s.nextText()
	if wait == "" {
		return rows
	}
	style := terminal.Dim
	if s.cause != "" {
		style = terminal.Yellow
	}
	row := terminal.Row{{Text: wait, Style: style}}
	if s.active == 0 && s.cause != "" {
		return append([]terminal.Row{row}, rows...)
	}
	return append(rows, row)
}

// facts returns the numbers that the status shows.
func (s snapshot) facts() []terminal.Span {
	facts := []terminal.Span{
		{Text: cli.Plural(s.pages, "page"), Style: terminal.Bold}, {Text: fmt.Sprintf("%.1f/s", s.rate)},
		{Text: fmt.Sprintf("%d queued", s.queued)}, {Text: "eta " + etaText(s.eta)},
		{Text: fmt.Sprintf("hosts %d active %d waiting", s.active, s.waiting)},
	}
	for _, f := range []struct {
		n    int
		what string
		terminal.Style
	}{{s.refused, "refused", terminal.Plain}, {s.deferred, "deferred", terminal.Plain}, {s.troubled, "answered 429 or 5xx", terminal.Yellow}, {s.failed, "failed", terminal.Red}} {
		if f.n > 0 {
			facts = append(facts, terminal.Span{Text: fmt.Sprintf("%d %s", f.n, f.what), Style: f.Style})
		}
	}
	return facts
}

// nextText says when the next host is due, its name, and why it has to wait.
func (s snapshot) nextText() string {
	if s.next < time.Second/2 {
		return ""
	}
	text := "next in " + s.next.Round(time.Second).String()
	if s.waits != "" {
		text += ": " + s.host + ", " + s.waits
	}
	if s.cause != "" {
		text += " after " + s.cause
	}
	return text
}

func etaText(d time.Duration) string {
	switch {
	case d < 0:
		return "?"
	case d > time.Hour:
		return d.Round(time.Minute).String()
	}
	return d.Round(time.Second).String()
}
