package ask

import (
	"context"
	"errors"
	"time"

	"github.com/amble-crawler/amble/cmd/amble/internal/keyflags"
	"github.com/amble-crawler/amble/cmd/amble/internal/operator"
	"github.com/amble-crawler/amble/cmd/amble/internal/view"
	"github.com/amble-crawler/amble/crawler"
	"github.com/amble-crawler/amble/fetcher"
	"github.com/amble-crawler/amble/internal/cli"
	"github.com/amble-crawler/amble/politeness"
	"github.com/amble-crawler/amble/weburl"
)

// giveUp limits the time for which an unreachable robots.txt is requested again before a single page is given up.
const giveUp = 10 * time.Second

// PageConfig returns the configuration of a crawl whose only seed is a page: its scope and its connection settings.
func PageConfig(o *keyflags.Origins) (crawler.Config, error) {
	cfg, err := o.Config()
	x := &cfg.Crawl
	return crawler.Config{
		Agent: x.Agent, Contact: x.Contact, Promises: x.Promises, Scope: x.Scope, Hosts: rulesOf(x.Hosts), Follow: x.Follow,
		Fetch: fetcher.Config{
			AllowAddresses: x.Fetch.AllowAddresses, AllowPorts: x.Fetch.AllowPorts,
			Proxy: x.Fetch.Proxy, LocalAddr: x.Fetch.LocalAddr, InsecureHosts: x.Fetch.InsecureHosts,
		},
	}, err
}

// PageAccess adds to cfg the credentials for the site of a page.
func PageAccess(o *keyflags.Origins, cfg *crawler.Config, u weburl.URL) error {
	given, err := o.Config()
	if err != nil {
		return err
	}
	cfg.Fetch.AcceptLanguage, cfg.Fetch.Cookies = given.Crawl.Fetch.AcceptLanguage, given.Crawl.Fetch.Cookies
	cfg.ShareMachine(given.State)
	return keyflags.Errors(given.Access(cfg, u))
}

// rulesOf returns the entries of hosts with just their rules.
func rulesOf(hosts []crawler.HostSettings) (rules []crawler.HostSettings) {
	for _, h := range hosts {
		rules = append(rules, crawler.HostSettings{Match: h.Match, Rules: h.Rules})
	}
	return rules
}

// Page requests one page as a crawl does, after its robots.txt. It calls see with the visits of redirects, then with the visit of the
// page. v shows progress.
func Page(v *view.View, cfg crawler.Config, u weburl.URL, see func(*crawler.Visit)) error {
	if _, err := operator.Identity(&cfg, []weburl.URL{u}); err != nil {
		return err
	}
	w := v.Follow(giveUp, false)
	cfg.Limits.Pages, cfg.Concurrency, cfg.Trace = 1, 1, w.Trace()
	cfg.Politeness = politeness.Config{RobotsGiveUp: giveUp, Shared: cfg.Politeness.Shared}
	cfg.Handler = crawler.HandlerFunc(func(_ context.Context, v *crawler.Visit) error {
		see(v)
		if v.Outcome != crawler.Fetched {
			return nil
		}
		return crawler.Stop
	})
	crawl, err := crawler.New(cfg)
	if err != nil {
		return cli.UsageOf("", err)
	}
	if alone := crawl.NotShared(); alone != nil {
		v.Tell("hosts are shared with no other process: %v", alone)
	}
	rep, err := crawl.Run(context.Background(), u.String())
	var vain *crawler.UnreachableError
	if errors.As(err, &vain) {
		return cli.Exit(cli.ExitNothing, errors.New(view.Unreachable(vain)))
	}
	if err == nil && len(rep.WalledSeeds) > 0 {
		return cli.Exit(cli.ExitWall, errors.New(view.Walled(rep.WalledSeeds)))
	}
	if err == nil && rep.Pages == 0 {
		err = cli.Exit(cli.ExitNothing, errors.New("the page was not fetched"+w.SeedsFate()))
	}
	return err
}
