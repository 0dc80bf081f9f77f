package watch

import (
	"math"
	"time"

	"github.com/amble-crawler/amble/crawler"
	"github.com/amble-crawler/amble/job/recrawl"
	"github.com/amble-crawler/amble/weburl"
)

// host holds the pages of one host.
type host struct {
	name  string
	sched *recrawl.Schedule
	pages []*ref // indexed by their number in the schedule
	// next is the time at which to ask the schedule again.
	next time.Time
	// turn is the earliest time of the next request for an unknown page.
	turn time.Time
	step time.Duration // time between two requests for unknown pages
}

// ref is a known page.
type ref struct {
	url    weburl.URL
	host   *host
	number int
	depth  int
	past   crawler.Past
	last   time.Time // time of the visit that the field past describes
	gone   bool
}

// siteMap is a known sitemap.
type siteMap struct {
	url   weburl.URL
	last  time.Time
	out   bool // the sitemap is in the queue
	moved bool // the sitemap has moved: its target is requested instead
}

// hostOf returns the host of a URL. The caller holds the lock.
func (w *Watch) hostOf(u weburl.URL) *host {
	h := w.hosts[u.Host()]
	if h == nil {
		c := recrawl.Config{Budget: float64(w.cfg.Budget)}
		h = &host{name: u.Host(), sched: recrawl.New(c)}
		h.step = recrawl.Duration(1 / (float64(w.cfg.Budget) * recrawl.DefaultDiscovery))
		w.hosts[h.name], w.order = h, append(w.order, h)
	}
	return h
}

// add adds a page. The caller holds the lock.
func (w *Watch) add(key weburl.Key, u weburl.URL, depth int, at time.Time) *ref {
	h := w.hostOf(u)
	r := &ref{url: u, host: h, depth: depth, number: h.sched.Add(u.PathQuery(), at)}
	h.pages = append(h.pages, r)
	w.pages[key] = r
	w.known++
	h.next = time.Time{}
	return r
}

// full reports whether the limits of the job allow for no further page of a host.
func (w *Watch) full(u weburl.URL) bool {
	l := &w.limits
	return l.Pages > 0 && l.Pages.Reached(w.known) || l.PagesPerHost > 0 && l.PagesPerHost.Reached(len(w.hostOf(u).pages))
}

// mapsEvery returns the time between two visits to each of n sitemaps of a host. Together the sitemaps get at most a third as many
// requests as unknown pages.
func (h *host) mapsEvery(n int) time.Duration { return max(6*time.Hour, 3*h.step*time.Duration(n)) }

func (h *host) status(used int) HostStatus {
	s := HostStatus{Host: h.name, Used: used, Signals: h.sched.Signals()}
	var sum float64
	for i, r := range h.pages {
		p := h.sched.Page(i)
		if p.Gone {
			s.Gone++
			continue
		}
		s.Pages++
		sum += recrawl.Freshness(p.Rate, p.Frequency)
		if p.TooFast {
			if s.Fast++; len(s.TooFast) < maxNamed {
				s.TooFast = append(s.TooFast, r.url.String())
			}
		}
	}
	s.Estimate = sum / math.Max(1, float64(s.Pages))
	return s
}
