package plan

import (
	"fmt"
	"strings"
	"time"

	"github.com/amble-crawler/amble/internal/cli"
)

// Text returns the plan as text for people.
func (p *Plan) Text() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%-36s %10s %-14s %8s %-9s %12s\n", "host", "delay", "set by", "pages", "from", "least time")
	for _, h := range p.Hosts {
		fmt.Fprintf(&b, "%-36s %10s %-14s %8d %-9s %12s\n", h.Host, h.Delay, h.Clause, h.Pages, h.Source, h.Least.Round(time.Millisecond))
		if h.Settings != "" {
			fmt.Fprintf(&b, "    by the settings of hosts %s\n", h.Settings)
		}
		if h.Problem != "" {
			fmt.Fprintf(&b, "    robots.txt: %s\n", cli.Printable(h.Problem))
		}
	}
	fmt.Fprintf(&b, "The crawl takes at least %s, decided by %s.\n", p.Bound.Round(time.Millisecond), p.DecidedBy)
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
