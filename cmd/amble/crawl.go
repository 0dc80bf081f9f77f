package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/amble-crawler/amble/crawler"
	"github.com/amble-crawler/amble/frontier"
	"github.com/amble-crawler/amble/internal/cli"
	"github.com/amble-crawler/amble/sink"
	"github.com/amble-crawler/amble/weburl"
)

// crawlCmd is "amble crawl".
type crawlCmd struct {
	URLs []string `arg:"" optional:"" name:"url" help:"Seeds."`

	crawlFlags

	Fresh       bool `group:"Output:" help:"With -o: only begin a new crawl, in a directory that is empty or not there yet."`
	PrintConfig bool `group:"Output:" help:"Print every value, also of the keys that are seldom needed, and where it came from, and stop."`
}

// crawlFlags describe a crawl. Their names are also the keys of the job file.
type crawlFlags struct {
	identityFlags `group:"Who crawls:"`

	Seeds       string `short:"i" group:"What:" placeholder:"FILE" help:"Read further seeds, one a line; - is stdin."`
	Depth       count  `short:"d" group:"What:" default:"${depth}" placeholder:"N" help:"Links followed from a seed (${default})."`
	Sitemaps    bool   `group:"What:" help:"Also crawl what the sitemaps named in robots.txt list."`
	Beyond      int    `group:"What:" default:"0" placeholder:"N" help:"Links followed out of the scope: with 1 also the pages that pages in scope link to (${default})."`
	BeyondKinds words  `hidden:"" group:"What:" help:"Kinds of links that --beyond follows, such as image and style; none is all."`
	Since       string `group:"What:" placeholder:"DIR|FILE" help:"Job directory or visits.jsonl of an earlier crawl: visit its pages in scope again, at their depth, and have only those sent that have changed. The others are no pages of --max-pages."`
	scopeFlags  `group:"What:"`

	paceFlags  `group:"How politely:"`
	limitFlags `group:"How much:"`

	Cookies      bool `group:"Which way:" help:"Keep cookies and return each to the site that set it."`
	networkFlags `group:"Which way:"`

	Out         string `short:"o" group:"Output:" placeholder:"DIR" help:"Job directory: everything goes there instead of visits to stdout, and a crawl that was stopped or killed goes on with the same command or with resume."`
	Format      words  `group:"Output:" default:"jsonl" placeholder:"jsonl,warc" help:"With -o: also archive what went over the wire, as WARC with a CDXJ index (${default})."`
	FailOnLimit bool   `group:"Output:" help:"Exit 5 when a limit ended the crawl."`
	outputFlags `group:"Output:"`
}

// Help is the beginning of the command's help.
func (*crawlCmd) Help() string {
	return `Examples:

	amble crawl --contact https://lab.university.edu/crawl https://site.to.crawl/ >visits.jsonl
	amble crawl --contact me@university.edu -o job -d none --exclude '\.pdf$' https://site.to.crawl/docs/
	amble crawl --config job.yaml -i seeds.txt --max-time 1h --fail-on-limit

With -o the same command goes on with a crawl that did not end, and says so of one that did.

Exit codes: 0 done, 2 usage, 3 nothing fetched, 4 too many failed, 5 limit (with --fail-on-limit),
6 output, 130 or 143 interrupted. A limit takes none where there is to be no limit.`
}

// Run executes the command.
func (c *crawlCmd) Run(a *app, o *origins) error {
	if c.PrintConfig {
		return a.printConfig(c, o)
	}
	seeds, err := c.seeds(c.URLs, o, a.in)
	if err != nil {
		return err
	}
	cfg, err := c.crawlerConfig(o, seeds)
	if err != nil {
		return err
	}
	if c.Out != "" {
		return c.durable(a, o, cfg, seeds, durably{fresh: c.Fresh})
	}
	lines := newBurst(a.out)
	cfg.Sinks = []sink.Sink{sink.NewJSONL(lines)}
	end, err := a.crawl(&crawlJob{cfg: cfg, seeds: seeds, flags: c.outputFlags})
	if end != nil && end.Rejected > 0 {
		newUI(a, c.outputFlags).tell("the queue was full, which is in memory: with -o DIR it is on disk")
	}
	return c.verdict(end, firstOf(err, lines.close()))
}

// formats holds --format to the forms there are.
func (c *crawlFlags) formats() error {
	for _, f := range c.Format {
		if f != "jsonl" && f != "warc" {
			return cli.Usage("--format %s: want jsonl or warc", f)
		}
	}
	return cli.Refuse(c.archives() && c.Out == "", "--format warc: an archive needs a directory: name one with --out")
}

