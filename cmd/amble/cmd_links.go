package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"time"

	"github.com/alecthomas/kong"

	"github.com/amble-crawler/amble/crawler"
	"github.com/amble-crawler/amble/fetcher"
	"github.com/amble-crawler/amble/internal/cli"
	"github.com/amble-crawler/amble/internal/keyflags"
	"github.com/amble-crawler/amble/internal/view"
	"github.com/amble-crawler/amble/politeness"
)

// linksCmd is "amble links".
type linksCmd struct {
	Page string `arg:"" name:"url|file" help:"A page's URL, or an HTML file; - is stdin."`

	Base string `placeholder:"URL" help:"Address of a page that is read from a file."`
	JSON bool   `help:"One JSON object per link."`

	configFlag `group:"Who asks:"`
	kong.Plugins
}

// Help returns the beginning of the command's help.
func (*linksCmd) Help() string {
	return `Examples:

	amble links --contact me@university.edu https://site.to.crawl/page
	amble links --base https://site.to.crawl/page page.html
	amble links --resources --json --base https://site.to.crawl/ - <page.html

Each line: what a crawl with the page as its seed would do with the link, its kind, where it is, its
URL, its text, and the rule that decided. The links are not judged by robots.txt: see amble robots.`
}

// linksGiveUp is how long requests for an unreachable robots.txt are retried for a single page.
const linksGiveUp = 10 * time.Second

// Run executes the command.
func (c *linksCmd) Run(a *app, o *keyflags.Origins) error {
	cfg, err := c.config(o)
	if err != nil {
		return err
	}
	var out bytes.Buffer
	var seen pageLinks
	see := func(v *crawler.Visit) { seen.add(&out, v, c.JSON) }
	if strings.Contains(c.Page, "://") {
		err = c.fetched(a, cfg, see)
	} else {
		err = c.read(a, cfg, see)
	}
	if err != nil {
		return err
	}
	if _, err := a.out.Write(out.Bytes()); err != nil {
		return err
	}
	fmt.Fprintln(a.err, seen.text())
	return nil
}

// config returns the configuration of a crawl with the page as its seed.
func (c *linksCmd) config(o *keyflags.Origins) (crawler.Config, error) {
	cfg, err := o.Config()
	x := &cfg.Crawl
	return crawler.Config{
		Agent: x.Agent, Contact: x.Contact, Scope: x.Scope, Follow: x.Follow,
		Fetch: fetcher.Config{
			AllowAddresses: x.Fetch.AllowAddresses, AllowPorts: x.Fetch.AllowPorts,
			Proxy: x.Fetch.Proxy, LocalAddr: x.Fetch.LocalAddr, InsecureHosts: x.Fetch.InsecureHosts,
		},
	}, err
}

// fetched examines a page on the web, which is requested as in a crawl.
func (c *linksCmd) fetched(a *app, cfg crawler.Config, see func(*crawler.Visit)) error {
	urls, err := parseURLs("URL", []string{c.Page})
	if err != nil {
		return err
	}
	if c.Base != "" {
		return cli.Usage("--base is for a page from a file: a page on the web has its own address")
	}
	if _, err := whoCrawls(cfg.Agent, cfg.Contact, urls); err != nil {
		return err
	}
	w := a.view(view.Flags{}).Follow(linksGiveUp, false)
	cfg.Limits.Pages, cfg.Concurrency, cfg.Trace = 1, 1, w.Trace()
	cfg.Politeness = politeness.Config{RobotsGiveUp: linksGiveUp}
	cfg.Handler = crawler.HandlerFunc(func(_ context.Context, v *crawler.Visit) error {
		if v.Outcome != crawler.Fetched {
			return nil
		}
		see(v)
		return crawler.Stop
	})
	crawl, err := crawler.New(cfg)
	if err != nil {
		return cli.UsageOf("", err)
	}
	rep, err := crawl.Run(context.Background(), texts(urls)...)
	var vain *crawler.UnreachableError
	if errors.As(err, &vain) {
		return cli.Exit(cli.ExitNothing, errors.New(vainText(vain)))
	}
	if err == nil && rep.Pages == 0 {
		end := ending{Report: rep, seeds: w.Seeds()}
		err = cli.Exit(cli.ExitNothing, errors.New("the page was not fetched"+end.seedsFate()))
	}
	return err
}

// read examines a page in a file.
func (c *linksCmd) read(a *app, cfg crawler.Config, see func(*crawler.Visit)) error {
	if c.Base == "" {
		return cli.Usage("%s: the links of a file need --base URL, the address of the page (and a page on the web is given in full, as in https://site.to.crawl/)", c.Page)
	}
	base, err := parseURLs("--base", []string{c.Base})
	if err != nil {
		return err
	}
	page, err := readFile(c.Page, a.in)
	if err != nil {
		return cli.Usage("page: %w", err)
	}
	scope, err := crawler.NewSeedScope(cfg.Scope.Kind, cfg.Scope.Rules, base[0])
	if err != nil {
		return cli.UsageOf("", err)
	}
	s := staged{base: base[0], cfg: cfg, scope: scope, xhtml: isXHTMLFile(c.Page)}
	return s.judge(page, see)
}

// isXHTMLFile reports whether a file is XHTML according to its name, as for a web server.
func isXHTMLFile(name string) bool {
	ext := strings.ToLower(filepath.Ext(name))
	return ext == ".xhtml" || ext == ".xht"
}
