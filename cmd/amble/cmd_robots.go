package main

import (
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/alecthomas/kong"

	"github.com/amble-crawler/amble/cmd/amble/internal/ask"
	"github.com/amble-crawler/amble/cmd/amble/internal/explain"
	"github.com/amble-crawler/amble/cmd/amble/internal/keyflags"
	"github.com/amble-crawler/amble/cmd/amble/internal/operator"
	"github.com/amble-crawler/amble/consent"
	"github.com/amble-crawler/amble/internal/cli"
	"github.com/amble-crawler/amble/internal/safefile"
	"github.com/amble-crawler/amble/politeness"
	"github.com/amble-crawler/amble/robots"
	"github.com/amble-crawler/amble/weburl"
)

// robotsCmd is "amble robots".
type robotsCmd struct {
	URLs []string `arg:"" name:"url" help:"URLs to judge; - reads them from stdin, one a line."`

	File    string         `placeholder:"FILE" help:"Judge by this robots.txt, without requesting anything."`
	Dialect robots.Dialect `placeholder:"NAME" default:"rfc9309" help:"Read the file as rfc9309, original1994, draft1997, revisited1996 or strictest (${default})."`
	JSON    bool           `help:"One JSON object per URL."`
	configFlag
	kong.Plugins
}

// Help returns the beginning of the command's help.
func (*robotsCmd) Help() string {
	return `Examples:

	amble robots --contact me@university.edu https://site.to.crawl/search?q=1
	amble robots --file robots.txt --agent mybot https://my.site/private/
	amble robots --file robots.txt --json - <urls.txt

The file is requested once for each origin. Exit codes: 0 every URL was judged, whatever the verdict;
3 a robots.txt could not be fetched, which counts as a refusal for now.`
}

// Run executes the command.
func (c *robotsCmd) Run(a *app, o *keyflags.Origins) error {
	urls, err := c.urls(a.in)
	if err != nil {
		return err
	}
	judge, done, err := c.judge(a, o, urls)
	if err != nil {
		return err
	}
	defer done()
	var unheard []error
	for i, u := range urls {
		j, err := judge(u)
		if err != nil {
			unheard = append(unheard, fmt.Errorf("%s: %w", u.RobotsURL(), err))
		}
		if err := j.Print(a.out, c.JSON, i > 0); err != nil {
			return err
		}
	}
	if len(unheard) > 0 {
		return cli.Exit(cli.ExitNothing, errors.Join(unheard...))
	}
	return nil
}

func (c *robotsCmd) urls(stdin io.Reader) ([]weburl.URL, error) {
	var list []string
	for _, arg := range c.URLs {
		if arg != "-" {
			list = append(list, arg)
			continue
		}
		lines, err := operator.Lines(arg, stdin)
		if err != nil {
			return nil, cli.Usage("stdin: %w", err)
		}
		list = append(list, lines...)
	}
	if len(list) == 0 {
		return nil, cli.Usage("no URLs to judge: stdin had none")
	}
	return operator.URLs("URL", list)
}

// judge returns a function that judges a URL by a file or by requesting its robots.txt, and a function to be called at the end.
func (c *robotsCmd) judge(a *app, o *keyflags.Origins, urls []weburl.URL) (judge func(weburl.URL) (*explain.Judgement, error), done func(), err error) {
	cfg, err := o.Config()
	if err != nil {
		return nil, nil, err
	}
	name, err := operator.RobotsName(a.err, cfg.Crawl.Agent)
	if err != nil {
		return nil, nil, err
	}
	if d := cfg.Crawl.Politeness.Dialect; d != robots.RFC9309 { // the advice names the flag of amble explain
		c.Dialect = d
	}
	q := explain.Question{Agent: name, Dialect: c.Dialect, Policy: consent.Policy{Purposes: consent.Purposes()}}
	if c.File != "" {
		body, err := safefile.ReadNamed(c.File, safefile.Settings)
		return func(u weburl.URL) (*explain.Judgement, error) { return q.ByFile(u, c.File, body), nil }, func() {}, cli.UsageOf("--file: ", err)
	}
	if err := cfg.Access(&cfg.Crawl, urls...); err != nil {
		return nil, nil, keyflags.Errors(err)
	}
	cfg.Crawl.ShareMachine(cfg.State)
	a.warnAlone(&cfg.Crawl)
	client, err := ask.New(&cfg.Crawl, politeness.Config{}, urls)
	if err != nil {
		return nil, nil, err
	}
	return func(u weburl.URL) (*explain.Judgement, error) {
		info, err := client.Rules(context.Background(), u)
		return q.ByAnswer(u, info), err
	}, client.Close, nil
}
