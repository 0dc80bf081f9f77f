package main

import (
	"errors"
	"fmt"
	"net/netip"
	"strings"
	"time"

	"github.com/amble-crawler/amble/crawler"
	"github.com/amble-crawler/amble/fetcher"
	"github.com/amble-crawler/amble/frontier"
	"github.com/amble-crawler/amble/internal/cli"
	"github.com/amble-crawler/amble/politeness"
	"github.com/amble-crawler/amble/robots"
	"github.com/amble-crawler/amble/weburl"
)

// identity checks who crawls. A contact may be missing only when nothing but loopback is asked.
func (f *identityFlags) identity(urls []weburl.URL) (politeness.Identity, error) {
	name, version, _ := strings.Cut(f.Agent, "/")
	id := politeness.Identity{Product: name, Version: version, Contact: f.Contact}
	bare := id
	bare.Contact = ""
	err := cli.UsageOf("--agent: ", bare.Validate(true))
	switch {
	case f.Contact == "" && !allLoopback(urls):
		err = errors.Join(err, cli.Usage("--contact is missing: give a web page or mail address where site owners reach you"+
			" (or AMBLE_CONTACT, or the key contact in a job file)"))
	case f.Contact != "":
		id.Product, id.Version = "x", ""
		err = errors.Join(err, cli.UsageOf("--contact: ", id.Validate(true)))
	}
	return politeness.Identity{Product: name, Version: version, Contact: f.Contact}, err
}

// robotsName is the name that robots.txt is read for. Of a whole User-Agent header it is told: it may be another than was
// thought.
func (f *identityFlags) robotsName(a *app) (string, error) {
	name := robots.ProductToken(f.Agent)
	product, _, _ := strings.Cut(f.Agent, "/")
	switch {
	case name == "":
		return "", cli.Usage("--agent %q: want a name, as in mybot or mybot/1.0", f.Agent)
	case strings.ContainsAny(f.Agent, " ;("):
		fmt.Fprintf(a.err, "amble: robots.txt is read for %q\n", name)
	case name != product:
		return "", cli.Usage("--agent %q: a robots.txt can name letters, digits, - and _ only: it would be read for %q", f.Agent, name)
	}
	return name, nil
}

func allLoopback(urls []weburl.URL) bool {
	for _, u := range urls {
		addr, err := netip.ParseAddr(u.Hostname())
		if u.Hostname() != "localhost" && (err != nil || !addr.IsLoopback()) {
			return false
		}
	}
	return true
}

// forever is a maximum that is never reached, for maxima that a Config cannot go without.
const forever = time.Duration(1 << 60)

// policy is the gate's policy.
func (f *paceFlags) policy() (politeness.Config, error) {
	own, err := f.ownHosts()
	optOut, err2 := f.optOut()
	hours, err3 := f.hours()
	most := time.Duration(f.MaxDelay)
	if most < 0 {
		most = forever
	}
	return politeness.Config{
		Delay: durationOrNone(f.Delay), DelayFactor: numberOrNone(f.DelayFactor), MaxDelay: max(1, most),
		Rate: max(0, float64(f.Rate)), PerDomain: f.PerDomain, OwnHosts: own,
		MaxCrawlDelay: orNone(f.MaxCrawlDelay), MaxRetryAfter: orNone(f.MaxRetryAfter), MaxBackoff: time.Duration(f.MaxBackoff),
		MaxFailures: int(f.MaxFailures), MaxSilence: orNone(f.MaxSilence), RobotsGiveUp: orNone(f.RobotsGiveUp),
		ForbiddenDenies: f.ForbiddenDenies, Dialect: f.Dialect, RefuseUsage: f.RefuseUsage, OptOut: optOut,
		Hours: hours, VisitTime: f.VisitTime,
	}, errors.Join(err, err2, err3, f.check())
}

// orNone is a Config's duration for d where zero stands for the default: one that was given as zero is
// the shortest there is, none is None.
func orNone(d duration) time.Duration {
	if d == 0 {
		return 1
	}
	return time.Duration(d)
}

