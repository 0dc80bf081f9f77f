// Command linkcheck crawls a site and reports its broken links, each with the pages that have it.
//
// Reading order: main.go, links.go (what is collected), scope.go, extractor.go, verdict.go, report.go.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/amble-crawler/amble/crawler"
	"github.com/amble-crawler/amble/examples/cmdline"
	"github.com/amble-crawler/amble/politeness"
	"github.com/amble-crawler/amble/weburl"
)

// Exit codes.
const (
	exitClean  = 0
	exitBroken = 1
	exitUsage  = cmdline.ExitUsage
	exitFailed = 3
)

func main() { cmdline.Main(run) }

const about = `usage: linkcheck -contact URL|MAIL [flags] URL

Crawls the site that URL is on and reports the links that lead nowhere, with the pages that have them.
Every request goes through the same rules as those of any other crawl: robots.txt first, one request
at a time, a pause between two. Links that robots.txt forbids are not checked, and said to be so.

Exit code: 0 no broken links, 1 broken links, 2 wrong usage, 3 the check could not be made or finished.

`

// options is the command line.
type options struct {
	cmdline.Crawl
	external, resources bool
	nofollow, json      bool
	seed                weburl.URL
}

// run is the program. base is the initial Config: tests put a simulated web into it.
func run(ctx context.Context, args []string, stdout, stderr io.Writer, base crawler.Config) int {
	return cmdline.Run("linkcheck", args, stderr, exitFailed, parse, func(o options) (int, error) {
		rep, err := check(ctx, o, base)
		if rep == nil {
			return exitFailed, err
		}
		write := rep.text
		if o.json {
			write = rep.json
		}
		if err = errors.Join(err, write(stdout)); len(rep.Broken) > 0 {
			return exitBroken, err
		}
		return exitClean, err
	})
}

func parse(args []string, stderr io.Writer) (o options, err error) {
	f := cmdline.Flags("linkcheck", about, stderr)
	o.Who(f, "amble-linkcheck")
	o.Bounds(f, 10_000, "URLs, external ones included,")
	f.BoolVar(&o.external, "external", false, "check links to other sites too; nothing on those sites is followed")
	f.BoolVar(&o.resources, "resources", false, "check images, scripts, style sheets and what these load too")
	f.BoolVar(&o.nofollow, "nofollow", false, "check links marked rel=nofollow too")
	f.BoolVar(&o.json, "json", false, "print the report as JSON")
	if err := f.Parse(args); err != nil {
		return o, err
	}
	if err := o.Check(); err != nil {
		return o, err
	}
	switch {
	case f.NArg() != 1:
		return o, fmt.Errorf("want one URL, have %d arguments; see -help", f.NArg())
	case o.external && o.Delay < politeness.DefaultDelay:
		return o, fmt.Errorf("-external with -delay %v: other sites have not agreed to less than %v", o.Delay, politeness.DefaultDelay)
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
	o.Set(&cfg)
	cfg.Limits.Depth = crawler.None
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
