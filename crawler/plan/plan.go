// Package plan computes the least time that a polite crawl takes, and what decides it. The remaining time of a running
// crawl is estimated with the same arithmetic.
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
	Source   string        `json:"source"` // how Pages is known
	Least    time.Duration `json:"least_ns"`
	Problem  string        `json:"problem,omitempty"`
	Settings string        `json:"settings,omitempty"` // the entry of crawler.Config.Hosts that holds for it
	Sitemaps []string      `json:"sitemaps,omitempty"`

	budgeted bool // Settings say how many pages, in the place of the limit for all hosts
	listed   int  // pages that sitemaps list, from which a sample is drawn
}

// Plan is the least time that a crawl will take, and how it is made up.
type Plan struct {
	Hosts     []Host        `json:"hosts"`
	Bound     time.Duration `json:"bound_ns"`
	DecidedBy string        `json:"decided_by"`
	Rate      float64       `json:"rate,omitempty"`
	Service   time.Duration `json:"service_ns"`             // time that each answer is assumed to take
	Simulated time.Duration `json:"simulated_ns,omitempty"` // time that the crawl takes in virtual time

	SimulatedRequests int `json:"simulated_requests,omitempty"`

	Notes []string `json:"notes,omitempty"`
}

// Limit reduces the pages to the limits of the crawl, and notes what each limit leaves out; 0 or less is no limit.
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
		for i := range p.Hosts { // taken evenly, as the frontier takes them
			p.Hosts[i].Pages = min(p.Hosts[i].Pages, max(1, p.Hosts[i].Pages*pages/total))
		}
	}
}

// SetBound sets Service, the least time of each host and of the crawl, and what decides it. Each host has its robots.txt in
// addition to its pages; an answer takes the time service.
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