func (f *paceFlags) check() error {
	return errors.Join(
		cli.Refuse(f.PerHost < 1, "--per-host %d: must be 1 or more", f.PerHost),
		cli.Refuse(f.PerHost > 1 && f.OwnHosts == "", "--per-host %d: more than one request in flight at a host needs --own-hosts FILE with the hosts you own", f.PerHost),
		cli.Refuse(f.Rate == 0, "--rate 0: would never ask anything; give a number or none"),
		cli.Refuse(f.MaxBackoff <= 0, "--max-backoff %v: give a duration above zero", f.MaxBackoff),
		cli.Refuse(f.MaxFailures == 0, "--max-failures 0: would give up every host; give a number or none"),
	)
}

// fetching is the fetcher's limits.
func (f *limitFlags) fetching() fetcher.Config {
	return fetcher.Config{
		DNSTimeout: time.Duration(f.DNSTimeout), ConnectTimeout: time.Duration(f.ConnectTimeout),
		TLSTimeout: time.Duration(f.TLSTimeout), FirstByteTimeout: time.Duration(f.FirstByteTimeout),
		IdleTimeout: time.Duration(f.IdleTimeout), FetchTimeout: time.Duration(f.FetchTimeout),
		MaxHeader: int(f.MaxHeader), MaxBody: int(f.MaxBody), MaxRobots: int(f.MaxRobots), MaxSitemap: int(f.MaxSitemap),
		MaxHeaderFields: f.MaxHeaderFields, MaxEncodings: f.MaxEncodings, MaxRatio: max(0, int(f.MaxRatio)), MinRate: max(0, int64(f.MinRate)),
	}
}

func (f *limitFlags) check() error {
	errs := []error{
		cli.Refuse(f.Concurrency < 1, "--concurrency %d: must be 1 or more", f.Concurrency),
		cli.Refuse(f.MaxPages == 0, "--max-pages 0: would fetch nothing; give a number or none"),
		cli.Refuse(f.MaxBytes == 0, "--max-bytes 0: would fetch nothing; give a size or none"),
		cli.Refuse(f.MaxTime == 0, "--max-time 0: would fetch nothing; give a duration or none"),
		cli.Refuse(f.MaxPerHost == 0, "--max-per-host 0: would fetch nothing; give a number or none"),
		cli.Refuse(f.MaxURL < 1 || f.MaxURL > weburl.MaxLen, "--max-url %d: must be 1 to %d", f.MaxURL, weburl.MaxLen),
		cli.Refuse(f.MaxErrors == 0, "--max-errors 0: would end before it begins; give a number or none"),
		cli.Refuse(f.MaxQueries == 0 || f.MaxPerDir == 0 || f.MaxSame == 0, "--max-queries, --max-per-dir, --max-same: 0 would leave nothing; give a number or none"),
		cli.Refuse(f.MaxLinks < 1, "--max-links %d: must be 1 or more", f.MaxLinks),
		cli.Refuse(f.MaxRedirects < 1, "--max-redirects %d: must be 1 or more", f.MaxRedirects),
		cli.Refuse(f.MaxHeaderFields < 1, "--max-header-fields %d: must be 1 or more", f.MaxHeaderFields),
		cli.Refuse(f.MaxEncodings < 1, "--max-encodings %d: must be 1 or more", f.MaxEncodings),
		cli.Refuse(f.MaxRatio == 0 || f.MinRate == 0, "--max-ratio, --min-rate: 0 would leave nothing or all; give a number or none"),
		cli.Refuse(f.RetryPause <= 0, "--retry-pause %v: give a duration above zero", f.RetryPause),
	}
	for _, t := range []struct {
		name string
		d    duration
	}{
		{"dns", f.DNSTimeout}, {"connect", f.ConnectTimeout}, {"tls", f.TLSTimeout},
		{"first-byte", f.FirstByteTimeout}, {"idle", f.IdleTimeout}, {"fetch", f.FetchTimeout},
	} {
		errs = append(errs, cli.Refuse(t.d <= 0, "--%s-timeout %v: no wait is without end; give a duration above zero", t.name, t.d))
	}
	for _, m := range []struct {
		name string
		z    size
	}{{"body", f.MaxBody}, {"header", f.MaxHeader}, {"robots", f.MaxRobots}, {"sitemap", f.MaxSitemap}} {
		errs = append(errs, cli.Refuse(m.z <= 0 || m.z > 1<<40, "--max-%s: memory is not without end; give a size up to 1024GiB", m.name))
	}
	return errors.Join(errs...)
}

