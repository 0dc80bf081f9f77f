package main

import (
	"context"
	"fmt"
	"html"
	"net/netip"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/alecthomas/kong"

	"github.com/amble-crawler/amble/crawler"
	"github.com/amble-crawler/amble/frontier"
	"github.com/amble-crawler/amble/internal/cli"
	"github.com/amble-crawler/amble/internal/keyflags"
	"github.com/amble-crawler/amble/job"
	"github.com/amble-crawler/amble/politeness"
	"github.com/amble-crawler/amble/robots"
	"github.com/amble-crawler/amble/weburl"
)

// explainCmd is "amble explain".
type explainCmd struct {
	Subject string `arg:"" name:"url" help:"The URL to explain; or a job directory, and after it:"`
	Of      string `arg:"" optional:"" name:"of" help:"The URL."`

	Seed    []string `sep:"none" group:"What a crawl would do:" placeholder:"URL" help:"Seed of the crawl, for its scope; may be repeated. Without one it is the URL itself."`
	Seeds   string   `short:"i" group:"What a crawl would do:" placeholder:"FILE" help:"Read further seeds, one a line; - is stdin."`
	File    string   `group:"What a crawl would do:" placeholder:"FILE" help:"Judge by this robots.txt, without requesting anything."`
	Offline bool     `group:"What a crawl would do:" help:"Request nothing: leave robots.txt out."`
	JSON    bool     `group:"What a crawl would do:" help:"Print one JSON object."`

	ForOwner bool   `group:"For the owner of a site:" help:"With a job directory alone: what the crawl did at --host, for its owner. --json: with the evidence, as JSON lines."`
	Host     string `group:"For the owner of a site:" placeholder:"HOST" help:"The host: its name, or host:port."`

	configFlag `group:"Who crawls:"`
	kong.Plugins

	cfg    crawler.Config
	access func() error // adds what sites are shown who gave access
	name   string       // the name that robots.txt is read for
}

// Help returns the beginning of the command's help.
func (*explainCmd) Help() string {
	return `Examples:

	amble explain --contact me@university.edu https://site.to.crawl/some/page
	amble explain job https://site.to.crawl/some/page
	amble explain --offline --seed https://site.to.crawl https://site.to.crawl/x
	amble explain job --host site.to.crawl --for-owner

For a job directory it tells how the URL was found, by which line of robots.txt it was judged, what each
request for it waited for, and its outcome; nothing is requested.

Without one, scope and traps are judged as for a link that a crawl finds, or for a seed if it is one; how deep it is found, and whether it was
found before, only a crawl can know.`
}

// Run executes the command.
func (c *explainCmd) Run(a *app, o *keyflags.Origins) error {
	if c.ForOwner || c.Host != "" {
		return c.forOwner(a)
	}
	dir, text := "", c.Subject
	if c.Of != "" {
		dir, text = c.Subject, c.Of
		if !job.Holds(dir) {
			return cli.Usage("%s is not a job directory that \"amble crawl -o\" made", dir)
		}
	}
	u, err := weburl.Parse(text)
	if err != nil {
		return c.print(a, &explanation{URL: text, Fate: crawler.FateInvalid, Rule: weburl.ReasonOf(err), Why: "never requested: " + badURL(text, err)})
	}
	seeds, err := c.seeds(o, a)
	if err != nil {
		return err
	}
	cfg, err := o.Config()
	if err != nil {
		return err
	}
	if c.cfg, err = cfg.Crawler(); err != nil {
		return keyflags.Errors(err)
	}
	c.access = func() error { return keyflags.Errors(cfg.Access(&c.cfg, u)) }
	if c.name, err = robotsName(a, c.cfg.Agent); err != nil {
		return err
	}
	e := newExplanation(u)
	if err := c.scopeOf(e, u, seeds); err != nil {
		return err
	}
	unheard, err := c.judge(e, dir, u)
	if err != nil {
		return err
	}
	e.conclude()
	if err := c.print(a, e); err != nil {
		return err
	}
	if unheard != nil {
		return cli.Exit(cli.ExitNothing, fmt.Errorf("%s: %w", u.RobotsURL(), unheard))
	}
	return nil
}

// judge adds what robots.txt says; for a job, what it said when the URL was judged.
func (c *explainCmd) judge(e *explanation, dir string, u weburl.URL) (unheard, err error) {
	if dir == "" {
		return c.robotsOf(e, u)
	}
	r, err := job.Read(dir)
	if err != nil {
		return nil, err
	}
	defer func() { _ = r.Close() }() // only read
	if e.Job, err = r.Explain(u); err != nil {
		return nil, err
	}
	if known := e.Job.Robots; known != nil {
		e.Robots = c.question().online(u, *known)
	}
	return nil, c.setDelay(e)
}

