package main

import (
	"cmp"
	"errors"
	"fmt"
	"net/netip"
	"os"
	"path/filepath"
	"time"

	"github.com/amble-crawler/amble/cmd/amble/internal/demo"
	"github.com/amble-crawler/amble/cmd/amble/internal/view"
	"github.com/amble-crawler/amble/crawler"
	"github.com/amble-crawler/amble/fetcher"
	"github.com/amble-crawler/amble/internal/cli"
	"github.com/amble-crawler/amble/job"
	"github.com/amble-crawler/amble/politeness"
	"github.com/amble-crawler/amble/weburl"
)

// demoCmd is "amble demo".
type demoCmd struct {
	Delay cli.Duration `short:"w" default:"200ms" placeholder:"D" help:"Least pause between requests to a host (${default})."`
	Serve bool         `help:"Serve a bookshop on loopback instead, to try other commands on, until Ctrl-C."`
	Port  int          `default:"8808" placeholder:"N" help:"With --serve: its port (${default})."`
	view.Flags
}

// Help returns the beginning of the command's help.
func (*demoCmd) Help() string {
	return `Examples:

	amble demo
	amble demo -v
	amble demo --json | jq .outcomes
	amble demo --serve

It needs no network. Four small hosts on loopback have a redirect, a broken link, a Crawl-delay, an
answer 429 and a robots.txt that forbids everything; the demo shows what a crawl makes of them, and
ends with the name of its report, a page in the directory for temporary files.`
}

// Run crawls a small web on loopback and reports the result, and how polite the crawl was.
func (d *demoCmd) Run(a *app) error {
	if d.Serve {
		return d.serve(a)
	}
	web, err := demo.Start()
	if err != nil {
		return err
	}
	defer func() { _ = web.Close() }() // the servers of the demo are no longer used
	seed, err := weburl.Parse(web.Hosts[0].Base)
	if err != nil {
		return err
	}
	dir, err := os.MkdirTemp("", "amble-demo-")
	if err != nil {
		return cli.Exit(cli.ExitOutput, err)
	}
	end, err := d.crawl(a, web, seed, dir)
	switch {
	case err != nil:
	case end.signal != 0:
		err = cli.Exit(end.signal, nil)
	case !d.silent():
		return d.told(a, dir)
	}
	return errors.Join(err, os.RemoveAll(dir))
}

// crawl crawls the web as a job in a directory.
func (d *demoCmd) crawl(a *app, web *demo.Web, seed weburl.URL, dir string) (*ending, error) {
	cfg := crawler.Config{
		Agent: crawler.DefaultAgent, Concurrency: 16, Limits: crawler.Limits{Pages: 200}, Scope: crawler.ScopeConfig{Kind: crawler.ScopeAny},
		Politeness: politeness.Config{
			Delay:  cmp.Or(max(0, time.Duration(d.Delay)), crawler.NoDelay),
			Shared: politeness.NewHosts(politeness.HostsLimits{}), // servers of this process and a short job need no state directory
		},
		Fetch: fetcher.Config{AllowAddresses: []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")}},
	}
	v := a.view(d.Flags)
	if !d.silent() {
		d.introduce(a, web)
	}
	var j *job.Job
	end, err := a.crawl(&crawlJob{
		view: v, cfg: cfg, pages: v.ShowsPages() && !d.silent(), seeds: []weburl.URL{seed}, stdoutFree: true, introduced: true,
		open: func(x crawler.Config) (_ opened, err error) {
			j, err = job.Create(dir, job.Config{Crawl: x}, seed.String())
			return j, err
		},
	})
	if j != nil {
		err = errors.Join(err, j.Close())
	}
	return end, err
}

// told prints how polite the crawl was, and the path of its report.
func (d *demoCmd) told(a *app, dir string) error {
	ledger, err := os.ReadFile(filepath.Join(dir, job.LedgerName))
	visits, err2 := os.ReadFile(filepath.Join(dir, job.VisitsName))
	if err := errors.Join(err, err2, writePage(dir)); err != nil {
		return cli.Exit(cli.ExitOutput, err)
	}
	politely, err := demo.Politeness(ledger)
	fmt.Fprintf(a.err, "\n%s\n%s\nIts report, a page for a browser: %s\n\n%s", demo.NotFetched(visits), politely, filepath.Join(dir, job.PageName), nextStep)
	return err
}

// serve serves a bookshop until a signal comes.
func (d *demoCmd) serve(a *app) error {
	signals := make(chan os.Signal, 1)
	a.notify(signals)
	defer a.ignore(signals)
	web, err := demo.Shop(d.Port)
	if err != nil {
		return cli.Usage("%v: choose another --port", err)
	}
	if !d.Quiet {
		fmt.Fprintf(a.err, "%s is %s.\nCtrl-C ends it. In another terminal: amble crawl %s\n", web.Hosts[0].Base, web.Hosts[0].About, web.Hosts[0].Base)
	}
	<-signals
	return web.Close()
}

const nextStep = `Next, on a site of yours: amble crawl --contact https://lab.university.edu/crawl -o job https://site.to.crawl/
The contact is a page or mail address at which its owner reaches you; "amble help crawl" has the rest.
`

// silent reports whether the demo must not print explanations.
func (d *demoCmd) silent() bool { return d.JSON || d.Quiet || d.LogFormat == "json" }

func (d *demoCmd) introduce(a *app, web *demo.Web) {
	fmt.Fprintf(a.err, "A web of %d hosts is being served on loopback:\n", len(web.Hosts))
	for _, h := range web.Hosts {
		fmt.Fprintf(a.err, "  %-24s %s\n", h.Base, h.About)
	}
	fmt.Fprintf(a.err, "Crawling it as %s, robots.txt first, %v between requests to a host.\n\n", crawler.DefaultAgent, max(0, d.Delay))
}
