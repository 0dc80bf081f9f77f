package main

import (
	"context"
	"fmt"
	"net"
	"net/netip"
	"strings"
	"time"

	"github.com/alecthomas/kong"

	"github.com/amble-crawler/amble/cmd/amble/internal/ask"
	"github.com/amble-crawler/amble/cmd/amble/internal/keyflags"
	"github.com/amble-crawler/amble/cmd/amble/internal/operator"
	"github.com/amble-crawler/amble/consent"
	"github.com/amble-crawler/amble/identity"
	"github.com/amble-crawler/amble/internal/cli"
	"github.com/amble-crawler/amble/job"
	"github.com/amble-crawler/amble/politeness"
	"github.com/amble-crawler/amble/weburl"
)

// identityCmd is "amble identity".
type identityCmd struct {
	Action string `arg:"" enum:"init,publish,rotate,check,show" help:"init, publish, rotate, check or show."`
	Where  string `arg:"" name:"dir|url" help:"Folder of the identity; for check also a contact page."`

	Page           string   `placeholder:"URL" help:"The contact page: an https URL (--contact, where that is one)."`
	Operator       string   `placeholder:"NAME" help:"The person or organisation that answers."`
	Reach          []string `placeholder:"MAIL|URL" help:"Where a person answers (--contact, where that is a mail address)."`
	Why            string   `placeholder:"TEXT" help:"What the crawl is for, in a sentence or more."`
	Kept           string   `placeholder:"TEXT" help:"What is kept of the pages, how long, and who gets it."`
	Exceptions     string   `placeholder:"TEXT" help:"Where the crawl does not obey robots.txt, and why; a job's overrides, for example."`
	Addresses      []string `placeholder:"CIDR" help:"Address ranges that requests come from and that are yours alone."`
	SignatureAgent string   `placeholder:"URL" help:"What signed requests name, for verifiers of older drafts."`
	Compromised    bool     `help:"rotate: somebody else has the key. It leaves the key directory at once."`
	Served         bool     `help:"check: what is served on the web, not what is in the folder."`
	JSON           bool     `help:"check, show: print the result as JSON."`

	configFlag `group:"As in the crawl:"`
	kong.Plugins
}

// Help returns the beginning of the command's help.
func (*identityCmd) Help() string {
	return `Examples:

	amble identity init labbot --config job.yaml --operator "Web Lab" --why ...
	amble identity check labbot
	amble identity check --contact me@uni.edu https://lab.university.edu/crawl

init makes a folder with a key, and in public/ what sites look for: the contact page, the key directory,
the agent card and the list of addresses. They say what the job file says: agent, contact, purpose, delay, hours.
Upload public/, and nothing else. publish writes it again, rotate changes the key, check reads it as a
site would and names each defect, show prints where everything is. A crawl signs with
--sign DIR. Exit code 7: check found a defect.`
}

// Run executes the command.
func (c *identityCmd) Run(a *app, o *keyflags.Origins) error {
	cfg, err := o.Config()
	if err != nil {
		return err
	}
	now := time.Now()
	if c.Action == "check" && strings.Contains(c.Where, "://") {
		return c.checkPage(a, &cfg, now)
	}
	if c.Action == "init" {
		profile, err := c.profile(o, &cfg, identity.Profile{})
		if err != nil {
			return err
		}
		folder, err := identity.Init(c.Where, profile, now)
		if err != nil {
			return cli.UsageOf("", err)
		}
		return c.show(a, folder, now)
	}
	folder, err := identity.Open(c.Where)
	if err != nil {
		return cli.UsageOf("", err)
	}
	return c.manage(a, o, &cfg, folder, now)
}

// manage runs an operation on an existing folder.
func (c *identityCmd) manage(a *app, o *keyflags.Origins, cfg *job.Config, folder *identity.Folder, now time.Time) error {
	switch c.Action {
	case "publish":
		profile, err := c.profile(o, cfg, folder.Profile())
		if err != nil {
			return err
		}
		if err := folder.Publish(profile, now); err != nil {
			return cli.UsageOf("", err)
		}
	case "rotate":
		if err := folder.Rotate(now, c.Compromised); err != nil {
			return cli.UsageOf("", err)
		}
	case "check":
		return c.checkFolder(a, cfg, folder, now)
	}
	return c.show(a, folder, now)
}

