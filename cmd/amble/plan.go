package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"time"

	"github.com/amble-crawler/amble/crawler"
	"github.com/amble-crawler/amble/extract"
	"github.com/amble-crawler/amble/internal/cli"
	"github.com/amble-crawler/amble/politeness"
	"github.com/amble-crawler/amble/weburl"
)

// planCmd is "amble plan".
type planCmd struct {
	URLs []string `arg:"" optional:"" name:"url" help:"Seeds."`

	identityFlags `group:"Who crawls:"`

	Seeds      string `short:"i" group:"What:" placeholder:"FILE" help:"Read further seeds, one a line; - is stdin."`
	scopeFlags `group:"What:"`
	paceFlags  `group:"How politely:"`
	limitFlags `group:"How much:"`

	networkFlags `group:"Which way:"`

	Pages    int      `group:"Estimate:" default:"0" placeholder:"N" help:"Pages expected per host where no sitemap tells; 0 is the limit of the crawl."`
	Service  duration `group:"Estimate:" default:"200ms" placeholder:"D" help:"Time an answer takes (${default})."`
	Simulate bool     `group:"Estimate:" help:"Also play the crawl through in virtual time, request by request."`
	JSON     bool     `group:"Output:" help:"Print the plan as JSON."`
}

// Help is the beginning of the command's help.
func (*planCmd) Help() string {
	return `Examples:

	amble plan --contact me@university.edu https://site.to.crawl/
	amble plan --contact me@university.edu -i seeds.txt --max-pages none --simulate
	amble plan --json --pages 5000 -w 2s http://127.0.0.1:8080/

Reads robots.txt and the sitemaps it names, and nothing else. Prints for each host the delay in force
and why, the pages known, and the least time that this polite crawl can take.`
}

// hostPlan is one host of a plan.
type hostPlan struct {
	Host     string        `json:"host"`
	Addr     string        `json:"addr,omitempty"`
	Delay    time.Duration `json:"delay_ns"`
	Clause   string        `json:"clause"`
	Pages    int           `json:"pages"`
	Source   string        `json:"source"` // where Pages comes from
	Least    time.Duration `json:"least_ns"`
	Problem  string        `json:"problem,omitempty"`
	Sitemaps []string      `json:"sitemaps,omitempty"`
}

// plan is what a crawl will take at least.
type plan struct {
	Hosts     []hostPlan    `json:"hosts"`
	Bound     time.Duration `json:"bound_ns"`
	DecidedBy string        `json:"decided_by"`
	Rate      float64       `json:"rate,omitempty"`
	Simulated time.Duration `json:"simulated_ns,omitempty"` // what the crawl takes in virtual time

	SimulatedRequests int `json:"simulated_requests,omitempty"`

	Notes []string `json:"notes,omitempty"`
}

// Run executes the command.
func (c *planCmd) Run(a *app, o *origins) error {
	crawl := crawlFlags{Seeds: c.Seeds}
	seeds, err := crawl.seeds(c.URLs, o, a.in)
	if err != nil {
		return err
	}
	policy, err := c.policy()
	if err != nil {
		return err
	}
	ask, err := newAsker(&c.identityFlags, &c.networkFlags, policy, seeds)
	if err != nil {
		return err
	}
	defer ask.close()
	p := c.plan(context.Background(), ask, seeds)
	if c.Simulate {
		c.simulate(p)
	}
	if c.JSON {
		return cli.PrintJSON(a.out, p)
	}
	_, err = a.out.Write([]byte(p.text()))
	return err
}

// plan asks for the seeds' robots.txt files and sitemaps and does the arithmetic.
func (c *planCmd) plan(ctx context.Context, ask *asker, seeds []weburl.URL) *plan {
	p := &plan{Rate: max(0, float64(c.Rate))}
	scope, err := crawler.NewSeedScope(crawler.ScopeKind(c.Scope), nil, seeds...)
	if err != nil {
		p.Notes = append(p.Notes, err.Error())
		return p
	}
	known := map[string]bool{}
	for _, u := range seeds {
		if !known[u.Host()] {
			known[u.Host()] = true
			p.Hosts = append(p.Hosts, c.host(ctx, ask, scope, u))
		}
	}
	c.limit(p)
	p.bound(time.Duration(c.Service))
	return p
}

// host plans one host.
func (c *planCmd) host(ctx context.Context, ask *asker, scope crawler.Scope, u weburl.URL) hostPlan {
	h := hostPlan{Host: u.Host(), Pages: c.expected(), Source: "assumed"}
	info, err := ask.rules(ctx, u)
	if err != nil {
		h.Problem = err.Error()
	}
	if addr, err := ask.fetcher.Resolve(ctx, u); err == nil {
		h.Addr = addr.String()
	}
	state := ask.gate.Host(u.Host()).HostState
	state.Latency = time.Duration(c.Service) // the few answers that a plan sees tell little of it
	h.Delay, h.Clause = ask.policy.DelayFor(state)
	if info.Rules != nil {
		h.Sitemaps = publicly(info.Rules.Sitemaps())
	}
	if n, ok := c.sitemapPages(ctx, ask, scope, u, h.Sitemaps); ok {
		h.Pages, h.Source = n, "sitemap"
	}
	return h
}

// expected is the number of pages assumed of a host about which no sitemap tells.
func (c *planCmd) expected() int {
	switch {
	case c.Pages > 0:
		return c.Pages
	case c.MaxPerHost > 0:
		return int(c.MaxPerHost)
	case c.MaxPages > 0:
		return int(c.MaxPages)
	}
	return crawler.DefaultMaxPages
}

