package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"strings"

	"github.com/alecthomas/kong"

	"github.com/amble-crawler/amble/cmd/amble/internal/ask"
	"github.com/amble-crawler/amble/cmd/amble/internal/explain"
	"github.com/amble-crawler/amble/cmd/amble/internal/keyflags"
	"github.com/amble-crawler/amble/cmd/amble/internal/operator"
	"github.com/amble-crawler/amble/crawler"
	"github.com/amble-crawler/amble/internal/cli"
	"github.com/amble-crawler/amble/internal/safefile"
	"github.com/amble-crawler/amble/job"
	"github.com/amble-crawler/amble/weburl"
)

// explainCmd is "amble explain".
type explainCmd struct {
	Subject string   `arg:"" type:"job" name:"url" help:"The URL to explain; or a job directory, and after it:"`
	Of      []string `arg:"" optional:"" name:"of" help:"The URL."`

	Seed    []string `sep:"none" group:"What a crawl would do:" placeholder:"URL" help:"Seed of the crawl, for its scope; may be repeated. Without one it is the URL itself."`
	Seeds   string   `short:"i" group:"What a crawl would do:" placeholder:"FILE" help:"Read further seeds, one a line; - is stdin."`
	File    string   `group:"What a crawl would do:" placeholder:"FILE" help:"Judge by this robots.txt, without requesting anything."`
	Offline bool     `group:"What a crawl would do:" help:"Request nothing: leave robots.txt out."`
	Robots  bool     `group:"What a crawl would do:" help:"Judge URLs by robots.txt alone; - reads them from stdin."`
	JSON    bool     `group:"What a crawl would do:" help:"Print one JSON object."`

	Links bool   `group:"What a page has:" help:"List the links of a page, a URL or an HTML file."`
	Base  string `group:"What a page has:" placeholder:"URL" help:"With --links: address of the page in a file."`
	Shell bool   `group:"What a page has:" help:"Try selectors, links and rules on a page: a URL, or a job or WARC file and after it a URL."`

	ForOwner bool   `group:"For the owner of a site:" help:"With a job directory alone: what the crawl did at --host, for its owner. --json: with the evidence, as JSON lines."`
	Host     string `group:"For the owner of a site:" placeholder:"HOST" help:"The host: its name, or host:port."`

	configFlag `group:"Who crawls:"`
	kong.Plugins

	cfg crawler.Config
}

// Help returns the beginning of the command's help.
func (*explainCmd) Help() string {
	return `Examples:

	amble explain job https://site.to.crawl/some/page
	amble explain --robots --file robots.txt https://my.site/private/
	amble explain --links --contact me@university.edu https://site.to.crawl/page
	amble explain job --host site.to.crawl --for-owner

For a job directory it tells how the URL was found, by which line of robots.txt it was judged, what each
request for it waited for, and its outcome; nothing is requested. Without one it is judged as a link that a crawl finds.

With --robots it prints for each URL whether robots.txt allows it, and the line that decides.
Exit code 3: a robots.txt could not be fetched.

With --links each line says what a crawl from the page would do with a link, and why. With --shell each line
tries something on the page: "help" lists what.`
}

// Run executes the command.
func (c *explainCmd) Run(a *app, o *keyflags.Origins) error {
	of := ""
	if len(c.Of) > 0 {
		of = c.Of[0]
	}
	switch {
	case c.Links && c.Shell, c.Robots && (c.Links || c.Shell):
		return cli.Usage("--robots, --links and --shell: give one of them")
	case c.Robots:
		return (&robotsCmd{URLs: append([]string{c.Subject}, c.Of...), File: c.File, JSON: c.JSON}).Run(a, o)
	case len(c.Of) > 1:
		return cli.Usage("one URL is explained at a time; only --robots judges several")
	case c.Links && of != "":
		return cli.Usage("--links reads one page: give its URL or its file alone, without a job")
	case c.Base != "" && !c.Links:
		return cli.Usage("--base is the address of a page that --links reads from a file: add --links, or leave it out")
	case c.Links:
		return (&linksCmd{Page: c.Subject, Base: c.Base, JSON: c.JSON}).Run(a, o)
	case c.Shell:
		return (&shellCmd{Subject: c.Subject, Of: of}).Run(a, o)
	}
	if c.ForOwner || c.Host != "" {
		return c.forOwner(a)
	}
	dir, text := "", c.Subject
	if of != "" {
		dir, text = c.Subject, of
		if !job.Holds(dir) {
			return notJob(a, dir)
		}
	}
	u, err := weburl.Parse(text)
	if err != nil {
		return c.print(a, &explain.Explanation{URL: text, Fate: crawler.FateInvalid, Rule: weburl.ReasonOf(err), Why: "never requested: " + operator.Wrong(text, err)})
	}
	seeds, err := operator.PerhapsSeeds(o, c.Seed, c.Seeds, a.in)
	if err != nil {
		return err
	}
	cfg, err := o.Config()
	if err != nil {
		return err
	}
	if c.cfg, err = crawlerOf(dir, &cfg); err != nil {
		return keyflags.Errors(err)
	}
	name, err := operator.RobotsName(a.err, c.cfg.Agent)
	if err != nil {
		return err
	}
	e, q := explain.New(u), explain.Question{Agent: name, Dialect: c.cfg.Politeness.Dialect, Policy: c.cfg.Politeness.Policy()}
	if err := e.Judge(&c.cfg, u, seeds); err != nil {
		return cli.UsageOf("", err)
	}
	unheard, err := c.judge(e, dir, u, q, func() error {
		c.cfg.ShareMachine(cfg.State)
		a.warnAlone(&c.cfg)
		return keyflags.Errors(cfg.Access(&c.cfg, u))
	})
	if err != nil {
		return err
	}
	e.Conclude()
	if err := c.print(a, e); err != nil {
		return err
	}
	if unheard != nil {
		return cli.Exit(cli.ExitNothing, fmt.Errorf("%s: %w", u.RobotsURL(), unheard))
	}
	return nil
}

