package explain

import (
	"fmt"
	"html"
	"net/netip"
	"slices"
	"strings"
	"time"

	"github.com/amble-crawler/amble/crawler"
	"github.com/amble-crawler/amble/frontier"
	"github.com/amble-crawler/amble/internal/cli"
	"github.com/amble-crawler/amble/job"
	"github.com/amble-crawler/amble/politeness"
	"github.com/amble-crawler/amble/robots"
	"github.com/amble-crawler/amble/weburl"
)

// Explanation holds everything that can be known about a URL without crawling.
type Explanation struct {
	URL      string           `json:"url"`
	Normal   string           `json:"normal"`
	Key      string           `json:"key"`
	Host     string           `json:"host"`
	Domain   string           `json:"domain"`
	Origin   string           `json:"origin"`
	Fate     crawler.Fate     `json:"fate"`
	Rule     string           `json:"rule"` // the rule that has decided Fate
	Scope    crawler.Decision `json:"-"`
	First    string           `json:"priority,omitempty"` // the deciding rule of --priority
	Robots   *Judgement       `json:"robots"`             // null if no robots.txt was requested or read
	Delay    float64          `json:"delay_s"`
	Clause   string           `json:"delay_clause"`       // the clause that sets the delay
	Settings string           `json:"settings,omitempty"` // the entry of hosts that applies to the host
	Crawl    bool             `json:"crawl"`              // whether a crawl would request the URL
	Why      string           `json:"why"`
	Job      *job.Story       `json:"job,omitempty"` // what the job recorded about the URL
}

// New returns an Explanation with the facts that can be read from the URL u.
func New(u weburl.URL) *Explanation {
	return &Explanation{
		URL: u.String(), Normal: u.Normal(), Key: fmt.Sprintf("%x", u.Key()), Host: u.Host(), Domain: u.Domain(), Origin: u.Origin(),
	}
}

// Judge adds the decision of a crawler with this configuration: about a link to u, or about u if it is one of the seeds. Without seeds, u
// is the only seed. The error is about the configuration.
func (e *Explanation) Judge(cfg *crawler.Config, u weburl.URL, seeds []weburl.URL) error {
	isSeed := slices.Contains(seeds, u)
	if len(seeds) == 0 {
		seeds = []weburl.URL{u}
	}
	own, err := cfg.SeedScope(seeds...)
	if err != nil {
		return err
	}
	scope := crawler.Scope(own)
	if isSeed {
		scope = asSeed{own}
	}
	e.Scope = scope.JudgeKind(u, frontier.KindPage)
	if r, ok := cfg.PriorityRuleOf(u); ok {
		e.First = r.String()
	}
	link := fmt.Sprintf("<a href=\"%s\">", html.EscapeString(u.String()))
	p := Page{Base: u, Body: []byte(link), Scope: scope, Config: crawler.Config{Limits: crawler.Limits{Depth: crawler.Unlimited}}}
	return p.Judge(func(v *crawler.Visit) {
		for _, l := range v.Links() {
			e.Fate, e.Rule = l.Fate, l.Rule
		}
	})
}

// asSeed is a scope that judges every URL as a seed.
type asSeed struct{ *crawler.SeedScope }

// JudgeKind implements crawler.Scope.
func (s asSeed) JudgeKind(u weburl.URL, _ frontier.Kind) crawler.Decision {
	return s.SeedScope.JudgeKind(u, frontier.KindSeed)
}

// Recall adds what a job has recorded about u, and the verdict of the robots.txt that the job had then.
func (e *Explanation) Recall(r *job.Reader, u weburl.URL, q Question) (err error) {
	if e.Job, err = r.Explain(u); err != nil {
		return err
	}
	if known := e.Job.Robots; known != nil {
		e.Robots = q.ByAnswer(u, *known)
	}
	return nil
}

// SetDelay sets the delay of a host before its first request, after robots.txt was judged. The error is about cfg.
func (e *Explanation) SetDelay(cfg *crawler.Config, q Question) error {
	policy := cfg.Politeness
	policy.Identity, policy.Contactless, policy.HostDelays = politeness.Identity{Product: q.Agent}, true, cfg.HostDelays()
	if err := policy.Validate(); err != nil {
		return err
	}
	var rules *robots.Group
	if e.Robots != nil {
		rules = e.Robots.group
	}
	state := policy.HostState(e.Host, rules)
	if s, ok := cfg.SettingsOf()(e.Host, e.address()); ok {
		e.Settings = job.EntryText(&s)
		if usual, _ := policy.DelayFor(politeness.HostState{Exempt: true}); state.Entry == "" && s.Delay > usual { // the entry is for the address
			state.Operator = s.Delay
		}
	}
	d, clause := policy.DelayFor(state)
	e.Delay, e.Clause = d.Seconds(), clause
	return nil
}

// address returns the address of the job's last request to the host, the zero Addr if there was none.
func (e *Explanation) address() (addr netip.Addr) {
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

// Conclude sets whether a crawl would request the URL and, if not, the first of the reasons.
func (e *Explanation) Conclude() {
	if e.Job != nil && e.Job.Visit != nil {
		e.Crawl, e.Why = e.Job.Visit.Status > 0, e.Job.Visit.Outcome
		return
	}
	e.decide()
	if e.Job != nil {
		e.Why = e.Job.State + "; what a crawl would do: " + e.Why
	}
}

// decide sets the decision of a crawl that would find the URL now.
func (e *Explanation) decide() {
	switch {
	case e.Fate != crawler.FateFollow:
		e.Why = fmt.Sprintf("not requested: %s (%s)", e.Fate, e.Rule)
	case e.Robots != nil && e.Robots.Reason == politeness.ReasonRobotsUnreachable:
		e.Why = "not requested before robots.txt can be read"
	case e.Robots != nil && !e.Robots.Allowed:
		e.Why = "not requested: robots.txt refuses it"
	case e.Robots != nil && len(e.Robots.Refused) > 0:
		e.Why = "not requested: " + e.Robots.Refused[0].Why
	case e.Robots == nil:
		e.Crawl, e.Why = true, "requested, if robots.txt allows it"
	default:
		e.Crawl, e.Why = true, "requested"
	}
}

// Text returns the explanation as readable text.
func (e *Explanation) Text() string {
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
	line("scope", scopeText(e.Scope))
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

func scopeText(d crawler.Decision) string {
	switch {
	case d.Rule == "":
		return ""
	case d.In:
		return "in, by " + d.Rule
	}
	return "out, by " + d.Rule
}