// profile returns the profile to publish. Each field is taken from the flags, else from the crawl, else from the published profile.
func (c *identityCmd) profile(o *keyflags.Origins, cfg *job.Config, p identity.Profile) (identity.Profile, error) {
	x := &cfg.Crawl
	if o.Given("agent") || o.Given("contact") || p.UserAgent == "" {
		id, err := operator.PublicIdentity(x)
		if err != nil {
			return p, err
		}
		p.Product, p.UserAgent = id.Product, id.UserAgent()
		if strings.HasPrefix(x.Contact, "https://") {
			p.Page = x.Contact
		} else if x.Contact != "" && !strings.Contains(x.Contact, "://") {
			p.Contacts = []string{x.Contact}
		}
	}
	p.Delay, _ = x.Politeness.DelayFor(politeness.HostState{}) // the delay at hosts of other owners
	p.MaxCrawlDelay, p.PagesPerHost = max(0, x.Politeness.MaxCrawlDelay), int(max(0, x.Limits.PagesPerHost))
	if p.MaxCrawlDelay == politeness.Forever {
		p.MaxCrawlDelay = 0
	}
	if hours, ok := o.Settings().Get("hours"); ok {
		p.Hours = strings.Join(hours.Values, ", ")
	}
	if purposes, ok := o.Settings().Get("purpose"); ok && len(purposes.Values) > 0 && (o.Given("purpose") || p.Purpose == "") {
		p.Purpose = strings.Join(purposes.Values, ", ")
	} else if p.Purpose == "" {
		p.Purpose = consent.Research.String()
	}
	for _, f := range []struct {
		to   *string
		flag string
	}{{&p.Page, c.Page}, {&p.Operator, c.Operator}, {&p.Why, c.Why}, {&p.Kept, c.Kept}, {&p.Exceptions, c.Exceptions}, {&p.SignatureAgent, c.SignatureAgent}} {
		if f.flag != "" {
			*f.to = f.flag
		}
	}
	if len(c.Reach) > 0 {
		p.Contacts = c.Reach
	}
	if len(c.Addresses) > 0 {
		p.Addresses = nil
	}
	for _, text := range c.Addresses {
		prefix, err := netip.ParsePrefix(text)
		if addr, bare := netip.ParseAddr(text); bare == nil {
			prefix, err = netip.PrefixFrom(addr, addr.BitLen()), nil
		}
		if err != nil {
			return p, cli.Usage("--addresses: %q is not an address range, as in 198.51.100.16/30", text)
		}
		p.Addresses = append(p.Addresses, prefix)
	}
	p.Sign = cfg.SignMode
	return p, nil
}

// show prints the locations of all published files.
func (c *identityCmd) show(a *app, folder *identity.Folder, now time.Time) error {
	s := folder.Show(now)
	if c.JSON {
		return cli.PrintJSON(a.out, s)
	}
	_, err := fmt.Fprint(a.out, s.String())
	return err
}

// checkFolder checks the contents of the folder, or the files served from it.
func (c *identityCmd) checkFolder(a *app, cfg *job.Config, folder *identity.Folder, now time.Time) error {
	var get identity.Get
	if c.Served {
		if cfg.Crawl.Contact == "" {
			cfg.Crawl.Contact = folder.Profile().Page
		}
		var done func()
		var err error
		if get, done, err = c.polite(a, cfg, folder.Profile().Page); err != nil {
			return err
		}
		defer done()
	}
	r, err := folder.Check(context.Background(), get, net.DefaultResolver, now)
	return c.verdict(a, r, err)
}

// checkPage checks the published identity of any crawler, given its page.
func (c *identityCmd) checkPage(a *app, cfg *job.Config, now time.Time) error {
	get, done, err := c.polite(a, cfg, c.Where)
	if err != nil {
		return err
	}
	defer done()
	r, err := identity.Check(context.Background(), c.Where, identity.CheckConfig{Get: get, Resolve: net.DefaultResolver, Now: now})
	return c.verdict(a, r, err)
}

// polite returns a function that fetches politely: robots.txt first, one request at a time, with the same pauses as a crawl.
func (c *identityCmd) polite(a *app, cfg *job.Config, page string) (identity.Get, func(), error) {
	u, err := operator.URL("URL", page)
	if err != nil {
		return nil, nil, err
	}
	cfg.Crawl.ShareMachine(cfg.State)
	a.warnAlone(&cfg.Crawl)
	client, err := ask.New(&cfg.Crawl, cfg.Crawl.Politeness, []weburl.URL{u})
	if err != nil {
		return nil, nil, err
	}
	return func(ctx context.Context, at string) (*identity.Response, error) {
		u, err := weburl.Parse(at)
		if err != nil {
			return nil, err
		}
		page, err := client.Get(ctx, u, politeness.Page)
		if err != nil {
			return nil, err
		}
		return &identity.Response{Status: page.Status, Header: page.Header, Body: page.Body}, nil
	}, client.Close, nil
}

// verdict prints the result of a check.
func (c *identityCmd) verdict(a *app, r *identity.Report, err error) error {
	if err != nil {
		return cli.UsageOf("", err)
	}
	if c.JSON {
		err = cli.PrintJSON(a.out, r)
	} else {
		err = printCheck(a, r)
	}
	if err == nil && !r.OK() {
		err = cli.Exit(cli.ExitPoliteness, nil)
	}
	return err
}

// printCheck prints the result of a check for people.
func printCheck(a *app, r *identity.Report) error {
	var b strings.Builder
	for _, d := range r.Defects {
		kind := "advice"
		if d.Must {
			kind = "defect"
		}
		fmt.Fprintf(&b, "%s: %s\n", kind, cli.Printable(d.String()))
	}
	for _, n := range r.Notes {
		fmt.Fprintf(&b, "note: %s\n", cli.Printable(n))
	}
	fmt.Fprintf(&b, "%s read, %s to verify signatures with\n", cli.Plural(len(r.Checked), "file"), cli.Plural(len(r.Keys), "key"))
	_, err := a.out.Write([]byte(b.String()))
	return err
}