// crawlerOf returns the configuration of a crawl, or of the job in a directory.
func crawlerOf(dir string, cfg *job.Config) (crawler.Config, error) {
	if dir == "" {
		return cfg.Crawler()
	}
	r, err := job.Read(dir)
	if err != nil {
		return crawler.Config{}, err
	}
	defer func() { _ = r.Close() }() // opened only for reading
	return r.Crawler(cfg)
}

// judge adds the verdict of robots.txt and the present delay; for a job, the verdict when the URL was judged. access adds the credentials
// for the site. unheard is the error of fetching robots.txt, nil if it was fetched.
func (c *explainCmd) judge(e *explain.Explanation, dir string, u weburl.URL, q explain.Question, access func() error) (unheard, err error) {
	switch {
	case dir != "":
		r, err := job.Read(dir)
		if err != nil {
			return nil, err
		}
		defer func() { _ = r.Close() }() // opened only for reading
		if err := e.Recall(r, u, q); err != nil {
			return nil, err
		}
	case c.File != "":
		body, err := safefile.ReadNamed(c.File, safefile.Settings)
		if err != nil {
			return nil, cli.UsageOf("--file: ", err)
		}
		e.Robots = q.ByFile(u, c.File, body)
	case !c.Offline:
		if err := access(); err != nil {
			return nil, err
		}
		return c.ask(e, u, q)
	}
	return nil, cli.UsageOf("", e.SetDelay(&c.cfg, q))
}

// ask requests robots.txt, and adds its verdict.
func (c *explainCmd) ask(e *explain.Explanation, u weburl.URL, q explain.Question) (unheard, err error) {
	client, err := ask.New(&c.cfg, c.cfg.Politeness, []weburl.URL{u})
	if err != nil {
		return nil, err
	}
	defer client.Close()
	info, unheard := client.Rules(context.Background(), u)
	e.Robots = q.ByAnswer(u, info)
	h := client.Gate.Host(u.Host())
	e.Delay, e.Clause = h.Delay.Seconds(), h.Clause
	addr, _ := client.Fetcher.Resolve(context.Background(), u) // after an error, no entry matches by address
	if s, ok := c.cfg.SettingsOf()(u.Host(), addr); ok {
		e.Settings = job.EntryText(&s)
	}
	return unheard, nil
}

func (c *explainCmd) print(a *app, e *explain.Explanation) error {
	if c.JSON {
		return cli.PrintJSON(a.out, e)
	}
	_, err := a.out.Write([]byte(e.Text()))
	return err
}

// forOwner writes an account of a crawl at a host, for the host's owner.
func (c *explainCmd) forOwner(a *app) error {
	if !c.ForOwner || c.Host == "" || len(c.Of) > 0 {
		return cli.Usage("--for-owner and --host go together, with a job directory: amble explain job --host site.to.crawl --for-owner")
	}
	if !job.Holds(c.Subject) {
		return notJob(a, c.Subject)
	}
	r, err := job.Read(c.Subject)
	if err != nil {
		return err
	}
	defer func() { _ = r.Close() }() // opened only for reading
	host := strings.ToLower(c.Host)
	account, err := r.Account(host)
	if err != nil {
		return err
	}
	if len(account.Requests) == 0 {
		return cli.Exit(cli.ExitNothing, fmt.Errorf("%s has no request to %s", c.Subject, host))
	}
	if c.JSON {
		if err := json.NewEncoder(a.out).Encode(account); err != nil {
			return err
		}
		return r.Evidence(host, a.out)
	}
	q, cfg, err := explain.QuestionOf(a.err, r)
	if err != nil {
		return err
	}
	return explain.Account(a.out, r, account, q, cfg.Contact)
}

func notJob(a *app, dir string) error {
	if err := findManifest(dir); errors.Is(err, fs.ErrPermission) {
		return cli.Usage("%w", err)
	}
	return cli.Usage("%s is not a job directory that \"amble crawl -o\" made%s", dir, a.meant())
}
