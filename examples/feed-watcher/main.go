// Command feed-watcher reads the feeds of sites and prints entries that are new since the last run.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/amble-crawler/amble/crawler"
	"github.com/amble-crawler/amble/examples/cmdline"
	"github.com/amble-crawler/amble/weburl"
)

func main() { cmdline.Main(run) }

const about = `usage: feed-watcher -contact URL|MAIL -state FILE [flags] URL...

Each URL is a feed (RSS or Atom) or a page that names its feeds (link rel=alternate). Prints the entries
that were not in a feed when it was last read, and notes in FILE what is there now. Of a feed that is
read for the first time the entries are noted and, without -all, not printed. A feed that answers that
it has not changed is not sent again (ETag, Last-Modified).

Exit code: 0 all feeds were read, 1 some could not be read, 2 wrong usage.

`

// options holds the values of the command line.
type options struct {
	cmdline.Crawl
	state     string
	all, json bool
	seeds     []string
}

// run is the program. base is the initial Config: tests put a simulated web into it.
func run(ctx context.Context, args []string, stdout, stderr io.Writer, base crawler.Config) int {
	return cmdline.Run("feed-watcher", args, stderr, 1, parse, func(o options) (int, error) {
		return 0, watch(ctx, o, stdout, base)
	})
}

func parse(args []string, stderr io.Writer) (o options, err error) {
	f := cmdline.Flags("feed-watcher", about, stderr)
	o.Who(f, "amble-feed-watcher")
	f.StringVar(&o.state, "state", "", "`file` with the entries that were seen; made when missing")
	o.Bounds(f, 1000, "pages and feeds")
	f.BoolVar(&o.all, "all", false, "also print the entries of feeds that are read for the first time")
	f.BoolVar(&o.json, "json", false, "print one JSON object a line")
	if err := f.Parse(args); err != nil {
		return o, err
	}
	if err := o.Check(); err != nil {
		return o, err
	}
	switch {
	case f.NArg() == 0:
		return o, errors.New("no URL to read; see -help")
	case o.state == "":
		return o, errors.New("-state is missing; see -help")
	}
	for _, arg := range f.Args() {
		u, err := weburl.Parse(arg)
		if err != nil {
			return o, err
		}
		o.seeds = append(o.seeds, u.String())
	}
	return o, nil
}

// watch reads the feeds, prints new entries and saves the state.
func watch(ctx context.Context, o options, stdout io.Writer, cfg crawler.Config) error {
	known, err := load(o.state)
	if err != nil {
		return err
	}
	news := &news{known: known, all: o.all, read: state{}}
	o.Set(&cfg)
	cfg.Limits.Depth, cfg.Scope.Kind = 1, crawler.ScopeAny // a site's feed may be on another host
	cfg.Extractor, cfg.Handler, cfg.Since = extractor{}, news, known
	c, err := crawler.New(cfg)
	if err != nil {
		return err
	}
	rep, err := c.Run(ctx, o.seeds...)
	if err == nil && rep.Finish != crawler.FinishDone {
		err = fmt.Errorf("not all was read: ended by %s", rep.Finish)
	}
	if rep == nil {
		return err
	}
	if werr := news.write(stdout, o.json); werr != nil {
		return errors.Join(err, werr) // the state is not saved, so that entries that were not printed stay new
	}
	return errors.Join(err, news.failed(), known.with(news.read).save(o.state))
}
