// Package plan computes the minimum time that a polite crawl takes, and which host, address or limit decides it. The remaining time
// of a running crawl is estimated with the same arithmetic.
//
//	least, by := plan.Least([]plan.Load{{Host: "a.example", Requests: 100, Delay: 10 * time.Second}}, 200*time.Millisecond, 0)
//
// If the number of pages is not known, a [Survey] reads the sitemaps of the hosts:
//
//	survey := plan.Survey{Client: client, Politeness: config.Politeness, Crawl: config, Service: 200 * time.Millisecond, Pages: 1000}
//	p, err := survey.Plan(ctx, seeds...)
//	fmt.Print(p.Text())
package plan

import (
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"time"

	"github.com/amble-crawler/amble/crawler"
	"github.com/amble-crawler/amble/internal/cli"
)

// Host describes a host in a plan.
type Host struct {
	Host     string        `json:"host"`
	Addr     string        `json:"addr,omitempty"`
	Delay    time.Duration `json:"delay_ns"`
	Clause   string        `json:"clause"`
	Pages    int           `json:"pages"`
	Source   string        `json:"source"` // how Pages was determined
	Least    time.Duration `json:"least_ns"`
	Problem  string        `json:"problem,omitempty"`
	Settings string        `json:"settings,omitempty"` // the entry of crawler.Config.Hosts that applies to the host
	Sitemaps []string      `json:"sitemaps,omitempty"`

	budgeted bool // Settings limits the pages, so the limit for all hosts does not apply
	listed   int  // pages that sitemaps list, from which a sample is drawn
}

// Plan holds the minimum time that a crawl takes, and the hosts and limits that determine it.
type Plan struct {
	Hosts     []Host        `json:"hosts"`
	Bound     time.Duration `json:"bound_ns"`
	DecidedBy string        `json:"decided_by"`
	Rate      float64       `json:"rate,omitempty"`
	Service   time.Duration `json:"service_ns"`             // assumed time of a response
	Simulated time.Duration `json:"simulated_ns,omitempty"` // time that the crawl takes in virtual time

	SimulatedRequests int `json:"simulated_requests,omitempty"`

	Notes []string `json:"notes,omitempty"`
}

// Limit reduces the numbers of pages to the limits of the crawl, and adds a note about the pages that each limit leaves out. A limit of 0
// or less means no limit.
func (p *Plan) Limit(pages, perHost int) {
	total := 0
	for i := range p.Hosts {
		h := &p.Hosts[i]
		if perHost > 0 && h.Pages > perHost && !h.budgeted {
			p.Notes = append(p.Notes, fmt.Sprintf("max-per-host %d leaves out %d of %s", perHost, h.Pages-perHost, h.Host))
			h.Pages = perHost
		}
		total += h.Pages
	}
	if pages > 0 && total > pages {
		p.Notes = append(p.Notes, fmt.Sprintf("max-pages %d ends the crawl before all %d pages are fetched", pages, total))
		for i := range p.Hosts { // reduce the pages of all hosts in proportion
			p.Hosts[i].Pages = min(p.Hosts[i].Pages, max(1, p.Hosts[i].Pages*pages/total))
		}
	}
}

// SetBound sets Service, the minimum times of the hosts and of the crawl, and DecidedBy. Each host has one request for robots.txt in
// addition to its pages. A response takes the time service.
func (p *Plan) SetBound(service time.Duration) {
	loads := make([]Load, len(p.Hosts))
	for i := range p.Hosts {
		h := &p.Hosts[i]
		loads[i] = Load{Host: h.Host, Addr: h.Addr, Requests: h.Pages + 1, Delay: h.Delay}
		h.Least = loads[i].least(service)
	}
	p.Service = service
	p.Bound, p.DecidedBy = Least(loads, service, p.Rate)
}

// apply limits the pages of a host to the budgets of the entry of crawler.Config.Hosts that applies to it, and adds notes about the pages
// left out. The host's pages, delay and address must be set. The sizes of pages are unknown, so a budget of bytes only gets a note.
func (p *Plan) apply(h *Host, settingsOf func(string, netip.Addr) (crawler.HostSettings, bool), service time.Duration) {
	addr, _ := netip.ParseAddr(h.Addr)
	s, ok := settingsOf(h.Host, addr)
	if !ok {
		return
	}
	h.Settings, h.budgeted = s.Match, s.Pages != 0
	limit := func(most int, what string) {
		if h.Pages > most {
			p.Notes = append(p.Notes, fmt.Sprintf("hosts %s: %s leaves out %d of %s", s.Match, what, h.Pages-most, h.Host))
			h.Pages = most
		}
	}
	if s.Pages > 0 {
		limit(int(s.Pages), fmt.Sprintf("max-pages %d", s.Pages))
	}
	if each := service + h.Delay; s.Time > 0 && each > 0 { // s.Time also includes the request for robots.txt
		limit(int(max(0, (s.Time-1)/each)), fmt.Sprintf("max-time %v", s.Time))
	}
	if s.Bytes > 0 {
		p.Notes = append(p.Notes, fmt.Sprintf("hosts %s: max-bytes may end %s earlier: the sizes of its pages are not known", s.Match, h.Host))
	}
}

// unmet adds a note about each entry that matches no seed. The crawl may still find hosts that such an entry matches.
func (p *Plan) unmet(c *crawler.Config) {
	for _, s := range c.Hosts {
		if !slices.ContainsFunc(p.Hosts, func(h Host) bool { return h.Settings == s.Match }) {
			p.Notes = append(p.Notes, fmt.Sprintf("hosts %s: no seed is under it", s.Match))
		}
	}
}

// sampled adds a note about the pages of a host that the sample leaves out.
func (p *Plan) sampled(h *Host, of crawler.Sample) {
	switch {
	case of.N == 0:
	case h.listed == 0:
		p.Notes = append(p.Notes, fmt.Sprintf("sample %s: %s names no sitemap that lists pages in scope, so none is drawn", of, h.Host))
	case h.listed > of.N:
		p.Notes = append(p.Notes, fmt.Sprintf("sample %s: of %d pages that the sitemaps of %s list, the %d with the smallest tickets are drawn; %d are left out", of, h.listed, h.Host, of.N, h.listed-of.N))
	}
}

// Text returns the plan as readable text.
func (p *Plan) Text() string {
	var b strings.Builder
	hosts := cli.NewTable("", "host", ">delay", "set by", ">pages", "from", ">least time")
	for _, h := range p.Hosts {
		hosts.Row(h.Host, h.Delay, h.Clause, h.Pages, h.Source, h.Least.Round(time.Millisecond))
		if h.Settings != "" {
			hosts.Line("    by the settings of hosts " + h.Settings)
		}
		if h.Problem != "" {
			hosts.Line("    robots.txt: " + cli.Printable(h.Problem))
		}
	}
	b.WriteString(hosts.String())
	fmt.Fprintf(&b, "The crawl takes at least %s%s.\n", p.Bound.Round(time.Millisecond), cli.After(", decided by ", p.DecidedBy))
	fmt.Fprintf(&b, "Each answer is assumed to take %s.\n", p.Service)
	if p.Simulated > 0 {
		fmt.Fprintf(&b, "Played through in virtual time, it takes %s for %s: %.2f × the least.\n",
			p.Simulated.Round(time.Millisecond), cli.Plural(p.SimulatedRequests, "request"), p.Simulated.Seconds()/max(p.Bound.Seconds(), 1e-9))
	}
	for _, n := range p.Notes {
		fmt.Fprintln(&b, n)
	}
	return b.String()
}
