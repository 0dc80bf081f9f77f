package view

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/amble-crawler/amble/crawler"
	"github.com/amble-crawler/amble/internal/cli"
	"github.com/amble-crawler/amble/job"
	"github.com/amble-crawler/amble/politeness"
	"github.com/amble-crawler/amble/weburl"
)

// Begin prints what is about to be crawled, as whom, and at which rate, if stderr is a terminal. Otherwise it only prints whether the delay
// of the crawl differs from the requested one.
func (v *View) Begin(c *crawler.Config, seeds []weburl.URL) {
	defer v.tellTypes(c, seeds)
	switch {
	case v.flags.Quiet:
	case v.screen.Live():
		fmt.Fprint(v.screen, beginText(c, seeds))
	default:
		v.tellRaised(&c.Politeness, seeds)
	}
}

// tellTypes prints a note if the rules exclude HTML: such a crawl follows no links.
func (v *View) tellTypes(c *crawler.Config, seeds []weburl.URL) {
	scope, err := c.SeedScope(seeds...)
	if err == nil && c.Limits.Depth != crawler.SeedsOnly && !scope.WantsType("text/html") {
		v.Tell("a rule excludes text/html: no links of pages are followed")
	}
}

// tellRaised prints a note if the delay of the crawl differs from the requested one.
func (v *View) tellRaised(p *politeness.Config, seeds []weburl.URL) {
	foreign := func(s weburl.URL) bool {
		return !job.OnLoopback([]weburl.URL{s}) && (p.OwnHosts == nil || p.OwnHosts(s.Host()) == 0)
	}
	if others, own := delays(p); own < others && slices.ContainsFunc(seeds, foreign) {
		v.Tell("--delay %v is for hosts of your own (--own-hosts): all others are given %v", own, others)
	}
}

func beginText(c *crawler.Config, seeds []weburl.URL) string {
	id := c.Identity()
	return fmt.Sprintf("%s, to robots.txt %q; %s between requests to a host\nscope %s; %s\n",
		id.UserAgent(), id.Product, delayText(&c.Politeness), scopeText(c, seeds), limitsText(c))
}

func delayText(p *politeness.Config) string {
	others, own := delays(p)
	if own < others {
		return fmt.Sprintf("%v (own hosts and loopback: %v)", others, own)
	}
	return others.String()
}

// delays returns the delays before the first request: at hosts of other people, and at loopback hosts or the operator's own.
func delays(p *politeness.Config) (others, own time.Duration) {
	others, _ = p.DelayFor(politeness.HostState{})
	own, _ = p.DelayFor(politeness.HostState{Exempt: true})
	return others, own
}

// scopeText describes the scope of a crawl, with up to three names of hosts.
func scopeText(c *crawler.Config, seeds []weburl.URL) string {
	var names []string
	for _, s := range seeds {
		name := s.Authority()
		switch c.Scope.Kind {
		case crawler.ScopeDomain:
			name = s.Domain()
		case crawler.ScopePrefix:
			name += s.Path()[:strings.LastIndexByte(s.Path(), '/')+1]
		}
		if !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	text := string(c.Scope.Kind) + " " + strings.Join(names[:min(3, len(names))], ", ")
	if n := len(names); n > 3 {
		text += fmt.Sprintf(" and %d more", n-3)
	}
	if c.Scope.Kind == crawler.ScopeAny {
		text = "any host"
	}
	if n := len(c.Scope.Rules); n > 0 {
		text += ", " + cli.Plural(n, "rule")
	}
	return text
}

func limitsText(c *crawler.Config) string {
	var limits []string
	switch {
	case c.Limits.Depth == crawler.SeedsOnly:
		limits = append(limits, "seeds only")
	case c.Limits.Depth > 0:
		limits = append(limits, fmt.Sprintf("depth %d", c.Limits.Depth))
	}
	if c.Limits.Pages > 0 {
		limits = append(limits, "at most "+cli.Plural(int(c.Limits.Pages), "page"))
	}
	if c.Limits.Bytes > 0 {
		limits = append(limits, cli.Bytes(int64(c.Limits.Bytes)))
	}
	if c.Limits.Time > 0 {
		limits = append(limits, cli.Duration(c.Limits.Time).String())
	}
	if len(limits) == 0 {
		return "no limit"
	}
	return strings.Join(limits, ", ")
}
