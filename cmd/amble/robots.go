package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/netip"
	"os"
	"strings"
	"time"

	"github.com/amble-crawler/amble/fetcher"
	"github.com/amble-crawler/amble/politeness"
	"github.com/amble-crawler/amble/robots"
	"github.com/amble-crawler/amble/weburl"
)

// robotsCmd is "amble robots".
type robotsCmd struct {
	URLs    []string       `arg:"" name:"url" help:"URLs to judge; - reads them from stdin, one a line."`
	File    string         `placeholder:"FILE" help:"Judge by this robots.txt, without asking anybody."`
	Dialect robots.Dialect `placeholder:"NAME" default:"rfc9309" help:"Read the file as rfc9309, original1994, draft1997, revisited1996 or strictest (${default})."`
	Agent   string         `placeholder:"NAME/VERSION" default:"${agent}" help:"The robot that asks (${default})."`
	Contact string         `placeholder:"URL|MAIL" help:"Where site owners reach you. Not needed with --file or on loopback."`
	JSON    bool           `help:"One JSON object per URL."`
}

// judgement is one line of "amble robots --json".
type judgement struct {
	URL        string         `json:"url"`
	Agent      string         `json:"agent"`
	Dialect    robots.Dialect `json:"dialect"`
	Allowed    bool           `json:"allowed"`
	Reason     string         `json:"reason"`
	Rule       string         `json:"rule"`
	Line       int            `json:"line"`
	GroupLine  int            `json:"group_line"`
	CrawlDelay *float64       `json:"crawl_delay_s"`
	Sitemaps   []string       `json:"sitemaps"`
	Lints      []robots.Lint  `json:"lints"`
	Disagree   []string       `json:"disagree"` // dialects that decide otherwise
	Explain    string         `json:"explain"`
}

// Run executes the command.
func (c *robotsCmd) Run(a *app) error {
	urls, err := c.urls(a.in)
	if err != nil {
		return err
	}
	judge := c.offline
	if c.File == "" {
		ask, err := newAsker(c.Agent, c.Contact, urls)
		if err != nil {
			return err
		}
		defer ask.fetcher.Close()
		judge = func(u weburl.URL) (*judgement, error) { return c.online(ask, u) }
	}
	for i, u := range urls {
		j, err := judge(u)
		if err != nil {
			return err
		}
		if err := c.print(a.out, j, i > 0); err != nil {
			return &exitError{exitOutput, err}
		}
	}
	return nil
}

func (c *robotsCmd) urls(stdin io.Reader) ([]weburl.URL, error) {
	var raws []string
	for _, raw := range c.URLs {
		if raw != "-" {
			raws = append(raws, raw)
			continue
		}
		lines, err := readLines("-", stdin)
		if err != nil {
			return nil, err
		}
		raws = append(raws, lines...)
	}
	urls := make([]weburl.URL, len(raws))
	for i, raw := range raws {
		u, err := weburl.Parse(raw)
		if err != nil {
			return nil, usage("%q is no URL to judge (%s): write it in full, for example https://site.to.ask/page", raw, weburl.ReasonOf(err))
		}
		urls[i] = u
	}
	return urls, nil
}

// offline judges by a file.
func (c *robotsCmd) offline(u weburl.URL) (*judgement, error) {
	body, err := os.ReadFile(c.File)
	if err != nil {
		return nil, usage("robots.txt: %w", err)
	}
	src := robots.Source{RobotsURL: c.File, Status: 200}
	return c.judge(u, robots.Parse(body, robots.WithDialect(c.Dialect), robots.WithOrigin(u.Origin())), src), nil
}

// online judges by the file of u's origin, asked for as a crawl would.
func (c *robotsCmd) online(ask *asker, u weburl.URL) (*judgement, error) {
	info, err := ask.rules(u)
	if err != nil {
		return nil, err
	}
	if !info.Known {
		return &judgement{
			URL: u.String(), Agent: c.token(), Dialect: c.Dialect, Reason: politeness.ReasonRobotsUnreachable,
			Explain: "refused for now: " + robots.Explain(robots.Verdict{}, info.Source),
		}, nil
	}
	rules := info.Rules
	if rules == nil {
		rules = robots.Parse(nil)
	}
	return c.judge(u, rules.In(c.Dialect), info.Source), nil
}

