package main

import (
	"cmp"
	"context"
	"time"

	"github.com/alecthomas/kong"

	"github.com/amble-crawler/amble/cmd/amble/internal/ask"
	"github.com/amble-crawler/amble/cmd/amble/internal/keyflags"
	"github.com/amble-crawler/amble/cmd/amble/internal/operator"
	"github.com/amble-crawler/amble/crawler"
	"github.com/amble-crawler/amble/crawler/plan"
	"github.com/amble-crawler/amble/internal/cli"
	"github.com/amble-crawler/amble/weburl"
)

// planCmd is "amble plan".
type planCmd struct {
	URLs []string `arg:"" optional:"" name:"url" help:"Seeds."`

	configFlag `group:"Who crawls:"`

	Seeds string `short:"i" group:"What:" placeholder:"FILE" help:"Read further seeds, one a line; - is stdin."`
	kong.Plugins

	Pages     int `group:"Estimate:" default:"0" placeholder:"N" help:"Pages expected per host without a sitemap; 0 is the limit of the crawl."`
	planFlags `group:"Estimate:"`
	JSON      bool `group:"Output:" help:"Print the plan as JSON."`
}

// planFlags holds the flags that plan shares with crawl.
type planFlags struct {
	Service  cli.Duration `default:"200ms" placeholder:"D" help:"With --plan: time an answer takes (${default})."`
	Simulate bool         `help:"With --plan: also play the crawl through in virtual time, request by request."`
}

// Help returns the beginning of the command's help.
func (*planCmd) Help() string {
	return `Examples:

	amble plan --contact me@university.edu https://site.to.crawl/
	amble plan --contact me@university.edu -i seeds.txt --simulate
	amble plan --json --pages 5000 -w 2s http://127.0.0.1:8080/

Reads robots.txt and the sitemaps it names, and nothing else. Prints for each host the delay in force
and why, the pages known, and the least time that this polite crawl can take.`
}

// Run executes the command.
func (c *planCmd) Run(a *app, o *keyflags.Origins) error {
	seeds, err := operator.Seeds(o, c.URLs, c.Seeds, a.in)
	if err != nil {
		return err
	}
	return c.plan(a, o, seeds, c.Pages, c.JSON)
}

// plan prints the minimum duration of the crawl. pages is the number of pages assumed for a host without a sitemap; 0: the crawl's limit.
func (f *planFlags) plan(a *app, o *keyflags.Origins, seeds []weburl.URL, pages int, asJSON bool) error {
	cfg, err := o.Config()
	if err != nil {
		return err
	}
	crawl, err := cfg.Crawler()
	if err == nil {
		crawl.ShareMachine(cfg.State)
		err = cfg.Access(&crawl, seeds...)
	}
	if err != nil {
		return keyflags.Errors(err)
	}
	a.warnAlone(&crawl)
	client, err := ask.New(&crawl, crawl.Politeness, seeds)
	if err != nil {
		return err
	}
	defer client.Close()
	crawl.Follow.Documents = false // a plan reads no documents
	limit, each := max(0, int(crawl.Limits.Pages)), max(0, int(crawl.Limits.PagesPerHost))
	survey := plan.Survey{
		Client: client.Client, Politeness: client.Policy, Crawl: crawl, Service: time.Duration(f.Service),
		Pages: cmp.Or(max(0, pages), each, limit, crawler.DefaultMaxPages), MaxPages: int(crawl.Limits.Pages), MaxPerHost: int(crawl.Limits.PagesPerHost),
	}
	p, err := survey.Plan(context.Background(), seeds...)
	if err != nil {
		return cli.UsageOf("", err)
	}
	if hours, ok := o.Settings().Get("hours"); ok && len(hours.Values) > 0 {
		p.Notes = append(p.Notes, "--hours "+hours.Text()+": requests are made only then, and the time between is not counted here")
	}
	if f.Simulate {
		p.Simulate(crawl.Concurrency)
	}
	if asJSON {
		return cli.PrintJSON(a.out, p)
	}
	_, err = a.out.Write([]byte(p.Text()))
	return err
}
