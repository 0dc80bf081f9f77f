package main

import (
	"context"
	"errors"
	"os"
	"strings"

	"github.com/alecthomas/kong"

	"github.com/amble-crawler/amble/cmd/amble/internal/ask"
	"github.com/amble-crawler/amble/cmd/amble/internal/keyflags"
	"github.com/amble-crawler/amble/cmd/amble/internal/operator"
	"github.com/amble-crawler/amble/cmd/amble/internal/shell"
	"github.com/amble-crawler/amble/cmd/amble/internal/terminal"
	"github.com/amble-crawler/amble/cmd/amble/internal/view"
	"github.com/amble-crawler/amble/crawler"
	"github.com/amble-crawler/amble/internal/cli"
	"github.com/amble-crawler/amble/weburl"
)

// shellCmd is "amble shell".
type shellCmd struct {
	Subject string `arg:"" type:"job" name:"url" help:"The page to look at; or a job directory with an archive, or a WARC file, and after it:"`
	Of      string `arg:"" optional:"" name:"of" help:"The page in it. Without one it is the first."`

	configFlag `group:"Who crawls:"`
	kong.Plugins
}

// Help returns the beginning of the command's help.
func (*shellCmd) Help() string {
	return `Examples:

	amble shell --contact me@university.edu https://site.to.crawl/page
	amble shell job https://site.to.crawl/page
	echo 'text h1' | amble shell crawl.warc.gz https://site.to.crawl/page

A page on the web is requested once, after its robots.txt. Then each line tries something on it: a CSS
selector, its links and what a crawl would do with them, whether a URL is in scope and allowed. Nothing
more is requested. "help" lists what can be tried.

Exit codes: 0 every line could be carried out; 2 some could not; 3 there is no such page.`
}

// Run executes the command.
func (c *shellCmd) Run(a *app, o *keyflags.Origins) error {
	stdout := a.out.Unwrap() // stdout itself, before the program's output is redirected
	s := shell.Shell{Out: a.out, Errs: a.err, In: shell.LinesOf(a.in)}
	var u weburl.URL
	var err error
	if strings.Contains(c.Subject, "://") {
		u, err = c.fetched(a, o, &s)
	} else {
		var done func() error
		if u, done, err = s.Open(c.Subject, c.Of, func() (crawler.Config, error) { return ask.PageConfig(o) }); done != nil {
			defer func() { _ = done() }() // opened only for reading
		}
	}
	if err != nil {
		return err
	}
	if in, ok := a.in.(*os.File); ok && terminal.Is(in) && terminal.Is(stdout) {
		s.Most, s.Greet = 50, true
		if a.dumb() {
			s.In = shell.Prompted(in, a.out)
		} else {
			t := shell.NewTerminal(in, stdout)
			defer a.onSignal(t.Leave)()
			s.In = t
		}
	}
	wrong, err := s.Run(context.Background(), u)
	var none *shell.PageError
	switch {
	case errors.As(err, &none):
		return cli.Exit(cli.ExitNothing, err)
	case err != nil:
		return err
	case wrong > 0 && !s.Greet:
		return cli.Exit(cli.ExitUsage, nil)
	}
	return nil
}

// fetched requests a page from the web, and stores it for the shell.
func (c *shellCmd) fetched(a *app, o *keyflags.Origins, s *shell.Shell) (weburl.URL, error) {
	u, err := operator.URL("URL", c.Subject)
	if err != nil {
		return u, err
	}
	if c.Of != "" {
		return u, cli.Usage("one page is looked at: the first of two arguments is a job directory or a WARC file")
	}
	cfg, err := ask.PageConfig(o)
	if err == nil {
		err = ask.PageAccess(o, &cfg, u)
	}
	if err != nil {
		return u, err
	}
	var had shell.Capture
	s.Crawl, s.Offline = cfg, had.Apply
	cfg.Fetch.Record, cfg.KeepRobots = true, had.Add
	return u, ask.Page(a.view(view.Flags{}), cfg, u, func(v *crawler.Visit) { _ = had.Add(v.Page) }) // Add never fails
}

// onSignal calls f when a signal is about to end the process, unless stop was called before.
func (a *app) onSignal(f func()) (stop func()) {
	signals, done := make(chan os.Signal, 1), make(chan struct{})
	a.notify(signals)
	go func() {
		defer close(done)
		if _, ok := <-signals; ok {
			f()
			a.exit(cli.ExitTerminated)
		}
	}()
	return func() {
		a.ignore(signals)
		close(signals)
		<-done
	}
}
