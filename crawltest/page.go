package crawltest

import (
	"net/http"
	"strconv"
	"time"
)

// Page is the answer of a site for one path. Its methods return the Page, so that calls can be chained.
type Page struct {
	site *Site

	// guarded by site.web.mu
	at        time.Duration
	status    int
	typ       string
	body      string
	header    http.Header
	location  string
	latency   time.Duration
	handler   http.Handler
	faults    []*Fault
	forbidden bool
	forbids   []string      // of a robots.txt: the paths that this version forbids
	delay     time.Duration // of a robots.txt: the Crawl-delay of this version
}

func (p *Page) set(f func()) *Page {
	p.site.set(f)
	return p
}

// Site returns the page's site, to continue a chain.
func (p *Page) Site() *Site { return p.site }

// At makes this the version of the page from a time on, counted from [Web.Start]. Until then the earlier version is served, or 404 if
// there is none.
func (p *Page) At(d time.Duration) *Page { return p.set(func() { p.at = d }) }

// Status sets the status code of the answer.
func (p *Page) Status(code int) *Page { return p.set(func() { p.status = code }) }

// Type sets the Content-Type; "" sends none.
func (p *Page) Type(t string) *Page { return p.set(func() { p.typ = t }) }

// Header adds a field to the answer's header.
func (p *Page) Header(key, value string) *Page {
	return p.set(func() {
		if p.header == nil {
			p.header = make(http.Header)
		}
		p.header.Add(key, value)
	})
}

// Location sets the Location field, which is sent unchanged.
func (p *Page) Location(to string) *Page { return p.set(func() { p.location = to }) }

// Latency sets the time until the response begins, in addition to the site's latency.
func (p *Page) Latency(d time.Duration) *Page { return p.set(func() { p.latency = d }) }

// Fault makes the page misbehave. DNS, connect and TLS faults belong to a [Site].
func (p *Page) Fault(f Fault) *Page {
	if f.stage != stageAnswer {
		p.site.web.fatal("%s: a DNS, connect or TLS fault cannot belong to a page", p.site.origin)
	}
	f.hits = 0
	return p.set(func() { p.faults = append(p.faults, &f) })
}

// Forbidden states that the site's robots.txt forbids this page: a polite crawler never requests it.
func (p *Page) Forbidden() *Page { return p.set(func() { p.forbidden = true }) }

// Forbids states which paths a version of robots.txt forbids; see [Site.Forbid].
func (p *Page) Forbids(paths ...string) *Page {
	canon := p.site.canonAll(paths)
	return p.set(func() { p.forbids = append(p.forbids, canon...) })
}

// Delays states the Crawl-delay in a version of robots.txt.
func (p *Page) Delays(d time.Duration) *Page { return p.set(func() { p.delay = d }) }

func itoa(n int) string { return strconv.Itoa(n) }