// archives reports whether an archive is wanted.
func (c *crawlFlags) archives() bool { return slices.Contains(c.Format, "warc") }

// verdict turns the end of a crawl into the command's.
func (c *crawlFlags) verdict(end *ending, err error) error {
	switch {
	case errors.Is(err, cli.ErrClosed), end == nil:
		return err
	case end.Finish == crawler.FinishError:
		return outputError(err)
	case err != nil:
		return err
	case end.signal != 0:
		return cli.Exit(end.signal, nil)
	case end.vain != nil:
		return cli.Exit(cli.ExitNothing, errors.New(vainText(end.vain)))
	case end.Finish == crawler.FinishErrors:
		return cli.Exit(cli.ExitFailures, fmt.Errorf("ended because %s failed (--max-errors)", cli.Plural(int(c.MaxErrors), "URL")))
	case end.Pages+end.Outcomes[crawler.NotModified] == 0:
		return cli.Exit(cli.ExitNothing, errors.New("nothing was fetched"+end.seedsFate()))
	case c.FailOnLimit && end.Finish.Limit():
		return cli.Exit(cli.ExitLimit, fmt.Errorf("the limit %s ended the crawl with %s left", limitName(end.Finish), cli.Plural(end.Left, "URL")))
	}
	return nil
}

// crawlJob is a crawl to be run and how it is to be shown.
type crawlJob struct {
	cfg        crawler.Config
	seeds      []weburl.URL
	flags      outputFlags
	stdoutFree bool // the summary may go there
	introduced bool // the person at the terminal knows what is about to be done

	resume string                       // the command that goes on with it; "": none
	before func(*crawler.Crawler) error // called before the crawl runs; nil: nothing is to be done
}

// ending is how a crawl ended.
type ending struct {
	*crawler.Report
	signal int      // exit code of the signal that ended it, 0 without
	seeds  []string // what became of the first seeds that were not fetched

	vain *crawler.UnreachableError // nil if a host answered
}

// crawl runs a crawl with its status, its summary and its signals. The ending is nil if it could not
// begin.
func (a *app) crawl(j *crawlJob) (*ending, error) {
	ui := newUI(a, j.flags)
	ui.restrain(&j.cfg)
	w := &watcher{ui: ui, giveUp: j.cfg.Politeness.RobotsGiveUp}
	j.cfg.Trace = w.trace()
	if j.cfg.Frontier == nil { // the outlook asks it
		queue := frontier.NewMemory(frontier.MemoryConfig{HostSlots: j.cfg.Politeness.OwnHosts, Key: j.cfg.Canonical.Key})
		defer func() { _ = queue.Close() }() // a memory store's Close cannot fail
		j.cfg.Frontier = queue
	}
	look := newOutlook(&j.cfg)
	look.trace(j.cfg.Trace)
	c, err := crawler.New(j.cfg)
	if err != nil {
		return nil, beginError(err)
	}
	look.gate = c.Gate()
	if j.before != nil {
		if err := j.before(c); err != nil {
			return nil, err
		}
	}
	ctx, cancel := context.WithCancelCause(context.Background())
	defer cancel(nil)
	ui.begin(j)
	stopSignals := a.watchSignals(c, cancel, ui, j.resume)
	stopStatus := ui.watch(c, &j.cfg, look)
	rep, err := c.Run(ctx, texts(j.seeds)...)
	stopStatus()
	end := &ending{Report: rep, signal: stopSignals(), seeds: w.seeds}
	if rep == nil {
		return nil, beginError(err)
	}
	ui.summary(a, j, end, err)
	if errors.As(err, &end.vain) {
		err = nil
	}
	return end, err
}

// vainText says what was tried by a crawl that nobody answered.
func vainText(e *crawler.UnreachableError) string {
	var b strings.Builder
	b.WriteString("nothing was fetched, no host answered:")
	for _, t := range e.Tried[:min(len(e.Tried), mostSeedsTold)] {
		fmt.Fprintf(&b, "\n  %s: %s (%s)", t.URL, cli.Printable(strings.TrimPrefix(t.Err.Error(), "fetcher: ")), cli.Plural(t.Attempts, "attempt"))
	}
	if n := len(e.Tried) - mostSeedsTold; n > 0 {
		fmt.Fprintf(&b, "\n  and %s more", cli.Plural(n, "host"))
	}
	return b.String()
}

// beginError is why a crawl could not begin: for what it was told, or for what it left when it was stopped.
func beginError(err error) error {
	if errors.Is(err, crawler.ErrResume) {
		return err
	}
	return cli.UsageOf("", err)
}

func texts(urls []weburl.URL) []string {
	res := make([]string, len(urls))
	for i, u := range urls {
		res[i] = u.String()
	}
	return res
}
