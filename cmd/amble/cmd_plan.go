package main

import (
	"context"
	"time"

	"github.com/alecthomas/kong"

	"github.com/amble-crawler/amble/cmd/amble/internal/ask"
	"github.com/amble-crawler/amble/cmd/amble/internal/keyflags"
	"github.com/amble-crawler/amble/cmd/amble/internal/operator"
	"github.com/amble-crawler/amble/crawler"
	"github.com/amble-crawler/amble/crawler/plan"
	"github.com/amble-crawler/amble/internal/cli"
)

// planCmd is "amble plan".
type planCmd struct {
	URLs []string `arg:"" optional:"" name:"url" help:"Seeds."`

	configFlag `group:"Who crawls:"`

	Seeds string `short:"i" group:"What:" placeholder:"FILE" help:"Read further seeds, one a line; - is stdin."`
	kong.Plugins

	Pages    int          `group:"Estimate:" default:"0" placeholder:"N" help:"Pages expected per host without a sitemap; 0 is the limit of the crawl."`
	Service  cli.Duration `group:"Estimate:" default:"200ms" placeholder:"D" help:"Time an answer takes (${default})."`
	Simulate bool         `group:"Estimate:" help:"Also play the crawl through in virtual time, request by request."`
	JSON     bool         `group:"Output:" help:"Print the plan as JSON."`

	cfg crawler.Config
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
	cfg, err := o.Config()
	if err != nil {
		return err
	}
	if c.cfg, err = cfg.Crawler(); err == nil {
		c.cfg.ShareMachine(cfg.State)
		err = cfg.Access(&c.cfg, seeds...)
	}
	if err != nil {
		return keyflags.Errors(err)
	}
	a.warnAlone(&c.cfg)
	client, err := ask.New(&c.cfg, c.cfg.Politeness, seeds)
	if err != nil {
		return err
	}
	defer client.Close()
	c.cfg.Follow.Documents = false // a survey reads none
	survey := plan.Survey{
		Client: client.Client, Politeness: client.Policy, Crawl: c.cfg, Service: time.Duration(c.Service),
		Pages: c.expected(), MaxPages: int(c.cfg.Limits.Pages), MaxPerHost: int(c.cfg.Limits.PagesPerHost),
	}
	p, err := survey.Plan(context.Background(), seeds...)
	if err != nil {
		return cli.UsageOf("", err)
	}
	if hours, ok := o.Settings().Get("hours"); ok && len(hours.Values) > 0 {
		p.Notes = append(p.Notes, "--hours "+hours.Text()+": requests are made only then, and the time between is not counted here")
	}
	if c.Simulate {
		p.Simulate(c.cfg.Concurrency)
	}
	if c.JSON {
		return cli.PrintJSON(a.out, p)
	}
	_, err = a.out.Write([]byte(p.Text()))
	return err
}

// expected returns the number of pages that is assumed for a host without a sitemap.
func (c *planCmd) expected() int {
	switch {
	case c.Pages > 0:
		return c.Pages
	case c.cfg.Limits.PagesPerHost > 0:
		return int(c.cfg.Limits.PagesPerHost)
	case c.cfg.Limits.Pages > 0:
		return int(c.cfg.Limits.Pages)
	}
	return crawler.DefaultMaxPages
}
