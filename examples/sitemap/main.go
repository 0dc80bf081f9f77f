// Command sitemap crawls one site and writes its sitemap: the HTML pages with status 200 that may be indexed and are their own canonical
// URL, with the time of their last modification.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/amble-crawler/amble/crawler"
	"github.com/amble-crawler/amble/examples/cmdline"
	"github.com/amble-crawler/amble/weburl"
)

func main() { cmdline.Main(run) }

const about = `usage: sitemap -contact URL|MAIL [flags] URL

Crawls the site that URL is on, one request at a time, and writes its sitemap. A page is listed when
it answers 200 with HTML, does not say noindex and names no other page as its canonical address.
More than 50,000 pages or 50 MiB make several files and an index of them (sitemaps.org).

Exit code: 0 written, 1 not written, 2 wrong usage.

`

// options holds the values of the command line.
type options struct {
	cmdline.Crawl
	out, base string
	verbose   bool
	seed      weburl.URL
}

// run is the program. base is the initial Config: tests put a simulated web into it.
func run(ctx context.Context, args []string, stdout, stderr io.Writer, base crawler.Config) int {
	return cmdline.Run("sitemap", args, stderr, 1, parse, func(o options) (int, error) {
		return 0, makeSitemap(ctx, o, stdout, stderr, base)
	})
}

func parse(args []string, stderr io.Writer) (o options, err error) {
	f := cmdline.Flags("sitemap", about, stderr)
	o.Who(f, "amble-sitemap")
	o.Bounds(f, 50_000, "pages")
	f.StringVar(&o.out, "o", "sitemap.xml", "`file` to write, - for standard output; further files are written beside it")
	f.StringVar(&o.base, "base", "", "`URL` of the directory the files will be served from; only pages below it can be listed (default the site's root)")
	f.BoolVar(&o.verbose, "v", false, "print every page and why it is left out")
	if err := f.Parse(args); err != nil {
		return o, err
	}
	if f.NArg() != 1 {
		return o, fmt.Errorf("want one URL, have %d arguments; see -help", f.NArg())
	}
	if err := o.Check(); err != nil {
		return o, err
	}
	if o.base != "" {
		u, err := weburl.Parse(o.base)
		if err != nil || !strings.HasSuffix(u.PathQuery(), "/") || u.Query() != "" {
			return o, fmt.Errorf("-base %q is not the URL of a directory: it must end in /", o.base)
		}
		o.base = u.String()
	}
	o.seed, err = weburl.Parse(f.Arg(0))
	return o, err
}

// config returns the configuration of the crawl: the whole site, at any depth, and HTML only.
func (o options) config(c crawler.Config) crawler.Config {
	o.Set(&c)
	c.Limits.Depth = crawler.Unlimited
	c.Traps.PerDir = crawler.Unlimited // a site may have all its pages in one directory
	c.Fetch.Wanted = isHTML
	return c
}

func makeSitemap(ctx context.Context, o options, stdout, stderr io.Writer, base crawler.Config) error {
	s := newSite(o.seed)
	if o.verbose {
		s.log = stderr
	}
	cfg := o.config(base)
	cfg.Handler = s
	c, err := crawler.New(cfg)
	if err != nil {
		return err
	}
	rep, err := c.Run(ctx, o.seed.String())
	if err != nil {
		return fmt.Errorf("nothing written: %w", err)
	}
	if o.base == "" {
		if o.base, err = s.root(); err != nil {
			return err
		}
	}
	list := s.list(o.base)
	s.summary(stderr)
	if rep.Finish != crawler.FinishDone {
		fmt.Fprintf(stderr, "not the whole site: ended by %s with %d URLs left\n", rep.Finish, rep.Left)
	}
	if len(list) == 0 {
		return errors.New("nothing written: no page can be listed")
	}
	return save(o.out, stdout, files(o.out, o.base, split(list, protocol)))
}