func (c *robotsCmd) token() string { return robots.ProductToken(c.Agent) }

func (c *robotsCmd) judge(u weburl.URL, rules *robots.Rules, src robots.Source) *judgement {
	group := rules.For(c.token())
	v := group.Test(u.PathQuery())
	j := &judgement{
		URL: u.String(), Agent: c.token(), Dialect: c.Dialect, Allowed: v.Allowed, Reason: v.Reason.String(),
		Rule: v.Rule, Line: v.Line, GroupLine: v.GroupLine, Sitemaps: rules.Sitemaps(), Lints: rules.Lints(),
		Explain: robots.Explain(v, src),
	}
	if d, ok := group.CrawlDelay(); ok {
		s := d.Seconds()
		j.CrawlDelay = &s
	}
	for _, d := range robots.Dialects() {
		if d != c.Dialect && rules.In(d).For(c.token()).Test(u.PathQuery()).Allowed != v.Allowed {
			j.Disagree = append(j.Disagree, d.String())
		}
	}
	return j
}

func (c *robotsCmd) print(w io.Writer, j *judgement, more bool) error {
	if c.JSON {
		b, err := json.Marshal(j)
		if err == nil {
			_, err = fmt.Fprintf(w, "%s\n", b)
		}
		return err
	}
	var b strings.Builder
	if more {
		b.WriteByte('\n')
	}
	fmt.Fprintf(&b, "%s\n  %s\n", j.URL, j.Explain)
	if j.CrawlDelay != nil {
		fmt.Fprintf(&b, "  crawl-delay: %gs\n", *j.CrawlDelay)
	}
	for _, s := range j.Sitemaps {
		fmt.Fprintf(&b, "  sitemap: %s\n", s)
	}
	for _, l := range j.Lints {
		fmt.Fprintf(&b, "  lint: %s\n", l)
	}
	if len(j.Disagree) > 0 {
		fmt.Fprintf(&b, "  decided otherwise by: %s\n", strings.Join(j.Disagree, ", "))
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// asker asks for robots.txt files through a gate, as a crawl does.
type asker struct {
	gate    *politeness.Gate
	fetcher *fetcher.Fetcher
}

func newAsker(agent, contact string, urls []weburl.URL) (*asker, error) {
	name, version, _ := strings.Cut(agent, "/")
	named := map[string]bool{}
	local := true
	for _, u := range urls {
		named[u.Hostname()] = true
		local = local && isLoopback(u)
	}
	g, err := politeness.NewGate(politeness.Config{
		Identity:    politeness.Identity{Product: name, Version: version, Contact: contact},
		Contactless: contact == "" && local, RobotsGiveUp: 10 * time.Second,
	})
	if err != nil {
		return nil, &exitError{exitUsage, err}
	}
	f, err := fetcher.New(fetcher.Config{AllowHosts: func(h string) bool { return named[h] }})
	return &asker{g, f}, err
}

func isLoopback(u weburl.URL) bool {
	addr, err := netip.ParseAddr(u.Hostname())
	return u.Hostname() == "localhost" || err == nil && addr.IsLoopback()
}

// rules asks until the rules of u's origin are known, or cannot be had.
func (k *asker) rules(u weburl.URL) (politeness.OriginInfo, error) {
	ctx := context.Background()
	for {
		next := k.gate.Next(u)
		if next == u {
			return k.gate.Origin(u), nil
		}
		addr, err := k.fetcher.Resolve(ctx, next)
		if err != nil {
			return politeness.OriginInfo{}, &exitError{exitNothing, err}
		}
		p, err := k.gate.Admit(politeness.Ask{URL: u, Next: next, Addr: addr})
		var wait *politeness.NotYet
		var denied *politeness.Denied
		switch {
		case errors.As(err, &wait):
			time.Sleep(time.Until(wait.Until))
			continue
		case errors.As(err, &denied):
			return k.gate.Origin(u), nil
		case err != nil:
			return politeness.OriginInfo{}, err
		}
		page, err := k.fetcher.Fetch(ctx, p)
		if err != nil {
			k.gate.Report(p, fetcher.ReplyForError(err))
			return politeness.OriginInfo{}, &exitError{exitNothing, err}
		}
		k.gate.Report(p, page.Reply())
	}
}
