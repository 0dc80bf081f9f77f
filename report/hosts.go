package report

import (
	"cmp"
	"slices"
	"time"

	"github.com/amble-crawler/amble/crawler"
	"github.com/amble-crawler/amble/job"
	"github.com/amble-crawler/amble/politeness/ledger"
	"github.com/amble-crawler/amble/sink"
	"github.com/amble-crawler/amble/weburl"
)

// Limits on what Gather keeps, however long the crawl was.
const (
	mostHosts  = 10_000 // hosts that are counted separately
	mostOpen   = 10_000 // requests without an end so far
	mostListed = 200    // hosts that are listed: those with the most requests
	mostFailed = 500    // failed URLs that are listed
)

// Host sums up what a crawl did at one host.
type Host struct {
	Host     string        // host:port
	Requests int           // that were sent, robots.txt included
	Pages    int           // visits that were fetched
	Failed   int           // visits that failed or were deferred
	Bytes    int64         // body bytes received
	Answer   time.Duration // average time from the start of a request to the end of its answer
	Pause    time.Duration // shortest time from the end of a request to the start of the next; 0 with fewer than two requests

	answered int
	took     time.Duration
	ended    time.Time // of the last request
	run      string    // the process that made it
}

// Facts is the result of one pass over the ledger and the visits of a job.
type Facts struct {
	Hosts      []Host // those with the most requests first
	MoreHosts  int    // number of hosts that are not in Hosts
	Failed     []sink.Record
	MoreFailed int // number of failed visits that are not in Failed
}

// Gather reads the ledger and the visits of a job, each once and line by line. It keeps no more than a few thousand
// hosts and URLs in memory.
func Gather(r *job.Reader) (*Facts, error) {
	g := gatherer{hosts: map[string]*Host{}, open: map[uint64]ledger.Entry{}}
	for e, err := range r.Ledger() {
		if err != nil {
			return nil, err
		}
		g.entry(e)
	}
	for v, err := range r.Visits() {
		if err != nil {
			return nil, err
		}
		g.visit(v)
	}
	return g.result(), nil
}

// gatherer accumulates facts from lines.
type gatherer struct {
	hosts map[string]*Host
	more  map[string]bool         // further hosts, up to the same number
	run   string                  // the process whose lines are being read
	open  map[uint64]ledger.Entry // its requests without an end so far, by ID
	facts Facts
}

// host returns what is known of a host, or nil if there are too many.
func (g *gatherer) host(name string) *Host {
	h, ok := g.hosts[name]
	if !ok && len(g.hosts) < mostHosts {
		h = &Host{Host: name}
		g.hosts[name] = h
	}
	if h == nil && len(g.more) < mostHosts {
		if g.more == nil {
			g.more = map[string]bool{}
		}
		g.more[name] = true
	}
	return h
}

func (g *gatherer) entry(e *ledger.Entry) {
	if e.Run != g.run { // requests of the previous process can no longer end
		clear(g.open)
		g.run = e.Run
	}
	if e.Event == ledger.Start {
		if len(g.open) < mostOpen {
			g.open[e.ID] = *e
		}
		return
	}
	start, ok := g.open[e.ID]
	delete(g.open, e.ID)
	if !ok || e.Event != ledger.End {
		return
	}
	if h := g.host(start.Host); h != nil {
		h.add(&start, e)
	}
}

// add adds a request to a host; requests are added in the order in which they end. Pauses between processes are not
// counted, because they are not waiting times.
func (h *Host) add(start, end *ledger.Entry) {
	if pause := start.Written.Sub(h.ended); h.run == start.Run && (h.Pause == 0 || pause < h.Pause) {
		h.Pause = max(pause, 1)
	}
	h.ended, h.run = end.Ended, start.Run
	h.Requests++
	h.Bytes += end.Bytes
	if end.Status > 0 {
		h.answered++
		h.took += end.Ended.Sub(start.Written)
	}
}

func (g *gatherer) visit(v *sink.Record) {
	failed := v.Outcome == string(crawler.Failed) || v.Outcome == string(crawler.Deferred)
	if u, err := weburl.Parse(v.URL); err == nil && (failed || v.Outcome == string(crawler.Fetched)) {
		if h := g.hosts[u.Host()]; h != nil && failed {
			h.Failed++
		} else if h != nil {
			h.Pages++
		}
	}
	switch {
	case !failed && v.Status < 400:
	case len(g.facts.Failed) < mostFailed:
		g.facts.Failed = append(g.facts.Failed, *v)
	default:
		g.facts.MoreFailed++
	}
}

func (g *gatherer) result() *Facts {
	f := &g.facts
	for _, h := range g.hosts {
		if h.answered > 0 {
			h.Answer = h.took / time.Duration(h.answered)
		}
		f.Hosts = append(f.Hosts, *h)
	}
	slices.SortFunc(f.Hosts, func(a, b Host) int { return cmp.Or(b.Requests-a.Requests, cmp.Compare(a.Host, b.Host)) })
	f.MoreHosts = len(g.more) + max(0, len(f.Hosts)-mostListed)
	f.Hosts = f.Hosts[:min(len(f.Hosts), mostListed)]
	return f
}
