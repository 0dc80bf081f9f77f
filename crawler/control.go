package crawler

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/amble-crawler/amble/frontier"
	"github.com/amble-crawler/amble/weburl"
	"github.com/amble-crawler/amble/weburl/hostmatch"
)

// control holds the changes that an operator makes while a Crawler runs. They can only make a crawl do less.
type control struct {
	paused bool                            // guarded by Crawler.mu
	left   atomic.Pointer[map[string]bool] // host names that are left out; the map is never modified, only replaced
}

// Pause makes every Run stop claiming URLs until [Crawler.Resume] or [Crawler.Drain] is called; a Run that begins meanwhile waits,
// too. Requests in flight end as usual. Pauses of hosts, Retry-After and [Limits].Time continue to run, so a limit on time applies
// as if the crawl were not paused. A pause lasts no longer than the process. It may be called at any time, concurrently, and
// repeatedly.
func (c *Crawler) Pause() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.control.paused = true
	for r := range c.runs {
		r.halt.begin()
	}
}

// Resume ends a pause. It changes nothing if there is none.
func (c *Crawler) Resume() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.control.paused = false
	for r := range c.runs {
		r.halt.end()
	}
}

// Paused reports whether the Crawler is paused.
func (c *Crawler) Paused() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.control.paused
}

// LeaveOut makes every Run leave out hosts from now on, as if their names were on the list of politeness.Config.OptOut: nothing more
// is requested from a name or names below it, on any port, and their URLs end as [Refused]. Requests in flight are completed. A host
// is a name or host:port, with or without "*." before it; if one is neither, the error names it, and none is left out. It cannot be undone:
// refused URLs are final. It may be called at any time, concurrently.
func (c *Crawler) LeaveOut(hosts ...string) error {
	names := map[string]bool{}
	for _, host := range hosts {
		if _, err := parseHost(host); err != nil {
			return err
		}
		names[hostmatch.Below(host)] = true
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if old := c.control.left.Load(); old != nil {
		maps.Copy(names, *old)
	}
	c.control.left.Store(&names)
	return nil
}

// Rescore gives each queued URL of every Run the score that score returns, and returns the number of changes: for example, after a model
// has learnt, the queue is ordered by its new scores. score gets the URL's Request with its present Score; like Config.Score it orders
// URLs of one priority. It is called by one goroutine at a time and must not call the Crawler. URLs that workers have claimed and all
// pauses are unchanged. If no Run is in progress, the queue is that of Config.Frontier: a job can be scored before it is resumed.
//
// It may be called at any time, concurrently, even by a Handler. With a queue on disk the scores are durable on return. After an error, or
// if the process is killed, a part of the queue has new scores, each URL is still queued once, and Rescore can be called again. With an
// Order by hash it is an error. See frontier.Frontier, F23.
func (c *Crawler) Rescore(ctx context.Context, score func(frontier.Request) float64) (changed int, err error) {
	if _, ok := c.cfg.Order.Seed(); ok {
		return 0, configError("Order is by hash, and the queue is to be scored: the first pages of a host would be no random sample; leave out one of the two")
	}
	for _, f := range c.frontiers() {
		n, err := f.Rescore(ctx, score)
		changed += n
		if over := c.cfg.Frontier == nil && errors.Is(err, frontier.ErrClosed); err != nil && !over { // an ended Run has closed its queue: no error
			return changed, fmt.Errorf("crawler: rescore: %w", err)
		}
	}
	return changed, nil
}

// frontiers returns the frontiers of all Runs, or the configured frontier.
func (c *Crawler) frontiers() []frontier.Frontier {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.cfg.Frontier != nil {
		return []frontier.Frontier{c.cfg.Frontier}
	}
	var all []frontier.Frontier
	for r := range c.runs {
		all = append(all, r.frontier)
	}
	return all
}

// Slower lengthens the delay of a host from now on: host:port, or a name or address, which means all its ports. See
// politeness.Gate.Slow. A delay shorter than the operator's delay for the host is an error, and so is an invalid host. The delays
// that a site requests apply in addition. It may be called at any time, concurrently.
func (c *Crawler) Slower(host string, delay time.Duration) error {
	u, err := parseHost(host)
	if err != nil {
		return err
	}
	if _, port, _ := strings.Cut(host[strings.LastIndexByte(host, ']')+1:], ":"); port == "" {
		return c.gate.Slow(u.Authority(), delay)
	}
	return c.gate.Slow(u.Host(), delay)
}

// parseHost returns the URL of a host's home page.
func parseHost(host string) (weburl.URL, error) {
	u, err := weburl.Parse("https://" + host + "/")
	if err != nil || hostmatch.Below(host) == "" {
		return weburl.URL{}, fmt.Errorf("crawler: %q is not a host: want a name or host:port", host)
	}
	return u, nil
}

// optOut returns a function that reports whether a host name is left out, by the operator or according to listed, which may
// be nil.
func (c *control) optOut(listed func(hostname string) bool) func(hostname string) bool {
	return func(hostname string) bool {
		return c.isLeftOut(hostname) || listed != nil && listed(hostname)
	}
}

func (c *control) isLeftOut(hostname string) bool {
	names := c.left.Load()
	if names == nil {
		return false
	}
	for name := hostname; name != ""; _, name, _ = strings.Cut(name, ".") {
		if (*names)[name] {
			return true
		}
	}
	return false
}

// halt makes the workers of a run wait while its crawl is paused. The zero halt is not paused.
type halt struct {
	mu       sync.Mutex
	over     chan struct{}      // closed when the pause ends; nil if not paused
	claiming context.Context    // context for claims until the next pause; nil until needed
	recall   context.CancelFunc // cancels claiming
}

func (h *halt) begin() {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.over == nil {
		h.over = make(chan struct{})
	}
	if h.recall != nil {
		h.recall()
		h.claiming, h.recall = nil, nil
	}
}

func (h *halt) end() {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.over != nil {
		close(h.over)
		h.over = nil
	}
}

// wait blocks until the pause ends or claims is canceled. It returns a context for claiming, which is canceled with claims or when the
// next pause begins.
func (h *halt) wait(claims context.Context) context.Context {
	for {
		claiming, over := h.current(claims)
		if over == nil {
			return claiming
		}
		select {
		case <-over:
		case <-claims.Done():
			return claims
		}
	}
}

func (h *halt) current(claims context.Context) (claiming context.Context, over chan struct{}) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.over == nil && h.claiming == nil {
		h.claiming, h.recall = context.WithCancel(claims)
	}
	return h.claiming, h.over
}

// Progress is a snapshot of the crawls of a Crawler that are in progress.
type Progress struct {
	Started  time.Time // start of the earliest of these crawls
	Pages    int
	Requests int
	Bytes    int64
	Troubled int // responses with status 429 or 5xx, including those after which the URL is retried
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
		if r.frontier != nil {
			p.Frontier = sum(p.Frontier, r.frontier.Stats())
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