func (c *explainCmd) question() question { return question{c.name, c.cfg.Politeness.Dialect} }

// setDelay sets the delay to that of a host that has not been requested yet, after robots.txt was judged.
func (c *explainCmd) setDelay(e *explanation) error {
	policy := c.cfg.Politeness
	policy.Identity, policy.Contactless, policy.HostDelays = politeness.Identity{Product: c.name}, true, c.cfg.HostDelays()
	if err := policy.Validate(); err != nil {
		return cli.UsageOf("", err)
	}
	var rules *robots.Group
	if e.Robots != nil {
		rules = e.Robots.group
	}
	state := policy.HostState(e.Host, rules)
	if s, ok := c.cfg.SettingsOf()(e.Host, e.address()); ok {
		e.Settings = job.EntryText(&s)
		if usual, _ := policy.DelayFor(politeness.HostState{Exempt: true}); state.Entry == "" && s.Delay > usual { // by its address
			state.Operator = s.Delay
		}
	}
	d, clause := policy.DelayFor(state)
	e.Delay, e.Clause = d.Seconds(), clause
	return nil
}

// seeds returns the seeds of the crawl in question, or none if none were named.
func (c *explainCmd) seeds(o *keyflags.Origins, a *app) ([]weburl.URL, error) {
	list := c.Seed
	if len(list) == 0 {
		list = o.File().URLs()
	}
	if len(list) == 0 {
		list = o.Job().URLs()
	}
	if c.Seeds != "" {
		lines, err := readLines(c.Seeds, a.in)
		if err != nil {
			return nil, cli.Usage("--seeds: %w", err)
		}
		list = append(list[:len(list):len(list)], lines...)
	}
	return parseURLs("seed", list)
}

// scopeOf lets a crawler judge a link to u, or u as one of its seeds.
func (c *explainCmd) scopeOf(e *explanation, u weburl.URL, seeds []weburl.URL) error {
	isSeed := slices.Contains(seeds, u)
	if len(seeds) == 0 {
		seeds = []weburl.URL{u}
	}
	own, err := c.cfg.SeedScope(seeds...)
	if err != nil {
		return cli.UsageOf("", err)
	}
	scope := crawler.Scope(own)
	if isSeed {
		scope = asSeed{own}
	}
	e.Scope = scope.Decide(u)
	if r, ok := c.cfg.PriorityRuleOf(u); ok {
		e.First = r.String()
	}
	s := staged{base: u, scope: scope, cfg: crawler.Config{Limits: crawler.Limits{Depth: crawler.None}}}
	page := fmt.Sprintf("<a href=\"%s\">", html.EscapeString(u.String()))
	return s.judge([]byte(page), func(v *crawler.Visit) {
		for _, l := range v.Links() {
			e.Fate, e.Rule = l.Fate, l.Rule
		}
	})
}

// asSeed judges every URL as a seed.
type asSeed struct{ *crawler.SeedScope }

// Decide implements crawler.Scope.
func (s asSeed) Decide(u weburl.URL) crawler.Decision { return s.JudgeKind(u, frontier.KindSeed) }

// robotsOf adds the verdict of robots.txt and the delay in force. unheard is the reason why no robots.txt could be
// fetched.
func (c *explainCmd) robotsOf(e *explanation, u weburl.URL) (unheard, err error) {
	q := c.question()
	switch {
	case c.File != "":
		body, err := os.ReadFile(c.File)
		if err != nil {
			return nil, cli.UsageOf("--file: ", err)
		}
		e.Robots = q.offline(u, c.File, body)
		return nil, c.setDelay(e)
	case c.Offline:
		return nil, c.setDelay(e)
	}
	if err := c.access(); err != nil {
		return nil, err
	}
	ask, err := newAsker(&c.cfg, c.cfg.Politeness, []weburl.URL{u})
	if err != nil {
		return nil, err
	}
	defer ask.close()
	info, unheard := ask.rules(context.Background(), u)
	e.Robots = q.online(u, info)
	h := ask.gate.Host(u.Host())
	e.Delay, e.Clause = h.Delay.Seconds(), h.Clause
	if s, ok := c.cfg.SettingsOf()(u.Host(), addressFor(ask, u)); ok {
		e.Settings = job.EntryText(&s)
	}
	return unheard, nil
}

func (c *explainCmd) print(a *app, e *explanation) error {
	if c.JSON {
		return cli.PrintJSON(a.out, e)
	}
	_, err := a.out.Write([]byte(e.text()))
	return err
}

