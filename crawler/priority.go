package crawler

import (
	"fmt"
	"regexp"
	"runtime/debug"

	"github.com/amble-crawler/amble/weburl"
)

// PriorityRule gives the URLs that match a regular expression (RE2 syntax), anywhere in the URL, a priority. The first
// rule of Config.Priorities that matches decides.
type PriorityRule struct {
	Pattern  string `json:"pattern" yaml:"pattern"`
	Priority int8   `json:"priority" yaml:"priority"`
}

// String returns the rule as the command takes it: "/news/=10".
func (r PriorityRule) String() string { return fmt.Sprintf("%s=%d", r.Pattern, r.Priority) }

// Validate reports a pattern that is empty or no regular expression, with the rule.
func (r PriorityRule) Validate() error {
	_, err := r.compile()
	return err
}

func (r PriorityRule) compile() (*regexp.Regexp, error) {
	if r.Pattern == "" {
		return nil, fmt.Errorf("crawler: priority rule %q: no pattern", r)
	}
	re, err := regexp.Compile(r.Pattern)
	if err != nil {
		return nil, fmt.Errorf("crawler: priority rule %q: %w", r, err)
	}
	return re, nil
}

// PriorityRuleOf returns the rule of c.Priorities that decides about u. ok is false if none does.
func (c *Config) PriorityRuleOf(u weburl.URL) (r PriorityRule, ok bool) {
	for _, r := range c.Priorities {
		if re, err := r.compile(); err == nil && re.MatchString(u.String()) {
			return r, true
		}
	}
	return r, false
}

// priorities decide about the priorities of URLs.
type priorities struct {
	rules []PriorityRule
	res   []*regexp.Regexp // of the rules
	score func(*Visit, *Link) int8
	order func(weburl.URL) (int8, bool) // Config.Order; nil if it is the one in which URLs are found
}

// newPriorities makes the priorities of a Config that is valid.
func newPriorities(c *Config) *priorities {
	p := &priorities{rules: c.Priorities, score: c.Priority}
	if _, ok := c.Order.Seed(); ok {
		p.order = c.ordered
	}
	for _, r := range c.Priorities {
		p.res = append(p.res, regexp.MustCompile(r.Pattern))
	}
	return p
}

// none reports whether every link has the same priority.
func (p *priorities) none() bool { return p.firm() && p.order == nil }

// firm reports whether a URL has the same priority whichever page names it, so that none is raised.
func (p *priorities) firm() bool { return p.score == nil && len(p.rules) == 0 }

// rule returns the priority of u by the order or the rules.
func (p *priorities) rule(u weburl.URL) (priority int8, ok bool) {
	if p.order != nil {
		return p.order(u)
	}
	for i, re := range p.res {
		if re.MatchString(u.String()) {
			return p.rules[i].Priority, true
		}
	}
	return 0, false
}

// of returns the priority of a URL that no page names: 0 without a rule.
func (p *priorities) of(u weburl.URL) int8 {
	priority, _ := p.rule(u)
	return priority
}

// request returns the priority of u for which a program wants another: with a Config.Order by hash it is that of the order.
func (p *priorities) request(u weburl.URL, want int8) int8 {
	if p.order == nil {
		return want
	}
	return p.of(u)
}

// link returns the priority of the link at an index, which leads to u and is about to be queued. A panic of
// Config.Priority fails the visit.
func (p *priorities) link(v *Visit, at int, u weburl.URL) (priority int8) {
	if priority, ok := p.rule(u); ok || p.score == nil || v.broken != nil {
		return priority
	}
	defer func() {
		if x := recover(); x != nil {
			v.broken = &PanicError{"Config.Priority", x, debug.Stack()}
		}
	}()
	return p.score(v, &Link{Link: v.Doc.Links[at], URL: u, Fate: FateFollow})
}
