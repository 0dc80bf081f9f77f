// Package plan says how long a polite crawl takes at least, and what decides it. The estimate of the end of a crawl that is
// running is made by the same arithmetic.
//
// Reading order: plan.go, survey.go (which makes a Plan), least.go (the arithmetic), simulate.go, outlook.go.
package plan

import (
	"fmt"
	"time"
)

// Host is one host of a plan.
type Host struct {
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

// Plan is what a crawl will take at least.
type Plan struct {
	Hosts     []Host        `json:"hosts"`
	Bound     time.Duration `json:"bound_ns"`
	DecidedBy string        `json:"decided_by"`
	Rate      float64       `json:"rate,omitempty"`
	Simulated time.Duration `json:"simulated_ns,omitempty"` // what the crawl takes in virtual time

	SimulatedRequests int `json:"simulated_requests,omitempty"`

	Notes []string `json:"notes,omitempty"`
}

// Limit cuts the pages by the limits of the crawl, and notes what each leaves out; 0 or less is no limit.
func (p *Plan) Limit(pages, perHost int) {
	total := 0
	for i := range p.Hosts {
		h := &p.Hosts[i]
		if perHost > 0 && h.Pages > perHost {
			p.Notes = append(p.Notes, fmt.Sprintf("--max-per-host %d leaves out %d of %s", perHost, h.Pages-perHost, h.Host))
			h.Pages = perHost
		}
		total += h.Pages
	}
	if pages > 0 && total > pages {
		p.Notes = append(p.Notes, fmt.Sprintf("--max-pages %d ends the crawl before all %d pages are fetched", pages, total))
		for i := range p.Hosts { // taken evenly, as the frontier does
			p.Hosts[i].Pages = min(p.Hosts[i].Pages, max(1, p.Hosts[i].Pages*pages/total))
		}
	}
}

// SetBound sets the least time of each host and of the crawl, and what decides that. Each host has its robots.txt
// beside its pages; answers take service.
func (p *Plan) SetBound(service time.Duration) {
	loads := make([]Load, len(p.Hosts))
	for i := range p.Hosts {
		h := &p.Hosts[i]
		loads[i] = Load{Host: h.Host, Addr: h.Addr, Requests: h.Pages + 1, Delay: h.Delay}
		h.Least = loads[i].least(service)
	}
	p.Bound, p.DecidedBy = Least(loads, service, p.Rate)
}
