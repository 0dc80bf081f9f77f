package crawler

import (
	"time"

	"github.com/amble-crawler/amble/frontier"
)

// Progress is a snapshot of the crawls of a Crawler that are in progress.
type Progress struct {
	Started  time.Time // of the earliest
	Pages    int
	Requests int
	Bytes    int64
	Troubled int // answers with status 429 or 5xx, those included after which the URL is requested again
	Outcomes map[Outcome]int
	Frontier frontier.Stats // zero if the frontier does not count
}

// Progress returns the state of the crawls in progress. It may be called at any time, concurrently.
func (c *Crawler) Progress() Progress {
	c.mu.Lock()
	defer c.mu.Unlock()
	p := Progress{Outcomes: map[Outcome]int{}}
	for r := range c.runs {
		r.tally.addTo(&p)
		if s, ok := r.frontier.(frontier.Counter); ok {
			p.Frontier = sum(p.Frontier, s.Stats())
		}
	}
	return p
}

func (t *tally) addTo(p *Progress) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if p.Started.IsZero() || t.r.Started.Before(p.Started) {
		p.Started = t.r.Started
	}
	p.Pages += t.r.Pages
	p.Requests += t.r.Requests
	p.Bytes += t.r.Bytes
	p.Troubled += t.r.TooMany + t.r.ServerErrors
	for o, n := range t.r.Outcomes {
		p.Outcomes[o] += n
	}
}

func sum(a, b frontier.Stats) frontier.Stats {
	return frontier.Stats{
		Queued: a.Queued + b.Queued, Waiting: a.Waiting + b.Waiting, Claimed: a.Claimed + b.Claimed,
		Done: a.Done + b.Done, Rejected: a.Rejected + b.Rejected, Hosts: a.Hosts + b.Hosts,
	}
}
