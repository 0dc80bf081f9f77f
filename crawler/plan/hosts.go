package plan

import (
	"fmt"
	"net/netip"
	"slices"
	"time"

	"github.com/amble-crawler/amble/crawler"
)

// apply limits a host to the budgets of the entry of crawler.Config.Hosts that holds for it, and notes what they leave out.
// Its pages, its delay and its address are known. How many bytes the pages have is not.
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
		limit(s.Pages, fmt.Sprintf("max-pages %d", s.Pages))
	}
	if each := service + h.Delay; s.Time > 0 && each > 0 { // of which robots.txt has the first
		limit(int(max(0, (s.Time-1)/each)), fmt.Sprintf("max-time %v", s.Time))
	}
	if s.Bytes > 0 {
		p.Notes = append(p.Notes, fmt.Sprintf("hosts %s: max-bytes may end %s earlier: the sizes of its pages are not known", s.Match, h.Host))
	}
}

// unmet notes the entries that no seed is under: a crawl may still meet a host of theirs.
func (p *Plan) unmet(c *crawler.Config) {
	for _, s := range c.Hosts {
		if !slices.ContainsFunc(p.Hosts, func(h Host) bool { return h.Settings == s.Match }) {
			p.Notes = append(p.Notes, fmt.Sprintf("hosts %s: no seed is under it", s.Match))
		}
	}
}