// crawlerConfig is the crawl that the flags describe. The error names everything wrong with them.
func (c *crawlFlags) crawlerConfig(o *origins, seeds []weburl.URL) (crawler.Config, error) {
	_, idErr := c.identity(seeds)
	policy, err := c.policy()
	if err := errors.Join(idErr, err, c.limitFlags.check(), c.checkScope(o), c.formats(), checkFiles()); err != nil {
		return crawler.Config{}, cli.Exit(cli.ExitUsage, err)
	}
	cfg := crawler.Config{
		Agent: c.Agent, Contact: c.Contact,
		Limits: crawler.Limits{
			Depth:        countOr(c.Depth, crawler.SeedsOnly),
			Pages:        int(c.MaxPages),
			PagesPerHost: max(0, int(c.MaxPerHost)),
			Bytes:        max(0, int64(c.MaxBytes)),
			Time:         limitOf(c.MaxTime),
			URLLength:    c.MaxURL,
			LinksPerPage: c.MaxLinks,
			Redirects:    c.MaxRedirects,
			Errors:       max(0, int(c.MaxErrors)),
		},
		Concurrency: c.Concurrency,
		Scope:       crawler.ScopeConfig{Kind: crawler.ScopeKind(c.Scope), Rules: c.ordered(), Beyond: c.Beyond},
		Retries:     crawler.Retries{Max: countOr(c.Retries, crawler.None), Pause: time.Duration(c.RetryPause)},
		Traps:       crawler.Traps{Queries: int(c.MaxQueries), PerDir: int(c.MaxPerDir), Sessions: countOr(c.MaxSessions, crawler.None)},
		Duplicates:  crawler.Duplicates{Same: max(0, int(c.MaxSame)), NearBits: c.NearBits, Soft: countOr(c.MaxSoft, crawler.None)},
		Canonical:   c.Canonical, RevisitedDirectives: c.Revisited,
		Follow:     crawler.Follow{Sitemaps: c.Sitemaps, Feeds: c.Feeds, NoFollow: c.FollowNofollow, Resources: c.Resources},
		Politeness: policy, Fetch: c.fetching(),
	}
	for _, k := range c.BeyondKinds {
		kind, err := frontier.ParseKind(k)
		if err != nil {
			return crawler.Config{}, cli.Exit(cli.ExitUsage, fmt.Errorf("--beyond-kinds: %w", err))
		}
		cfg.Scope.BeyondKinds = append(cfg.Scope.BeyondKinds, kind)
	}
	cfg.Politeness.Overrides = o.policyOverrides()
	cfg.Fetch.AllowAddresses, cfg.Fetch.Cookies = c.AllowAddress, c.Cookies
	if err := errors.Join(c.networkFlags.apply(&cfg.Fetch), c.since(&cfg)); err != nil {
		return crawler.Config{}, cli.Exit(cli.ExitUsage, err)
	}
	return cfg, cli.UsageOf("", cfg.Validate())
}

// checkScope holds a crawl without bounds in space to one that the operator set himself.
func (c *crawlFlags) checkScope(o *origins) error {
	if c.Scope != string(crawler.ScopeAny) {
		return nil
	}
	bounded := o.given("max-pages") && c.MaxPages > 0 || c.MaxBytes > 0 || c.MaxTime > 0
	return cli.Refuse(!bounded, "--scope any needs an explicit limit: give --max-pages, --max-bytes or --max-time")
}
