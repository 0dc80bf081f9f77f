package mcp

import (
	"context"
	"errors"
	"fmt"

	"github.com/amble-crawler/amble/jobs"
)

// crawlIn holds the arguments of the tool crawl.
type crawlIn struct {
	Seeds    []string `json:"seeds,omitempty" jsonschema:"URLs to begin with"`
	MaxPages int      `json:"max_pages,omitempty" jsonschema:"pages at most, 1 to 1000 (50)"`
	Depth    *int     `json:"depth,omitempty" jsonschema:"links followed from a seed (2)"`
	Scope    string   `json:"scope,omitempty" jsonschema:"host (default), domain or prefix"`
	Exclude  []string `json:"exclude,omitempty" jsonschema:"regular expressions of URLs to leave out"`
	Job      string   `json:"job,omitempty" jsonschema:"a crawl that was begun before: how far is it?"`
}

// crawlOut is the result of the tool crawl.
type crawlOut struct {
	progress
	Pages    int    `json:"pages"`
	Requests int    `json:"requests"`
	Left     int    `json:"left" jsonschema:"URLs that are known and were not requested"`
	Finish   string `json:"finish,omitempty" jsonschema:"what ended the crawl"`
}

const (
	defaultPages = 50
	maxPages     = 1000
	defaultDepth = 2
)

// crawl starts a crawl, or returns the state of one that was started before.
func (t *tools) crawl(ctx context.Context, in crawlIn) (out crawlOut, err error) {
	var info jobs.Info
	if in.Job != "" {
		if len(in.Seeds) > 0 {
			return out, errors.New("give seeds to begin a crawl, or job to look after one, not both")
		}
		out.progress, info, err = t.await(ctx, in.Job)
	} else {
		q, err2 := t.crawlRequest(&in)
		if err2 != nil {
			return out, err2
		}
		asked := fmt.Sprintf("crawl %q %v", in.Seeds, q.Settings)
		out.progress, info, err = t.run(ctx, asked, 0, q)
	}
	if err != nil {
		return out, err
	}
	out.Pages, out.Requests, out.Left, out.Finish = info.Pages, info.Requests, info.Left, string(info.Finish)
	if out.State == done && info.Pages == 0 {
		out.State, out.Why = broken, "no page was fetched: allowed says whether robots.txt forbids the seeds"
	}
	return out, nil
}

// crawlRequest returns the request for the job of a crawl.
func (t *tools) crawlRequest(in *crawlIn) (q jobs.Request, err error) {
	settings := map[string]any{"max-pages": defaultPages, "depth": defaultDepth, "scope": "host", "text": true}
	switch {
	case len(in.Seeds) == 0:
		return q, errors.New("give seeds to begin a crawl, or job to look after one")
	case in.MaxPages < 0 || in.MaxPages > maxPages:
		return q, fmt.Errorf("max_pages %d: give 1 to %d", in.MaxPages, maxPages)
	case in.MaxPages > 0:
		settings["max-pages"] = in.MaxPages
	}
	if in.Depth != nil {
		settings["depth"] = *in.Depth
	}
	switch in.Scope {
	case "":
	case "host", "domain", "prefix":
		settings["scope"] = in.Scope
	default:
		return q, fmt.Errorf("scope %q: want host, domain or prefix", in.Scope)
	}
	if len(in.Exclude) > 0 {
		settings["exclude"] = in.Exclude
	}
	return t.request("", settings, in.Seeds...), nil
}

// planIn holds the arguments of the tool plan.
type planIn struct {
	Seeds []string `json:"seeds" jsonschema:"URLs to begin with"`
	Pages int      `json:"pages,omitempty" jsonschema:"pages of each host (50)"`
}

// planOut is the result of the tool plan.
type planOut struct {
	Least float64    `json:"least_s" jsonschema:"seconds that the crawl takes at the least"`
	Hosts []planHost `json:"hosts"`
}

// planHost is a host in a plan.
type planHost struct {
	Host    string     `json:"host"`
	Seed    string     `json:"seed"`
	Pause   float64    `json:"pause_s" jsonschema:"seconds between two requests"`
	Clause  string     `json:"clause" jsonschema:"what sets the pause"`
	Robots  allowedOut `json:"robots" jsonschema:"what the robots.txt of the host says about the seed"`
	Seconds float64    `json:"least_s"`
}

// plan estimates the duration of a crawl. It requests the robots.txt of each seed's host.
func (t *tools) plan(ctx context.Context, in planIn) (out planOut, err error) {
	const maxHosts = 20
	if len(in.Seeds) == 0 || len(in.Seeds) > maxHosts {
		return out, fmt.Errorf("%d seeds: give 1 to %d", len(in.Seeds), maxHosts)
	}
	pages := in.Pages
	if pages <= 0 {
		pages = defaultPages
	}
	seen := map[string]bool{}
	for _, seed := range in.Seeds {
		u, err := parse(seed)
		if err != nil {
			return out, err
		}
		if seen[u.Host()] {
			continue
		}
		seen[u.Host()] = true
		h := planHost{Host: u.Host(), Seed: u.String()}
		if h.Robots, err = t.allowed(ctx, allowedIn{URL: seed}); err != nil {
			return out, err
		}
		out.Hosts = append(out.Hosts, h)
	}
	p, _, err := t.Jobs.Plan(t.request("", map[string]any{"max-pages": pages * len(out.Hosts), "max-per-host": pages}, in.Seeds...))
	if err != nil {
		return out, err
	}
	out.Least = p.Bound.Seconds()
	for i, h := range p.Hosts { // both lists have the order of the seeds
		x := &out.Hosts[i]
		x.Pause, x.Clause, x.Seconds = h.Delay.Seconds(), h.Clause, h.Least.Seconds()
		if asks := x.Robots.Delay; asks > x.Pause {
			x.Pause, x.Clause, x.Seconds = asks, "Crawl-delay", max(x.Seconds, float64(pages)*asks)
		}
		out.Least = max(out.Least, x.Seconds)
	}
	return out, nil
}
