// Command linkcheck crawls a site and reports its broken links, each with the pages that have it.
//
// Reading order: main.go, links.go (what is collected), scope.go, extractor.go, verdict.go, report.go.
package main

import (
	"cmp"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"time"

	"github.com/amble-crawler/amble/crawler"
	"github.com/amble-crawler/amble/politeness"
	"github.com/amble-crawler/amble/weburl"
)

// Exit codes.
const (
	exitClean  = 0
	exitBroken = 1
	exitUsage  = 2
	exitFailed = 3
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	code := run(ctx, os.Args[1:], os.Stdout, os.Stderr, crawler.Config{})
	stop()
	os.Exit(code)
}

const about = `usage: linkcheck -contact URL|MAIL [flags] URL

Crawls the site that URL is on and reports the links that lead nowhere, with the pages that have them.
Every request goes through the same rules as those of any other crawl: robots.txt first, one request
at a time, a pause between two. Links that robots.txt forbids are not checked, and said to be so.

Exit code: 0 no broken links, 1 broken links, 2 wrong usage, 3 the check could not be made or finished.

`

// options is the command line.
type options struct {
	agent, contact      string
	delay               time.Duration
	maxPages            int
	external, resources bool
	nofollow, json      bool
	seed                weburl.URL
}

// run is the program. base is the initial Config: tests put a simulated web into it.
func run(ctx context.Context, args []string, stdout, stderr io.Writer, base crawler.Config) int {
	o, err := parse(args, stderr)
	switch {
	case errors.Is(err, flag.ErrHelp):
		return exitClean
	case err != nil:
		fmt.Fprintln(stderr, "linkcheck:", err)
		return exitUsage
	}
	rep, err := check(ctx, o, base)
	if rep != nil {
		write := rep.text
		if o.json {
			write = rep.json
		}
		err = errors.Join(err, write(stdout))
	}
	switch {
	case err != nil:
		fmt.Fprintln(stderr, "linkcheck:", err)
		return exitFailed
	case len(rep.Broken) > 0:
		return exitBroken
	}
	return exitClean
}

func parse(args []string, stderr io.Writer) (o options, err error) {
	f := flag.NewFlagSet("linkcheck", flag.ContinueOnError)
	f.SetOutput(stderr)
	f.Usage = func() {
		fmt.Fprint(stderr, about)
		f.PrintDefaults()
	}
	f.StringVar(&o.contact, "contact", "", "`URL or mail address` at which site owners reach you")
	f.StringVar(&o.agent, "agent", "amble-linkcheck", "`NAME/VERSION` in the User-Agent; NAME is what robots.txt may name")
	f.DurationVar(&o.delay, "delay", time.Second, "least pause between two requests to a host; a longer one that the site asks for is kept")
	f.IntVar(&o.maxPages, "max-pages", 10_000, "URLs fetched at most, external ones included")
	f.BoolVar(&o.external, "external", false, "check links to other sites too; nothing on those sites is followed")
	f.BoolVar(&o.resources, "resources", false, "check images, scripts, style sheets and what these load too")
	f.BoolVar(&o.nofollow, "nofollow", false, "check links marked rel=nofollow too")
	f.BoolVar(&o.json, "json", false, "print the report as JSON")
	if err := f.Parse(args); err != nil {
		return o, err
	}
	switch {
	case f.NArg() != 1:
		return o, fmt.Errorf("want one URL, have %d arguments; see -help", f.NArg())
	case o.maxPages < 1:
		return o, fmt.Errorf("-max-pages %d: must be 1 or more", o.maxPages)
	case o.external && o.delay < politeness.DefaultDelay:
		return o, fmt.Errorf("-external with -delay %v: other sites have not agreed to less than %v", o.delay, politeness.DefaultDelay)
	}
	o.seed, err = weburl.Parse(f.Arg(0))
	return o, err
}

// check crawls the site. With an error, the report, if there is one, describes what was seen before.
func check(ctx context.Context, o options, cfg crawler.Config) (*report, error) {
	site, err := crawler.NewSeedScope(crawler.ScopeHost, nil, o.seed)
	if err != nil {
		return nil, err
	}
	seen := newLinks(o.seed, site)
	cfg.Agent, cfg.Contact = o.agent, o.contact
	cfg.Limits.Depth, cfg.Limits.Pages = crawler.None, o.maxPages
	cfg.Politeness.Delay = cmp.Or(o.delay, crawler.None)
	cfg.Follow.Resources, cfg.Follow.NoFollow = o.resources, o.nofollow
	cfg.Scope.Custom = scope{site: site, external: o.external}
	cfg.Extractor = extractor{resources: o.resources}
	cfg.Fetch.Wanted = wanted
	cfg.Handler = seen
	c, err := crawler.New(cfg)
	if err != nil {
		return nil, err
	}
	sum, err := c.Run(ctx, o.seed.String())
	if sum == nil {
		return nil, err
	}
	rep := seen.report(sum)
	if err == nil && rep.Pages == 0 {
		err = fmt.Errorf("no page of %s could be read", o.seed.Origin())
	}
	return rep, err
}
