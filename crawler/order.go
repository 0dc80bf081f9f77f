package crawler

import (
	"fmt"
	"math/bits"
	"regexp"
	"runtime/debug"
	"slices"
	"strings"

	"github.com/amble-crawler/amble/crawler/draw"
	"github.com/amble-crawler/amble/frontier"
	"github.com/amble-crawler/amble/weburl"
)

// Order is the order in which the URLs of a host are requested, apart from priorities: [OrderFound], or one of
// [OrderHash].
type Order string

// OrderFound is the order in which URLs are found, which is nearly breadth first. It is the default.
const OrderFound Order = "found"

const orderHash = "hash:"

// maxSeed is the maximum length of the seed of a draw, in bytes.
const maxSeed = 64

// OrderHash returns the order by the tickets of URLs: draw.Ticket, with this seed, of the canonical form under Config.Canonical. Among
// the known URLs, a URL with a small ticket comes first, wherever it was found. Tickets are grouped in classes; within a class, URLs come
// in the order in which they are found. All known URLs whose tickets are below those of the remaining URLs have been requested, and these
// are a random sample of the known URLs. All other requested URLs were requested while fewer URLs were known, or belong to a class with
// URLs that remain. The seed is 1 to 64 bytes, without white space.
func OrderHash(seed string) Order { return Order(orderHash + seed) }

// Seed returns the seed of an order by [OrderHash]. ok is false for another order.
func (o Order) Seed() (seed string, ok bool) { return strings.CutPrefix(string(o), orderHash) }

// Validate returns an error if the order is unknown.
func (o Order) Validate() error {
	seed, hash := o.Seed()
	switch {
	case o == "" || o == OrderFound:
		return nil
	case !hash:
		return fmt.Errorf("crawler: order %q: want found, or hash:SEED", string(o))
	}
	return checkSeed(seed)
}

// checkSeed returns an error if the seed of a draw is invalid.
func checkSeed(seed string) error {
	if seed == "" || len(seed) > maxSeed || strings.ContainsFunc(seed, func(r rune) bool { return r <= ' ' || r == 0x7f || r == '\uFFFD' }) {
		return fmt.Errorf("crawler: the seed of a draw is 1 to %d bytes of text without white space, not %q", maxSeed, seed)
	}
	return nil
}

// classOf returns the class of a ticket, 0 to 240; lower tickets have higher classes. A class is a sixteenth of the tickets with the same
// number of leading zeros, so that it contains 3 to 6 percent of the tickets below its upper bound. Class 240 contains all tickets with
// 15 or more leading zeros.
func classOf(ticket uint64) int {
	zeros := bits.LeadingZeros64(ticket)
	if zeros >= 15 {
		return 240
	}
	next := ticket << (zeros + 1) >> 60 // the four bits after the first 1
	return 16*zeros + 15 - int(next)
}

// lowestClass is the priority of URLs in class 0; class 240 has priority 120.
const lowestClass = -120

// sitemapPriority returns the priority of sitemaps. It is the priority of links, so that sitemaps and pages of a host come in the order
// in which they are found; only the first sitemap in a robots.txt comes earlier. With an Order by hash it is the highest priority, so
// that all listed pages are known before the first page is requested.
func (c *Config) sitemapPriority() int8 {
	if _, ok := c.Order.Seed(); ok {
		return 127
	}
	return 0
}

// ordered returns the priority of u under the order. ok is false if the order sets none.
func (c *Config) ordered(u weburl.URL) (priority int8, ok bool) {
	seed, ok := c.Order.Seed()
	if !ok {
		return 0, false
	}
	return int8(lowestClass + classOf(draw.Ticket(seed, c.Canonical.Normal(u)))), true
}

// validateOrder returns an error if Order is invalid, or if other settings conflict with an order by hash.
func (c *Config) validateOrder() error {
	if err := c.Order.Validate(); err != nil {
		return &ConfigError{"Order", "is wrong: " + err.Error(), err}
	}
	if c.Priority != nil && c.Score != nil {
		return configError("Priority and Score are both set: a link has one of the two; leave out the other")
	}
	if _, ok := c.Order.Seed(); !ok {
		return nil
	}
	if len(c.Priorities) > 0 || c.Priority != nil || c.Score != nil || slices.ContainsFunc(c.Seeds, func(q Request) bool { return q.Priority != 0 || q.Score != 0 }) {
		return configError("Order is by hash, and there are priorities: the first pages of a host would be no random sample; leave out one of the two")
	}
	return nil
}

// PriorityRule gives a priority to URLs in which a regular expression (RE2 syntax) matches. The first rule of Config.Priorities that
// matches decides.
type PriorityRule struct {
	Pattern  string `json:"pattern" yaml:"pattern"`
	Priority int8   `json:"priority" yaml:"priority"`
}

// String returns the rule in the form of the command line: "/news/=10".
func (r PriorityRule) String() string { return fmt.Sprintf("%s=%d", r.Pattern, r.Priority) }

// Validate returns an error that contains the rule if its pattern is empty or not a regular expression.
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

// priorities decides the priorities of URLs.
type priorities struct {
	rules []PriorityRule
	res   []*regexp.Regexp // compiled patterns of the rules
	score func(*Visit, *Link) int8
	fine  func(*Visit, *Link) float64   // Config.Score
	order func(weburl.URL) (int8, bool) // Config.Order; nil for OrderFound
}

// newPriorities returns the priorities of a valid Config.
func newPriorities(c *Config) *priorities {
	p := &priorities{rules: c.Priorities, score: c.Priority, fine: c.Score}
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

// firm reports whether a URL's priority does not depend on the linking page, so that priorities are never raised.
func (p *priorities) firm() bool { return p.score == nil && p.fine == nil && len(p.rules) == 0 }

// rule returns the priority of u that Config.Order or Config.Priorities sets. ok is false if neither sets one.
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

// of returns the priority of a URL that no page links to: the priority that rule returns, or 0.
func (p *priorities) of(u weburl.URL) int8 {
	priority, _ := p.rule(u)
	return priority
}

// SeedRequest returns a function that makes the crawl's Request for a seed. Programs use it to queue seeds for crawls that run in other
// processes. The Config must be valid. The function is safe for concurrent use.
func (c Config) SeedRequest() func(u weburl.URL) frontier.Request {
	c = c.withDefaults()
	p := newPriorities(&c)
	return func(u weburl.URL) frontier.Request {
		return frontier.Request{URL: u, Kind: frontier.KindSeed, Priority: p.of(u)}
	}
}

// request returns the priority of u if the program asked for the priority want: want, or the ticket's priority if Config.Order is by
// hash.
func (p *priorities) request(u weburl.URL, want int8) int8 {
	if p.order == nil {
		return want
	}
	return p.of(u)
}

// link returns the priority and score of the link at index at of the visit's document, which leads to u and is about to be queued. A
// panic of Config.Priority or Config.Score fails the visit.
func (p *priorities) link(v *Visit, at int, u weburl.URL) (priority int8, score float64) {
	priority, ruled := p.rule(u)
	if p.fine == nil && (ruled || p.score == nil) || v.broken != nil {
		return priority, 0
	}
	name := "Config.Score"
	defer func() {
		if x := recover(); x != nil {
			v.broken = &PanicError{name, x, debug.Stack()}
		}
	}()
	l := &Link{Link: v.Doc.Links[at], URL: u, Fate: FateFollow}
	if p.fine != nil {
		return priority, p.fine(v, l)
	}
	name = "Config.Priority"
	return p.score(v, l), 0
}
