package main

import (
	"bytes"
	"fmt"
	"path/filepath"
	"strings"

	"github.com/alecthomas/kong"

	"github.com/amble-crawler/amble/cmd/amble/internal/ask"
	"github.com/amble-crawler/amble/cmd/amble/internal/explain"
	"github.com/amble-crawler/amble/cmd/amble/internal/keyflags"
	"github.com/amble-crawler/amble/cmd/amble/internal/operator"
	"github.com/amble-crawler/amble/cmd/amble/internal/view"
	"github.com/amble-crawler/amble/crawler"
	"github.com/amble-crawler/amble/internal/cli"
)

// linksCmd is "amble links".
type linksCmd struct {
	Page string `arg:"" name:"url|file" help:"A page's URL, or an HTML file; - is stdin."`

	Base string `placeholder:"URL" help:"Address of a page that is read from a file."`
	JSON bool   `help:"One JSON object per link."`

	configFlag `group:"Who crawls:"`
	kong.Plugins
}

// Help returns the beginning of the command's help.
func (*linksCmd) Help() string {
	return `Examples:

	amble links --contact me@university.edu https://site.to.crawl/page
	amble links --base https://site.to.crawl/page page.html
	amble links --follow resources --base https://site.to.crawl/ - <page.html

Each line: what a crawl with the page as its seed would do with the link, its kind, where it is, its
URL, its text, and the rule that decided. The links are not judged by robots.txt: see amble explain --robots.`
}

// Run executes the command.
func (c *linksCmd) Run(a *app, o *keyflags.Origins) error {
	cfg, err := ask.PageConfig(o)
	if err != nil {
		return err
	}
	var out bytes.Buffer
	seen := explain.Links{Short: a.shorten(len("out_of_scope resource a[href]          "))}
	see := func(v *crawler.Visit) { seen.Add(&out, v, c.JSON) }
	if strings.Contains(c.Page, "://") {
		err = c.fetched(a, o, cfg, see)
	} else {
		err = c.read(a, cfg, see)
	}
	if err != nil {
		return err
	}
	if _, err := a.out.Write(out.Bytes()); err != nil {
		return err
	}
	fmt.Fprintln(a.err, seen.Text())
	return nil
}

// fetched requests a page from the web as in a crawl, and calls see with its visits.
func (c *linksCmd) fetched(a *app, o *keyflags.Origins, cfg crawler.Config, see func(*crawler.Visit)) error {
	u, err := operator.URL("URL", c.Page)
	if err != nil {
		return err
	}
	if c.Base != "" {
		return cli.Usage("--base is for a page from a file: a page on the web has its own address")
	}
	if err := ask.PageAccess(o, &cfg, u); err != nil {
		return err
	}
	return ask.Page(a.view(view.Flags{}), cfg, u, func(v *crawler.Visit) {
		if v.Outcome == crawler.Fetched {
			see(v)
		}
	})
}

// read reads a page from a file, and calls see with its visit.
func (c *linksCmd) read(a *app, cfg crawler.Config, see func(*crawler.Visit)) error {
	if c.Base == "" {
		return cli.Usage("%s: the links of a file need --base URL, the address of the page (and a page on the web is given in full, as in https://site.to.crawl/)", c.Page)
	}
	base, err := operator.URL("--base", c.Base)
	if err != nil {
		return err
	}
	page, err := operator.File(c.Page, a.in)
	if err != nil {
		return cli.Usage("page: %w", err)
	}
	scope, err := cfg.SeedScope(base)
	if err != nil {
		return cli.UsageOf("", err)
	}
	p := explain.Page{Base: base, Body: page, Config: cfg, Scope: scope, XHTML: isXHTMLFile(c.Page)}
	return cli.UsageOf("", p.Judge(see))
}

// isXHTMLFile reports whether a file's extension means XHTML, as for a web server.
func isXHTMLFile(name string) bool {
	ext := strings.ToLower(filepath.Ext(name))
	return ext == ".xhtml" || ext == ".xht"
}
