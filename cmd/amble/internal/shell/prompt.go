package shell

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/amble-crawler/amble/crawler"
	"github.com/amble-crawler/amble/fetcher"
	"github.com/amble-crawler/amble/internal/cli"
	"github.com/amble-crawler/amble/sink"
	"github.com/amble-crawler/amble/weburl"
)

// prompt executes the lines for one page at a time.
type prompt struct {
	*Shell
	visit  *crawler.Visit
	record *sink.Record
	scope  *crawler.SeedScope
	client *fetcher.Client // client of the offline crawl

	greeted bool
	next    weburl.URL // page that a line of input has named to be shown next; zero if there is none
	wrong   int
	failed  error // error of reading lines or of Out
}

// command is a command word of the prompt.
type command struct {
	name, args, help string
	run              func(p *prompt, ctx context.Context, rest string) error
}

// commands returns the commands in the order of the help.
func commands() []command {
	return []command{
		{"page", "", "address, status, type, charset and title", (*prompt).page},
		{"css", "SELECTOR", "the elements that a CSS selector finds, with their text", (*prompt).css},
		{"text", "[SELECTOR]", "the text of these elements, a line each; without one, of the page", (*prompt).text},
		{"attr", "NAME SELECTOR", "the values of an attribute of these elements, a line each", (*prompt).attr},
		{"html", "[SELECTOR]", "the source of the first of these elements; without one, of the page", (*prompt).html},
		{"links", "[TEXT]", "the links (whose address contains TEXT), with what a crawl would do with each", (*prompt).links},
		{"rule", "URL", "whether a URL is in scope, and what robots.txt says of it", (*prompt).rule},
		{"headers", "", "the header of the answer", (*prompt).headers},
		{"record", "", "the visit as a crawl writes it", (*prompt).json},
		{"open", "URL", "go to another page, if it is recorded", (*prompt).open},
		{"help", "", "this list", (*prompt).help},
		{"quit", "", "end (as does Ctrl-D)", nil},
	}
}

// Names returns the names of the commands.
func Names() (names []string) {
	for _, c := range commands() {
		names = append(names, c.name)
	}
	return names
}

// run executes lines until there are no more, or a line names another page.
func (p *prompt) run(ctx context.Context) {
	for p.next.IsZero() && p.failed == nil && ctx.Err() == nil {
		line, err := p.In.ReadLine()
		if err != nil {
			if !errors.Is(err, io.EOF) {
				p.failed = err
			}
			return
		}
		word, rest, _ := strings.Cut(strings.TrimSpace(line), " ")
		if word == "quit" || word == "exit" {
			return
		}
		if err := p.do(ctx, word, strings.TrimSpace(rest)); err != nil && p.failed == nil {
			p.wrong++
			_, p.failed = fmt.Fprintln(p.Errs, cli.Printable(err.Error()))
		}
	}
}

// do executes one line. The error says what is wrong with the line.
func (p *prompt) do(ctx context.Context, word, rest string) error {
	if word == "" || strings.HasPrefix(word, "#") {
		return nil
	}
	for _, c := range commands() {
		if c.name != word {
			continue
		}
		switch {
		case c.args == "" && rest != "":
			return fmt.Errorf("%s: takes no more words, not %q", word, rest)
		case rest == "" && c.args != "" && c.args[0] != '[':
			return fmt.Errorf("%s: wants %s", word, c.args)
		}
		return c.run(p, ctx, rest)
	}
	return fmt.Errorf("there is no command %q%s: help lists them", word, cli.DidYouMean(word, Names()))
}

// print writes a line, with control characters escaped.
func (p *prompt) print(line string) {
	if p.failed == nil {
		_, p.failed = io.WriteString(p.Out, cli.Printable(line)+"\n")
	}
}

// most calls f for the first of n results, as many as are shown.
func (p *prompt) most(n int, f func(i int)) {
	shown := n
	if p.Most > 0 {
		shown = min(n, p.Most)
	}
	for i := range shown {
		f(i)
	}
	if shown < n {
		p.print(fmt.Sprintf("… and %d more", n-shown))
	}
}

func (p *prompt) help(context.Context, string) error {
	for _, c := range commands() {
		p.print(fmt.Sprintf("%-21s %s", strings.TrimSpace(c.name+" "+c.args), c.help))
	}
	return nil
}

func (p *prompt) open(ctx context.Context, rest string) error {
	u, err := p.url(rest)
	if err != nil {
		return err
	}
	r, err := p.look(ctx, u)
	if err != nil {
		return fmt.Errorf("open: %w", err)
	}
	p.next, p.record = u, r
	return p.page(ctx, "")
}

// url parses a URL, which may be relative to the page.
func (p *prompt) url(text string) (weburl.URL, error) {
	u, err := p.visit.URL.Resolve(text)
	if err != nil {
		return u, fmt.Errorf("%q is not a valid URL: %w", text, err)
	}
	return u, nil
}