// explanation is everything that is known about a URL without a crawl.
type explanation struct {
	URL      string           `json:"url"`
	Normal   string           `json:"normal"`
	Key      string           `json:"key"`
	Host     string           `json:"host"`
	Domain   string           `json:"domain"`
	Origin   string           `json:"origin"`
	Fate     crawler.Fate     `json:"fate"`
	Rule     string           `json:"rule"` // what decided Fate
	Scope    crawler.Decision `json:"-"`
	First    string           `json:"priority,omitempty"` // the rule of --priority that decides
	Robots   *judgement       `json:"robots"`             // null when none was requested
	Delay    float64          `json:"delay_s"`
	Clause   string           `json:"delay_clause"`       // what sets the delay
	Settings string           `json:"settings,omitempty"` // the entry of hosts that holds for the host
	Crawl    bool             `json:"crawl"`              // a crawl would request it
	Why      string           `json:"why"`
	Job      *job.Story       `json:"job,omitempty"` // what a job says happened to the URL
}

func newExplanation(u weburl.URL) *explanation {
	return &explanation{
		URL: u.String(), Normal: u.Normal(), Key: fmt.Sprintf("%x", u.Key()), Host: u.Host(), Domain: u.Domain(), Origin: u.Origin(),
	}
}

// addressFor returns the address of u's host, the zero Addr if it has none.
func addressFor(ask *asker, u weburl.URL) netip.Addr {
	addr, err := ask.fetcher.Resolve(context.Background(), u)
	if err != nil {
		return netip.Addr{}
	}
	return addr
}

// address returns the address of the job's last request to the host, the zero Addr if there was none.
func (e *explanation) address() (addr netip.Addr) {
	if e.Job == nil {
		return addr
	}
	for i := range e.Job.Requests {
		if start := &e.Job.Requests[i].Start; start.Host == e.Host {
			addr, _ = netip.ParseAddr(start.Addr)
		}
	}
	return addr
}

// conclude sets whether a crawl would request the URL and, if not, the first reason why.
func (e *explanation) conclude() {
	if e.Job != nil && e.Job.Visit != nil {
		e.Crawl, e.Why = e.Job.Visit.Status > 0, e.Job.Visit.Outcome
		return
	}
	e.decide()
	if e.Job != nil {
		e.Why = e.Job.State + "; what a crawl would do: " + e.Why
	}
}

// decide sets what a crawl that found the URL now would do with it.
func (e *explanation) decide() {
	switch {
	case e.Fate != crawler.FateFollow:
		e.Why = fmt.Sprintf("not requested: %s (%s)", e.Fate, e.Rule)
	case e.Robots != nil && e.Robots.Reason == politeness.ReasonRobotsUnreachable:
		e.Why = "not requested before robots.txt can be read"
	case e.Robots != nil && !e.Robots.Allowed:
		e.Why = "not requested: robots.txt refuses it"
	case e.Robots == nil:
		e.Crawl, e.Why = true, "requested, if robots.txt allows it"
	default:
		e.Crawl, e.Why = true, "requested"
	}
}

func scopeDecision(d crawler.Decision) string {
	switch {
	case d.Rule == "":
		return ""
	case d.In:
		return "in, by " + d.Rule
	}
	return "out, by " + d.Rule
}

func (e *explanation) text() string {
	var b strings.Builder
	line := func(name, value string) {
		if value != "" {
			fmt.Fprintf(&b, "  %-8s %s\n", name, cli.Printable(value))
		}
	}
	fmt.Fprintf(&b, "%s\n", cli.Printable(e.URL))
	line("verdict", e.Why)
	if e.Normal != e.URL {
		line("normal", e.Normal)
	}
	line("key", e.Key)
	if e.Host != "" {
		line("host", fmt.Sprintf("%s, domain %s, origin %s", e.Host, e.Domain, e.Origin))
	}
	if e.Job != nil {
		storyText(e.Job, line)
	}
	line("scope", scopeDecision(e.Scope))
	if e.First != "" {
		line("priority", e.First)
	}
	if e.Robots != nil {
		text := strings.TrimSuffix(e.Robots.text("           "), "\n")
		fmt.Fprintf(&b, "  %-8s %s\n", "robots", strings.TrimLeft(text, " "))
	}
	if e.Clause != "" {
		line("settings", e.Settings)
		line("delay", fmt.Sprintf("%v between requests to the host (%s)", time.Duration(e.Delay*float64(time.Second)), e.Clause))
	}
	return b.String()
}
