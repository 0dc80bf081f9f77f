package main

import (
	"context"
	"errors"
	"fmt"

	"github.com/amble-crawler/amble/crawler"
	"github.com/amble-crawler/amble/weburl"
)

// crawlCmd is "amble crawl". Its flags' names are also the keys of the job file.
type crawlCmd struct {
	URLs []string `arg:"" optional:"" name:"url" help:"Seeds."`

	identityFlags `group:"Who crawls:"`

	Seeds      string `short:"i" group:"What:" placeholder:"FILE" help:"Read further seeds, one a line; - is stdin."`
	Depth      count  `short:"d" group:"What:" default:"${depth}" placeholder:"N" help:"Links followed from a seed (${default})."`
	Sitemaps   bool   `group:"What:" help:"Also crawl what the sitemaps named in robots.txt list."`
	Beyond     bool   `group:"What:" help:"Also fetch, without following their links, pages out of scope that pages in scope link to."`
	scopeFlags `group:"What:"`

	paceFlags  `group:"How politely:"`
	limitFlags `group:"How much:"`

	Out         string `short:"o" group:"Output:" placeholder:"DIR" help:"Write visits, ledger, robots.txt files, job file and report to this directory instead of visits to stdout."`
	Format      words  `group:"Output:" default:"jsonl" placeholder:"jsonl,warc" help:"With -o: also archive what went over the wire, as WARC with a CDXJ index (${default})."`
	FailOnLimit bool   `group:"Output:" help:"Exit 5 when a limit ended the crawl."`
	outputFlags `group:"Output:"`
	PrintConfig bool `group:"Output:" help:"Print every value, also of the keys that are seldom needed, and where it came from, and stop."`
}

// Help is the beginning of the command's help.
func (*crawlCmd) Help() string {
	return `Examples:

	amble crawl --contact https://lab.university.edu/crawl https://site.to.crawl/ >visits.jsonl
	amble crawl --contact me@university.edu -o job -d none --exclude '\.pdf$' https://site.to.crawl/docs/
	amble crawl --config job.yaml -i seeds.txt --max-time 1h --fail-on-limit

Exit codes: 0 done, 2 usage, 3 nothing fetched, 4 too many failed, 5 limit (with --fail-on-limit),
6 output, 130 or 143 interrupted. A limit takes none where there is to be no limit.`
}

// Run executes the command.
func (c *crawlCmd) Run(a *app, o *origins) error {
	if c.PrintConfig {
		return a.printConfig(c, o)
	}
	seeds, err := c.seeds(o, a.in)
	if err != nil {
		return err
	}
	cfg, err := c.crawlerConfig(o, seeds)
	if err != nil {
		return err
	}
	out, err := c.openOutput(a.out, configText(c, o))
	if err != nil {
		return err
	}
	if c.Out != "" {
		own, err := c.ownHostKeys()
		if err = errors.Join(err, writeAuditConfig(c.Out, &cfg, own)); err != nil {
			return err
		}
	}
	if err := out.archive(c.Format, &cfg); err != nil {
		return errors.Join(err, out.close(nil))
	}
	cfg.Sinks = out.sinks()
	cfg.Politeness.Ledger = out.ledger
	if out.robots != nil {
		cfg.KeepRobots = out.robots.keep
	}
	job := crawlJob{cfg: cfg, seeds: seeds, flags: c.outputFlags, stdoutFree: c.Out != ""}
	end, err := a.crawl(&job)
	err = errors.Join(err, out.close(end))
	return c.verdict(end, err)
}

// verdict turns the end of a crawl into the command's.
func (c *crawlCmd) verdict(end *ending, err error) error {
	switch {
	case errors.Is(err, errClosed), end == nil:
		return err
	case end.Finish == crawler.FinishError:
		return &exitError{exitOutput, err}
	case err != nil:
		return err
	case end.signal != 0:
		return &exitError{end.signal, nil}
	case end.Finish == crawler.FinishErrors:
		return &exitError{exitFailures, fmt.Errorf("ended because %s failed (--max-errors)", plural(int(c.MaxErrors), "URL"))}
	case end.Pages == 0:
		return &exitError{exitNothing, errors.New("nothing was fetched" + end.seedsFate())}
	case c.FailOnLimit && end.Finish.Limit():
		return &exitError{exitLimit, fmt.Errorf("the limit %s ended the crawl with %s left", limitName(end.Finish), plural(end.Left, "URL"))}
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
}

// ending is how a crawl ended.
type ending struct {
	*crawler.Report
	signal int      // exit code of the signal that ended it, 0 without
	seeds  []string // what became of the first seeds that were not fetched
}

// crawl runs a crawl with its status, its summary and its signals. The ending is nil if it could not
// begin.
func (a *app) crawl(j *crawlJob) (*ending, error) {
	ui := newUI(a, j.flags)
	w := &watcher{ui: ui, giveUp: j.cfg.Politeness.RobotsGiveUp}
	j.cfg.Trace = w.trace()
	c, err := crawler.New(j.cfg)
	if err != nil {
		return nil, usageOf("", err)
	}
	ctx, cancel := context.WithCancelCause(context.Background())
	defer cancel(nil)
	ui.begin(j)
	stopSignals := a.watchSignals(c, cancel, ui)
	stopStatus := ui.watch(c, j.cfg)
	rep, err := c.Run(ctx, texts(j.seeds)...)
	stopStatus()
	end := &ending{Report: rep, signal: stopSignals(), seeds: w.seeds}
	if rep == nil {
		return nil, usageOf("", err)
	}
	ui.summary(a, j, end, err)
	return end, err
}

func texts(urls []weburl.URL) []string {
	res := make([]string, len(urls))
	for i, u := range urls {
		res[i] = u.String()
	}
	return res
}