// maxPlanSitemaps is how many sitemaps of one host are read.
const maxPlanSitemaps = 50

// sitemapPages counts the pages in scope that a host's sitemaps list.
func (c *planCmd) sitemapPages(ctx context.Context, ask *asker, scope crawler.Scope, u weburl.URL, refs []string) (n int, ok bool) {
	seen, pages := map[string]bool{}, map[weburl.Key]bool{}
	for i := 0; i < len(refs) && len(seen) < maxPlanSitemaps; i++ {
		to, err := u.RobotsURL().Resolve(refs[i])
		if err != nil || seen[to.String()] || to.Host() != u.Host() {
			continue
		}
		seen[to.String()] = true
		body, err := ask.get(ctx, to)
		var moved *movedError
		if errors.As(err, &moved) {
			refs = append(refs, moved.to.String())
		}
		if err != nil {
			continue
		}
		ok = true
		sm := extract.Sitemap(bytes.NewReader(body), extract.SitemapOptions{})
		for e, err := sm.Next(); err == nil; e, err = sm.Next() {
			if e.Sitemap {
				refs = append(refs, e.Loc)
				continue
			}
			if p, err := to.Resolve(e.Loc); err == nil && scope.Decide(p).In {
				pages[p.Key()] = true
			}
		}
	}
	return len(pages), ok
}

// limit cuts the pages by the crawl's limits, and says what each would change.
func (c *planCmd) limit(p *plan) {
	total := 0
	for i := range p.Hosts {
		h := &p.Hosts[i]
		if c.MaxPerHost > 0 && h.Pages > int(c.MaxPerHost) {
			p.Notes = append(p.Notes, fmt.Sprintf("--max-per-host %d leaves out %d of %s", int(c.MaxPerHost), h.Pages-int(c.MaxPerHost), h.Host))
			h.Pages = int(c.MaxPerHost)
		}
		total += h.Pages
	}
	if most := int(c.MaxPages); most > 0 && total > most {
		p.Notes = append(p.Notes, fmt.Sprintf("--max-pages %d ends the crawl before all %d pages are fetched", most, total))
		for i := range p.Hosts { // taken evenly, as the frontier does
			p.Hosts[i].Pages = min(p.Hosts[i].Pages, max(1, p.Hosts[i].Pages*most/total))
		}
	}
}

// bound is the least time: of every host and every address the requests one after the other, each
// with its pause, and of all requests what the global rate allows.
func (p *plan) bound(service time.Duration) {
	addrs := map[string]time.Duration{}
	requests := 0
	for i := range p.Hosts {
		h := &p.Hosts[i]
		n := h.Pages + 1 // and robots.txt
		requests += n
		h.Least = time.Duration(n)*service + time.Duration(n-1)*h.Delay
		p.decide(h.Least, "host "+h.Host)
		if h.Addr != "" {
			addrs[h.Addr] += time.Duration(n) * (service + h.Delay)
		}
	}
	for addr, d := range addrs {
		p.decide(d-p.delayAt(addr), "address "+addr)
	}
	if p.Rate > 0 {
		p.decide(time.Duration(float64(requests)/p.Rate*float64(time.Second)), fmt.Sprintf("--rate %g", p.Rate))
	}
}

func (p *plan) delayAt(addr string) time.Duration {
	var d time.Duration
	for _, h := range p.Hosts {
		if h.Addr == addr {
			d = max(d, h.Delay)
		}
	}
	return d
}

func (p *plan) decide(d time.Duration, by string) {
	if d > p.Bound {
		p.Bound, p.DecidedBy = d, by
	}
}

func (p *plan) text() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%-36s %10s %-14s %8s %-9s %12s\n", "host", "delay", "set by", "pages", "from", "least time")
	for _, h := range p.Hosts {
		fmt.Fprintf(&b, "%-36s %10s %-14s %8d %-9s %12s\n", h.Host, h.Delay, h.Clause, h.Pages, h.Source, h.Least.Round(time.Millisecond))
		if h.Problem != "" {
			fmt.Fprintf(&b, "    robots.txt: %s\n", cli.Printable(h.Problem))
		}
	}
	fmt.Fprintf(&b, "The crawl takes at least %s, decided by %s.\n", p.Bound.Round(time.Millisecond), p.DecidedBy)
	if p.Simulated > 0 {
		fmt.Fprintf(&b, "Played through in virtual time, it takes %s for %s: %.2f × the least.\n",
			p.Simulated.Round(time.Millisecond), cli.Plural(p.SimulatedRequests, "request"), p.Simulated.Seconds()/max(p.Bound.Seconds(), 1e-9))
	}
	for _, n := range p.Notes {
		fmt.Fprintln(&b, n)
	}
	return b.String()
}

// get requests a sitemap as a crawl would, robots.txt first, and returns the body of a 200 answer.
func (k *asker) get(ctx context.Context, u weburl.URL) ([]byte, error) {
	if _, err := k.rules(ctx, u); err != nil {
		return nil, err
	}
	page, err := k.client.Get(ctx, u, politeness.Sitemap)
	if err != nil {
		return nil, err
	}
	switch to, err := u.Resolve(page.Header.Get("Location")); {
	case page.Status == http.StatusOK:
		return page.Text()
	case page.Status/100 == 3 && err == nil:
		return nil, &movedError{to}
	}
	return nil, fmt.Errorf("%s: status %d", u, page.Status)
}

// movedError is the answer that a URL's body lies elsewhere.
type movedError struct{ to weburl.URL }

func (e *movedError) Error() string { return "moved to " + e.to.String() }
