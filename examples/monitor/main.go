// Command monitor crawls a site again and reports what is new, changed, moved or gone since the last run.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/amble-crawler/amble/crawler"
	"github.com/amble-crawler/amble/examples/cmdline"
	"github.com/amble-crawler/amble/job"
	"github.com/amble-crawler/amble/sink"
	"github.com/amble-crawler/amble/weburl"
)

// Exit codes.
const (
	exitSame    = 0
	exitChanged = 1
	exitUsage   = cmdline.ExitUsage
	exitFailed  = 3
)

func main() { cmdline.Main(run) }

const about = `usage: monitor -contact URL|MAIL -state FILE [flags] URL

Crawls the site that URL is on and compares it with FILE, the JSON lines of an earlier run or of
"amble crawl". Then FILE is replaced by what is there now. The first run writes FILE and compares with
nothing. A page has changed when the SHA-256 of its body is different; one that came with an ETag or a
Last-Modified is requested on condition, and not sent again when it has not changed. A page that cannot be
fetched this time is reported as unsure, and FILE keeps what it was, as for pages that were not reached
because of -max-pages. An interrupted run changes nothing.

With -o DIR the run is kept in DIR, too: its requests, the robots.txt files and the visits.

Exit code: 0 nothing changed, 1 something did, 2 wrong usage, 3 the site could not be compared.

`

// options holds the values of the command line.
type options struct {
	cmdline.Crawl
	state, dir string
	json       bool
	seed       weburl.URL
}

// run is the program. base is the initial Config: tests put a simulated web into it.
func run(ctx context.Context, args []string, stdout, stderr io.Writer, base crawler.Config) int {
	return cmdline.Run("monitor", args, stderr, exitFailed, parse, func(o options) (int, error) {
		changed, err := monitor(ctx, o, stdout, stderr, base)
		if changed {
			return exitChanged, err
		}
		return exitSame, err
	})
}

func parse(args []string, stderr io.Writer) (o options, err error) {
	f := cmdline.Flags("monitor", about, stderr)
	o.Who(f, "amble-monitor")
	f.StringVar(&o.state, "state", "", "`file` with what the site was, replaced by what it is")
	f.StringVar(&o.dir, "o", "", "new `directory` to keep this run in, as a job that amble verifies and explains (default none)")
	o.Bounds(f, 10_000, "pages")
	f.BoolVar(&o.json, "json", false, "print one JSON object a line")
	if err := f.Parse(args); err != nil {
		return o, err
	}
	if err := o.Check(); err != nil {
		return o, err
	}
	switch {
	case f.NArg() != 1:
		return o, fmt.Errorf("want one URL, have %d arguments; see -help", f.NArg())
	case o.state == "":
		return o, errors.New("-state is missing; see -help")
	}
	o.seed, err = weburl.Parse(f.Arg(0))
	return o, err
}

// crawl runs the crawl, and keeps it in a directory if one is named.
func (o *options) crawl(ctx context.Context, cfg crawler.Config) (*crawler.Report, error) {
	if o.dir != "" {
		j, err := job.Create(o.dir, job.Config{Crawl: cfg}, o.seed.String())
		if err != nil {
			return nil, err
		}
		rep, err := j.Run(ctx)
		return rep, errors.Join(err, j.Close())
	}
	c, err := crawler.New(cfg)
	if err != nil {
		return nil, err
	}
	return c.Run(ctx, o.seed.String())
}

// monitor crawls, prints the changes and replaces the state.
func monitor(ctx context.Context, o options, stdout, stderr io.Writer, cfg crawler.Config) (changed bool, err error) {
	before, err := load(o.state)
	if err != nil {
		return false, err
	}
	after := state{}
	o.Set(&cfg)
	cfg.Limits.Depth = crawler.Unlimited
	cfg.Fetch.Wanted = func(string) bool { return true } // pages must be complete for the comparison
	cfg.Since, cfg.Handler = before, follower{before}
	cfg.Sinks = []sink.Sink{recorder{before: before, after: after}}
	rep, err := o.crawl(ctx, cfg)
	if err == nil && rep.Pages+rep.Outcomes[crawler.NotModified] == 0 {
		err = fmt.Errorf("no page of %s could be fetched", o.seed.Origin())
	}
	if err != nil {
		return false, fmt.Errorf("nothing compared: %w", err)
	}
	whole := rep.Finish == crawler.FinishDone
	if !whole {
		fmt.Fprintf(stderr, "not the whole site: ended by %s with %d URLs left\n", rep.Finish, rep.Left)
	}
	if before == nil {
		fmt.Fprintf(stderr, "first run: %d pages\n", rep.Pages)
		return false, after.save(ctx, o.state)
	}
	list := compare(before, after, whole)
	return tell(list), errors.Join(write(stdout, list, o.json), merge(before, after, list).save(ctx, o.state))
}
