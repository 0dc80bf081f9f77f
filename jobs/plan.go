package jobs

import (
	"cmp"
	"fmt"
	"time"

	"github.com/amble-crawler/amble/crawler"
	"github.com/amble-crawler/amble/crawler/plan"
	"github.com/amble-crawler/amble/job"
	"github.com/amble-crawler/amble/politeness"
	"github.com/amble-crawler/amble/robots"
	"github.com/amble-crawler/amble/weburl"
)

// planService is the assumed response time.
const planService = 200 * time.Millisecond

// Plan plans the job of a request without making requests. It uses the robots.txt files that crawls of this machine have requested; if
// the file of a host is unknown, its Problem says so. A host is assumed to have as many pages as the limits allow. Errors in the
// request are the same as those of Start. The returned configuration is the one with which the job will run.
func (m *Manager) Plan(q Request) (*plan.Plan, job.Config, error) {
	c, err := m.configure(&q)
	if err != nil {
		return nil, c, err
	}
	x := &c.Crawl
	x.ShareMachine(m.config.State)
	x.Politeness.HostDelays = x.HostDelays()
	pages := cmp.Or(x.Limits.PagesPerHost, x.Limits.Pages, crawler.DefaultMaxPages)
	p := &plan.Plan{Rate: max(0, x.Politeness.Rate)}
	at := map[string]int{}
	for _, s := range q.Seeds {
		u, err := weburl.Parse(s)
		if err != nil {
			return nil, c, err // cannot happen: configure has parsed the seeds
		}
		rules, says := knownRobots(x, u)
		i, known := at[u.Host()]
		if !known {
			i, at[u.Host()] = len(p.Hosts), len(p.Hosts)
			h := plan.Host{Host: u.Host(), Pages: max(0, int(pages)), Source: "assumed"}
			h.Delay, h.Clause = x.Politeness.DelayFor(x.Politeness.HostState(u.Host(), rules))
			p.Hosts = append(p.Hosts, h)
		}
		if h := &p.Hosts[i]; h.Problem == "" {
			h.Problem = says
		}
	}
	if pages == crawler.Unlimited {
		p.Notes = append(p.Notes, "the number of pages is not limited, so nobody can say how long the crawl takes")
	}
	p.Limit(int(x.Limits.Pages), int(x.Limits.PagesPerHost))
	p.SetBound(planService)
	return p, c, nil
}

// knownRobots returns the rules for the crawler at an origin, if a crawl of this machine has requested them, and a remark
// about a seed: "" if they allow it.
func knownRobots(c *crawler.Config, seed weburl.URL) (rules *robots.Group, says string) {
	f, known := c.Sharing().Robots(politeness.RobotsKey{Origin: seed.Origin()})
	switch policy := (robots.StatusPolicy{ForbiddenDenies: c.Politeness.ForbiddenDenies}).ForStatus(f.Status); {
	case !known:
		return nil, "not requested yet: it is the first request to the host"
	case f.Failures > 0:
		return nil, "could not be fetched lately: nothing else is requested until it can be"
	case policy == robots.DenyAll:
		return nil, fmt.Sprintf("answered with status %d: nothing is requested", f.Status)
	case policy != robots.Obey:
		return nil, ""
	}
	rules = robots.Parse([]byte(f.Body), robots.WithDialect(c.Politeness.Dialect)).For(c.Identity().Product)
	if v := rules.Test(seed.PathQuery()); !v.Allowed {
		says = fmt.Sprintf("refuses %s (line %d: %s)", job.WithoutSecrets(seed.String()), v.Line, v.Rule)
	}
	return rules, says
}
