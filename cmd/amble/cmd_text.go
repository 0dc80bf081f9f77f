package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"path/filepath"
	"strings"

	"github.com/alecthomas/kong"

	"github.com/amble-crawler/amble/article"
	"github.com/amble-crawler/amble/article/document"
	"github.com/amble-crawler/amble/cmd/amble/internal/ask"
	"github.com/amble-crawler/amble/cmd/amble/internal/keyflags"
	"github.com/amble-crawler/amble/cmd/amble/internal/operator"
	"github.com/amble-crawler/amble/cmd/amble/internal/view"
	"github.com/amble-crawler/amble/crawler"
	"github.com/amble-crawler/amble/internal/cli"
	"github.com/amble-crawler/amble/job/export/text"
	"github.com/amble-crawler/amble/schema"
)

// textCmd is "amble text".
type textCmd struct {
	Page string `arg:"" name:"url|file" help:"A page's URL, or an HTML file in UTF-8, or a PDF, EPUB or DOCX file; - is stdin."`

	Base     string `placeholder:"URL" help:"Address of a page that is read from a file: its links become whole."`
	Markdown bool   `xor:"form" help:"The text as Markdown."`
	JSON     bool   `name:"json" xor:"form" help:"One JSON object: both forms, title, author, dates, licence, language, structured data."`

	configFlag `group:"Who crawls:"`
	kong.Plugins
}

// Help returns the beginning of the command's help.
func (*textCmd) Help() string {
	return `Examples:

	amble text --contact me@university.edu https://site.to.crawl/page
	amble text --markdown --base https://site.to.crawl/page page.html
	amble text --json - <page.html
	amble text report.pdf

The main text of one page, without title, menus, advertisements and comments, or all text of a document. A
page on the web is requested as in a crawl, after its robots.txt. A document is read by a process with limits of time
and memory. amble export --to text has the texts of a whole crawl.

Exit codes: 0 there is a text; 3 there is none, or no page.`
}

// Run executes the command.
func (c *textCmd) Run(a *app, o *keyflags.Origins) error {
	page, address, err := c.read(a, o)
	if err != nil {
		return err
	}
	var found *article.Article
	var pages []string
	if kind := document.Type(page); kind != "" {
		found, pages, err = readDocumentText(page, kind, address, c.JSON)
	} else {
		found, err = article.Read(page, address)
	}
	if err != nil {
		return cli.Exit(cli.ExitNothing, fmt.Errorf("%s: %w", c.Page, err))
	}
	if found.Tree == nil {
		return cli.Exit(cli.ExitNothing, fmt.Errorf("%s: the page has no text", c.Page))
	}
	return outputError(c.print(a.out, found, pages, address))
}

// readDocumentText returns the text of a document. If each is set, it also returns the text of each page.
func readDocumentText(body []byte, kind, address string, each bool) (a *article.Article, pages []string, err error) {
	d, err := documents().Read(context.Background(), body, kind)
	if err != nil {
		return nil, nil, err
	}
	for i := 0; each && i < len(d.Pages); i++ {
		page := *d
		page.Pages = d.Pages[i : i+1]
		one, err := page.Article(address)
		if err != nil {
			return nil, nil, err
		}
		pages = append(pages, one.Text())
	}
	a, err = d.Article(address)
	return a, pages, err
}

// read returns the input, either a page in UTF-8 or a document, and its address.
func (c *textCmd) read(a *app, o *keyflags.Origins) (page []byte, address string, err error) {
	if !strings.Contains(c.Page, "://") {
		if c.Base != "" {
			base, err := operator.URL("--base", c.Base)
			if err != nil {
				return nil, "", err
			}
			address = base.String()
		}
		body, err := operator.File(c.Page, a.in)
		if err != nil {
			hint := ""
			if errors.Is(err, fs.ErrNotExist) && c.Page != "" && c.Page[0] != '.' && !filepath.IsAbs(c.Page) {
				hint = "; write a page on the web in full, as in https://" + c.Page
			}
			return nil, "", cli.Usage("page: %w%s", err, hint)
		}
		return body, address, nil
	}
	if c.Base != "" {
		return nil, "", cli.Usage("--base is for a page from a file: a page on the web has its own address")
	}
	u, err := operator.URL("URL", c.Page)
	if err != nil {
		return nil, "", err
	}
	cfg, err := ask.PageConfig(o)
	if err == nil {
		err = ask.PageAccess(o, &cfg, u)
	}
	if err != nil {
		return nil, "", err
	}
	var reason error
	err = ask.Page(a.view(view.Flags{}), cfg, u, func(v *crawler.Visit) {
		if v.Outcome != crawler.Fetched {
			return
		}
		address = v.URL.String()
		if p := v.Page; p.Status == http.StatusOK && document.Reads(p.ContentType) {
			page = bytes.Clone(p.Body)
			return
		}
		if p := v.Page; p.Status != http.StatusOK || p.ContentType != "text/html" && p.ContentType != "application/xhtml+xml" {
			reason = fmt.Errorf("%s is %s with status %d: only pages of HTML and PDF, EPUB and DOCX files with status 200 have a text", address, p.ContentType, p.Status)
			return
		}
		page, reason = v.Page.Text()
		page = bytes.Clone(page) // the memory belongs to the visit
	})
	if err == nil && reason != nil {
		err = cli.Exit(cli.ExitNothing, reason)
	}
	return page, address, err
}

// print writes a text in the requested format. pages has the pages of a document.
func (c *textCmd) print(w io.Writer, a *article.Article, pages []string, address string) error {
	if c.JSON {
		e := json.NewEncoder(w)
		e.SetEscapeHTML(false)
		return e.Encode(struct {
			URL string `json:"url"`
			text.Facts
			Text     string         `json:"text"`
			Markdown string         `json:"markdown"`
			Data     []*schema.Item `json:"data"`
			Pages    []string       `json:"pages,omitempty"`
		}{address, text.FactsOf(a), a.Text(), a.Markdown(), append([]*schema.Item{}, a.Data.Items...), pages})
	}
	s := a.Text()
	if c.Markdown {
		s = a.Markdown()
	}
	_, err := fmt.Fprintln(w, s)
	return err
}
