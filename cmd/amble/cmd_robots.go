package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/alecthomas/kong"

	"github.com/amble-crawler/amble/internal/cli"
	"github.com/amble-crawler/amble/internal/keyflags"
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
		if err := j.print(a.out, c.JSON, i > 0); err != nil {
			return err
		}
	}
	if len(unheard) > 0 {
		return cli.Exit(cli.ExitNothing, errors.Join(unheard...))
	}
	return nil
}

func (c *robotsCmd) urls(stdin io.Reader) ([]weburl.URL, error) {
	var texts []string
	for _, arg := range c.URLs {
		if arg != "-" {
			texts = append(texts, arg)
			continue
		}
		lines, err := readLines(arg, stdin)
		if err != nil {
			return nil, cli.Usage("stdin: %w", err)
		}
		texts = append(texts, lines...)
	}
	if len(texts) == 0 {
		return nil, cli.Usage("no URLs to judge: stdin had none")
	}
	return parseURLs("URL", texts)
}

// judge returns the function that judges a URL, either by a file or by requesting robots.txt, and a function to be
// called at the end.
func (c *robotsCmd) judge(a *app, o *keyflags.Origins, urls []weburl.URL) (judge func(weburl.URL) (*judgement, error), done func(), err error) {
	cfg, err := o.Config()
	if err != nil {
		return nil, nil, err
	}
	name, err := robotsName(a, cfg.Crawl.Agent)
	if err != nil {
		return nil, nil, err
	}
	q := question{name, c.Dialect}
	if c.File != "" {
		body, err := os.ReadFile(c.File)
		return func(u weburl.URL) (*judgement, error) { return q.offline(u, c.File, body), nil }, func() {}, cli.UsageOf("--file: ", err)
	}
	if err := cfg.Access(&cfg.Crawl, urls...); err != nil {
		return nil, nil, keyflags.Errors(err)
	}
	ask, err := newAsker(&cfg.Crawl, politeness.Config{}, urls)
	if err != nil {
		return nil, nil, err
	}
	return func(u weburl.URL) (*judgement, error) {
		info, err := ask.rules(context.Background(), u)
		return q.online(u, info), err
	}, ask.close, nil
}

// question says who crawls, and how the file is read.
type question struct {
	agent   string
	dialect robots.Dialect
}

// offline judges u by a file.
func (q question) offline(u weburl.URL, path string, body []byte) *judgement {
	src := robots.Source{RobotsURL: path, Status: 200}
	return q.judge(u, robots.Parse(body, robots.WithDialect(q.dialect), robots.WithOrigin(u.Origin())), src, robots.Obey)
}

// online judges u by what is known of the robots.txt of its origin.
func (q question) online(u weburl.URL, info politeness.OriginInfo) *judgement {
	if !info.Known {
		info.Source.RobotsURL = u.RobotsURL().String()
		return &judgement{
			URL: u.String(), Agent: q.agent, Dialect: q.dialect, Reason: politeness.ReasonRobotsUnreachable,
			Sitemaps: []string{}, Lints: []lint{}, Disagree: []string{},
			Explain: robots.Explain(robots.Unreachable.Verdict(), info.Source),
		}
	}
	if policy := info.Statuses.ForStatus(info.Source.Status); policy != robots.Obey { // the body is not a robots.txt
		j := q.judge(u, robots.Parse(nil), info.Source, policy)
		j.Lints = lints(info.Lints())
		return j
	}
	return q.judge(u, info.Rules.In(q.dialect), info.Source, robots.Obey)
}

// judge judges u by the rules or, if there are none, by what the status of the answer means.
func (q question) judge(u weburl.URL, rules *robots.Rules, src robots.Source, policy robots.Policy) *judgement {
	group := rules.For(q.agent)
	v := group.Test(u.PathQuery())
	if policy != robots.Obey && v.Reason != robots.RobotsFile {
		v = policy.Verdict()
	}
	j := &judgement{
		URL: u.String(), Agent: q.agent, Dialect: q.dialect, Allowed: v.Allowed, Reason: v.Reason.String(),
		Rule: v.Rule, Line: v.Line, GroupLine: v.GroupLine, Explain: robots.Explain(v, src),
		Sitemaps: weburl.Shown(rules.Sitemaps()), Lints: lints(rules.Lints()), Disagree: []string{}, group: group,
	}
	if d, ok := group.CrawlDelay(); ok {
		s := d.Seconds()
		j.CrawlDelay = &s
	}
	if d, ok := group.RequestRate(); ok {
		s := d.Seconds()
		j.RequestRate = &s
	}
	for _, d := range rules.Disagree(q.agent, u.PathQuery()) {
		j.Disagree = append(j.Disagree, d.String())
	}
	return j
}
