// Command feed-watcher reads the feeds of sites and prints what is new in them since the last time.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"

	"github.com/amble-crawler/amble/crawler"
	"github.com/amble-crawler/amble/weburl"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	code := run(ctx, os.Args[1:], os.Stdout, os.Stderr, crawler.Config{})
	stop()
	os.Exit(code)
}

const about = `usage: feed-watcher -contact URL|MAIL -state FILE [flags] URL...

Each URL is a feed (RSS or Atom) or a page that names its feeds (link rel=alternate). Prints the entries
that were not in a feed when it was last read, and notes in FILE what is there now. Of a feed that is
read for the first time the entries are noted and, without -all, not printed. A feed that answers that
it has not changed is not sent again (ETag, Last-Modified).

Exit code: 0 all feeds were read, 1 some could not be read, 2 wrong usage.

`

// options is the command line.
type options struct {
	agent, contact string
	state          string
	maxFeeds       int
	all, json      bool
	seeds          []string
}

// run is the program. base is the initial Config: tests put a simulated web into it.
func run(ctx context.Context, args []string, stdout, stderr io.Writer, base crawler.Config) int {
	o, err := parse(args, stderr)
	switch {
	case errors.Is(err, flag.ErrHelp):
		return 0
	case err != nil:
		fmt.Fprintln(stderr, "feed-watcher:", err)
		return 2
	}
	if err := watch(ctx, o, stdout, base); err != nil {
		fmt.Fprintln(stderr, "feed-watcher:", err)
		return 1
	}
	return 0
}

func parse(args []string, stderr io.Writer) (o options, err error) {
	f := flag.NewFlagSet("feed-watcher", flag.ContinueOnError)
	f.SetOutput(stderr)
	f.Usage = func() {
		fmt.Fprint(stderr, about)
		f.PrintDefaults()
	}
	f.StringVar(&o.contact, "contact", "", "`URL or mail address` at which site owners reach you")
	f.StringVar(&o.agent, "agent", "amble-feed-watcher", "`NAME/VERSION` in the User-Agent; NAME is what robots.txt may name")
	f.StringVar(&o.state, "state", "", "`file` with the entries that were seen; made when missing")
	f.IntVar(&o.maxFeeds, "max-pages", 1000, "pages and feeds fetched at most")
	f.BoolVar(&o.all, "all", false, "also print the entries of feeds that are read for the first time")
	f.BoolVar(&o.json, "json", false, "print one JSON object a line")
	if err := f.Parse(args); err != nil {
		return o, err
	}
	switch {
	case f.NArg() == 0:
		return o, errors.New("no URL to read; see -help")
	case o.state == "":
		return o, errors.New("-state is missing; see -help")
	case o.maxFeeds < 1:
		return o, fmt.Errorf("-max-pages %d: must be 1 or more", o.maxFeeds)
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

// watch reads the feeds, prints what is new and saves the state.
func watch(ctx context.Context, o options, stdout io.Writer, cfg crawler.Config) error {
	known, err := load(o.state)
	if err != nil {
		return err
	}
	news := &news{known: known, all: o.all, read: state{}}
	cfg.Agent, cfg.Contact = o.agent, o.contact
	cfg.Limits.Depth, cfg.Limits.Pages, cfg.Scope.Kind = 1, o.maxFeeds, crawler.ScopeAny // a site's feed may be elsewhere
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
		return errors.Join(err, werr) // what was not printed must remain new
	}
	return errors.Join(err, news.failed(), known.with(news.read).save(o.state))
}
