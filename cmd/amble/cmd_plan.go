package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"time"

	"github.com/alecthomas/kong"

	"github.com/amble-crawler/amble/crawler"
	"github.com/amble-crawler/amble/extract"
	"github.com/amble-crawler/amble/internal/cli"
	"github.com/amble-crawler/amble/plan"
	"github.com/amble-crawler/amble/politeness"
	"github.com/amble-crawler/amble/weburl"
)

// planCmd is "amble plan".
type planCmd struct {
	URLs []string `arg:"" optional:"" name:"url" help:"Seeds."`

	configFlag `group:"Who crawls:"`

	Seeds string `short:"i" group:"What:" placeholder:"FILE" help:"Read further seeds, one a line; - is stdin."`
	kong.Plugins

	Pages    int          `group:"Estimate:" default:"0" placeholder:"N" help:"Pages expected per host where no sitemap tells; 0 is the limit of the crawl."`
	Service  cli.Duration `group:"Estimate:" default:"200ms" placeholder:"D" help:"Time an answer takes (${default})."`
	Simulate bool         `group:"Estimate:" help:"Also play the crawl through in virtual time, request by request."`
	JSON     bool         `group:"Output:" help:"Print the plan as JSON."`

	cfg crawler.Config
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

// Run executes the command.
func (c *planCmd) Run(a *app, o *origins) error {
	seeds, err := o.seeds(c.URLs, c.Seeds, a.in)
	if err != nil {
		return err
	}
	cfg, err := o.config()
	if err != nil {
		return err
	}
	if c.cfg, err = cfg.Crawler(); err != nil {
		return flagErrors(err)
	}
	ask, err := newAsker(&c.cfg, c.cfg.Politeness, seeds)
	if err != nil {
		return err
	}
	defer ask.close()
	p := c.survey(context.Background(), ask, seeds)
	if c.Simulate {
		p.Simulate(time.Duration(c.Service), c.cfg.Concurrency)
	}
	if c.JSON {
		return cli.PrintJSON(a.out, p)
	}
	_, err = a.out.Write([]byte(planText(p)))
	return err
}

// survey requests the seeds' robots.txt files and sitemaps and does the arithmetic.
func (c *planCmd) survey(ctx context.Context, ask *asker, seeds []weburl.URL) *plan.Plan {
	p := &plan.Plan{Rate: c.cfg.Politeness.Rate}
	scope, err := crawler.NewSeedScope(c.cfg.Scope.Kind, nil, seeds...)
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
	p.Limit(c.cfg.Limits.Pages, c.cfg.Limits.PagesPerHost)
	p.SetBound(time.Duration(c.Service))
	return p
}

// host plans one host.
func (c *planCmd) host(ctx context.Context, ask *asker, scope crawler.Scope, u weburl.URL) plan.Host {
	h := plan.Host{Host: u.Host(), Pages: c.expected(), Source: "assumed"}
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
	case c.cfg.Limits.PagesPerHost > 0:
		return c.cfg.Limits.PagesPerHost
	case c.cfg.Limits.Pages > 0:
		return c.cfg.Limits.Pages
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

func planText(p *plan.Plan) string {
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
