package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"time"

	"github.com/amble-crawler/amble/crawler"
	"github.com/amble-crawler/amble/internal/cli"
	"github.com/amble-crawler/amble/politeness"
)

// linksCmd is "amble links".
type linksCmd struct {
	Page string `arg:"" name:"url|file" help:"A page's URL, or an HTML file; - is stdin."`

	Base string `placeholder:"URL" help:"Address of a page that is read from a file."`
	JSON bool   `help:"One JSON object per link."`

	scopeFlags    `group:"What a crawl from this page would follow:"`
	identityFlags `group:"Who asks:"`
	networkFlags  `group:"Which way:"`
}

// Help is the beginning of the command's help.
func (*linksCmd) Help() string {
	return `Examples:

	amble links --contact me@university.edu https://site.to.crawl/page
	amble links --base https://site.to.crawl/page page.html
	amble links --resources --scope domain --json --base https://site.to.crawl/ - <page.html

Each line: what a crawl with the page as its seed would do of the link, its kind, where it stands, its
URL, its text, and the rule that decided. robots.txt is not asked about the links: see amble robots.`
}

// linksGiveUp is how long somebody who waits for one page waits for its robots.txt.
const linksGiveUp = 10 * time.Second

// Run executes the command.
func (c *linksCmd) Run(a *app) error {
	var out bytes.Buffer
	var seen pageLinks
	see := func(v *crawler.Visit) { seen.add(&out, v, c.JSON) }
	var err error
	if strings.Contains(c.Page, "://") {
		err = c.fetched(a, see)
	} else {
		err = c.read(a, see)
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

func (c *linksCmd) config() crawler.Config {
	return crawler.Config{
		Agent: c.Agent, Contact: c.Contact, Scope: crawler.ScopeConfig{Kind: crawler.ScopeKind(c.Scope), Rules: c.ordered()},
		Follow: crawler.Follow{NoFollow: c.FollowNofollow, Resources: c.Resources, Feeds: c.Feeds},
	}
}

// fetched looks at a page on the web, which is asked for as in a crawl.
func (c *linksCmd) fetched(a *app, see func(*crawler.Visit)) error {
	urls, err := parseURLs("URL", []string{c.Page})
	if err != nil {
		return err
	}
	if c.Base != "" {
		return cli.Usage("--base is for a page from a file: a page on the web has its own address")
	}
	if _, err := c.identity(urls); err != nil {
		return err
	}
	w := &watcher{ui: newUI(a, outputFlags{}), giveUp: linksGiveUp}
	cfg := c.config()
	cfg.Limits.Pages, cfg.Concurrency, cfg.Trace = 1, 1, w.trace()
	cfg.Fetch.AllowAddresses = c.AllowAddress
	if err := c.networkFlags.apply(&cfg.Fetch); err != nil {
		return cli.Exit(cli.ExitUsage, err)
	}
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
		end := ending{Report: rep, seeds: w.seeds}
		err = cli.Exit(cli.ExitNothing, errors.New("the page was not fetched"+end.seedsFate()))
	}
	return err
}

// read looks at a page in a file.
func (c *linksCmd) read(a *app, see func(*crawler.Visit)) error {
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
	scope, err := crawler.NewSeedScope(crawler.ScopeKind(c.Scope), c.ordered(), base[0])
	if err != nil {
		return cli.UsageOf("", err)
	}
	s := staged{base: base[0], cfg: c.config(), scope: scope, xhtml: isXHTMLFile(c.Page)}
	return s.judge(page, see)
}

// isXHTMLFile reports whether a file is XHTML by its name, as to a web server.
func isXHTMLFile(name string) bool {
	ext := strings.ToLower(filepath.Ext(name))
	return ext == ".xhtml" || ext == ".xht"
}
