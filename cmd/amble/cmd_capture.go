package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"sync/atomic"

	"github.com/alecthomas/kong"

	"github.com/amble-crawler/amble/cmd/amble/internal/keyflags"
	"github.com/amble-crawler/amble/cmd/amble/internal/operator"
	"github.com/amble-crawler/amble/cmd/amble/internal/view"
	"github.com/amble-crawler/amble/crawler"
	"github.com/amble-crawler/amble/crawltest/fixture"
	"github.com/amble-crawler/amble/fetcher"
	"github.com/amble-crawler/amble/internal/cli"
	"github.com/amble-crawler/amble/job/report"
	"github.com/amble-crawler/amble/weburl"
)

// captureCmd is "amble capture".
type captureCmd struct {
	URLs []string `arg:"" name:"url" help:"Seeds."`

	Output string `short:"o" name:"output" placeholder:"FILE" help:"File to write, which must not exist; without it, stdout."`
	view.Messages

	configFlag `group:"Who crawls:"`
	kong.Plugins
}

// captureShown lists the keys whose flags appear in the help of amble capture. The others work, too.
var captureShown = map[string]bool{
	"contact": true, "delay": true, "depth": true, "scope": true, "include": true, "exclude": true, "follow": true, "max-pages": true, "allow-address": true, "quiet": true,
}

// captureDefaults are the help texts of flags whose defaults differ from those of a crawl.
var captureDefaults = map[string]string{"max-pages": "Pages fetched, exactly (100).", "max-bytes": "Bytes received (16MiB)."}

// Help returns the beginning of the command's help.
func (*captureCmd) Help() string {
	return `Examples:

	amble capture --contact me@university.edu https://site.to.crawl/ -o a.txtar
	amble capture --max-pages 20 https://site.to.crawl/docs/ -o docs.txtar
	amble capture --depth 0 https://site.to.crawl/a https://site.to.crawl/b

Writes real pages as a test web for Go programs: package crawltest serves the file without a network
(crawltest.Web.LoadFile). It is a crawl as any other, with robots.txt and pauses. Statuses, redirects,
header fields that crawlers read, and bodies of any type are kept; cookies, and pages that were cut, are not.
What robots.txt means is to be written in the file by hand, as docs/testing.md shows.

Exit codes: as for amble crawl.`
}

// Run executes the command.
func (c *captureCmd) Run(a *app, o *keyflags.Origins) error {
	seeds, err := operator.Seeds(o, c.URLs, "", a.in)
	if err != nil {
		return err
	}
	if _, err := os.Lstat(c.Output); c.Output != "" && err == nil {
		return cli.Usage("%s is there already: remove it, or name another file with -o", c.Output)
	}
	cfg, err := siteConfig(o, seeds)
	if err != nil {
		return err
	}
	if !o.Given("max-pages") {
		cfg.Crawl.Limits.Pages = 100
	}
	if !o.Given("max-bytes") {
		cfg.Crawl.Limits.Bytes = 16 << 20
	}
	x, err := a.unkeptCrawler(&cfg, seeds)
	if err != nil {
		return err
	}
	v := a.view(view.Flags{Messages: c.Messages})
	restrain(v, &x)
	var pages fixture.Capture
	var lacking atomic.Int64 // number of URLs without a complete response
	keep := func(p *fetcher.Page) error { return pages.Add(p.URL.String(), p.Status, p.Header, p.Body) }
	x.KeepRobots = keep
	x.Handler = crawler.HandlerFunc(func(_ context.Context, v *crawler.Visit) error {
		if v.Page == nil || v.Page.Truncated != "" {
			if v.Outcome == crawler.Failed || v.Page != nil {
				lacking.Add(1)
			}
			return nil
		}
		return keep(v.Page)
	})
	end, err := a.crawl(&crawlJob{
		view: v, cfg: x, seeds: seeds, open: inMemory(seeds), job: &cfg, noSummary: true, advice: "what was fetched so far is written",
	})
	if end == nil || end.Finish == crawler.FinishError {
		return outputError(err)
	}
	if end.Pages > 0 {
		if err := c.write(a, seeds, &pages); err != nil {
			return err
		}
		v.Tell("%s of %s in the test web%s", cli.Plural(pages.Len(), "answer"), cli.Plural(end.Pages, "page"), c.left(end, lacking.Load()))
	}
	if cut, err := cutShort(end, err); cut {
		return err
	}
	return end.noPages()
}

// left describes what is missing in the test web.
func (c *captureCmd) left(end *ending, lacking int64) (text string) {
	if lacking > 0 {
		text += fmt.Sprintf("; without %s that got no complete answer", cli.Plural(int(lacking), "URL"))
	}
	if end.Finish.Limit() {
		text += fmt.Sprintf("; the limit --%s left %s out", report.LimitName(end.Finish), cli.Plural(end.Left, "URL"))
	}
	return text
}

// write writes the fixture to its file or to stdout. An incomplete file is never visible.
func (c *captureCmd) write(a *app, seeds []weburl.URL, pages *fixture.Capture) error {
	text := append([]byte("Captured from "+strings.Join(operator.Texts(seeds), " ")+"\nState what each robots.txt means in its line, as in forbids=/private/* crawl-delay=2s\n"), pages.Fixture()...)
	if c.Output == "" {
		_, err := a.out.Write(text)
		return outputError(err)
	}
	f, err := os.OpenFile(c.Output, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644)
	if err != nil {
		return cli.Exit(cli.ExitOutput, err)
	}
	_, err = f.Write(text)
	if err = errors.Join(err, f.Close()); err != nil {
		return cli.Exit(cli.ExitOutput, errors.Join(err, os.Remove(c.Output)))
	}
	return nil
}
