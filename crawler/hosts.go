package crawler

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"net/netip"
	"slices"
	"sync/atomic"
	"time"

	"github.com/amble-crawler/amble/fetcher"
	"github.com/amble-crawler/amble/frontier"
	"github.com/amble-crawler/amble/politeness"
	"github.com/amble-crawler/amble/weburl"
	"github.com/amble-crawler/amble/weburl/hostmatch"
)

// HostSettings is an entry of [Config].Hosts: settings of the hosts that Match describes. Only the first entry that matches a host
// applies to it: for fields that this entry does not set, the host is treated like one without an entry. Budgets apply to each host
// separately.
type HostSettings struct {
	// Match is a host name ("www.site.test", at any port, or "www.site.test:8080"), a domain with all names below it ("*.site.test",
	// which includes site.test), or a range of addresses ("192.0.2.0/24", or a single address). A range applies to hosts that no entry
	// matches by name. A host's name is known before its address, so entries for ranges must come after entries for names, and cannot have
	// Header or Rules.
	Match string
	// Delay is the minimum time between the end of one request to a host and the start of the next, instead of Politeness.Delay. Only
	// hosts in Politeness.OwnHosts may have a shorter delay. For a range, the delay applies to each request to an address in it. 0:
	// Politeness.Delay; NoDelay: only for own hosts.
	Delay time.Duration

	// Budgets of each host. URLs beyond a budget are [Deferred], with [ReasonHostBudget]. For a range, budgets apply to hosts that had an
	// address in it when the crawl first met them.
	Pages Limit         // fetched pages; never exceeded. 0: Limits.PagesPerHost; Unlimited
	Bytes Limit         // body bytes received; requests in flight when it is reached are completed. 0: Unlimited
	Time  time.Duration // from the host's first request to the last claim of its URLs; time between runs does not count. 0: Forever

	// Header has fields that are sent only to these hosts: a redirect or a link to another host is requested without them. They are
	// sent to every port and scheme that Match includes; use Fetch.Headers for secrets of a single origin. Archives mask the
	// values. Fetch.Headers and Fetch.Request take precedence.
	Header http.Header
	// Rules take precedence over those of Scope: if one of Rules matches, it decides. As in Scope, the last match wins, and if the first
	// rule is an include, URLs that no rule matches are out of scope.
	Rules []ScopeRule
}

// ofEntry is the prefix of the names of rules and budgets of entries.
const ofEntry = "hosts "

// SettingsOf returns a function that returns the entry of Hosts that applies to a host (weburl.URL.Host) with this address; ok is
// false if there is none. If the address is unknown (the zero Addr), no entry of a range applies. The function may be called
// concurrently. If the Config is not valid, no entry applies.
func (c Config) SettingsOf() func(host string, addr netip.Addr) (h HostSettings, ok bool) {
	t, err := newHostTable(c.Hosts)
	return func(host string, addr netip.Addr) (h HostSettings, ok bool) {
		if t == nil || err != nil {
			return h, false
		}
		i := t.table.Host(host)
		if i == hostmatch.None {
			i = t.table.Addr(addr)
		}
		if i == hostmatch.None {
			return h, false
		}
		return t.entries[i], true
	}
}

// HostDelays returns the value of Politeness.HostDelays for a gate that enforces the delays of Hosts.
func (c Config) HostDelays() []politeness.HostDelay {
	if len(c.Hosts) == 0 {
		return c.Politeness.HostDelays
	}
	all := make([]politeness.HostDelay, len(c.Hosts))
	for i, h := range c.Hosts {
		all[i] = politeness.HostDelay{Match: h.Match, Delay: h.Delay}
	}
	return all
}

// validateHosts reports the errors in c.Hosts. Errors of patterns and delays are reported elsewhere.
func (c *Config) validateHosts() error {
	var errs []error
	for i := range c.Hosts {
		h := &c.Hosts[i]
		bad := func(ok bool, format string, args ...any) {
			if !ok {
				errs = append(errs, &ConfigError{Field: fmt.Sprintf("Hosts[%d]", i), Problem: "(" + h.Match + "): " + fmt.Sprintf(format, args...)})
			}
		}
		bad(h.Pages.Valid(Unlimited), "Pages is %d: must be 1 or more, or Unlimited", h.Pages)
		bad(h.Bytes.Valid(Unlimited), "Bytes is %d: must be 1 or more, or Unlimited", h.Bytes)
		bad(h.Time >= 0, "Time is %v: must not be negative", h.Time)
		ranged := hostmatch.IsRange(h.Match)
		bad(!ranged || len(h.Rules) == 0, "has Rules, and whether a link belongs to the crawl is decided before the address of its host is known: name hosts or domains")
		bad(!ranged || len(h.Header) == 0, "has a Header, which whoever points a name at such an address would get: name hosts or domains")
		bad(len(h.Rules) == 0 || c.Scope.Custom == nil, "has Rules, and Scope.Custom decides alone")
		bad(len(h.Header) == 0 || c.Fetcher == nil, "has a Header, which a Fetcher of your own does not send: set it there")
		for _, r := range h.Rules {
			err := r.Validate()
			bad(err == nil, "%v", err)
		}
		for _, name := range slices.Sorted(maps.Keys(h.Header)) {
			for _, value := range h.Header[name] {
				err := fetcher.CheckField(name, value)
				bad(err == nil, "Header: %v", err)
			}
		}
	}
	return errors.Join(errs...)
}

// ofHosts splits the errors joined in err, and converts those about HostDelays to errors about Hosts.
func (c *Config) ofHosts(err error) (errs []error) {
	if joined, ok := err.(interface{ Unwrap() []error }); ok {
		for _, e := range joined.Unwrap() {
			errs = append(errs, c.ofHosts(e)...)
		}
		return errs
	}
	var delay *politeness.HostDelayError
	if len(c.Hosts) > 0 && errors.As(err, &delay) {
		err = &ConfigError{Field: fmt.Sprintf("Hosts[%d]", delay.Index), Problem: "(" + delay.Match + "): " + delay.Problem, Err: err}
	}
	return append(errs, err)
}

// hostTable holds the entries of Config.Hosts during a run. A nil table is empty. It is safe for concurrent use.
type hostTable struct {
	table   *hostmatch.Table
	entries []HostSettings
	scopes  []hostScope
	met     []atomic.Bool // by entry: whether it has matched a host of the crawl
	located bool          // an entry for a range of addresses has budgets
	counted bool          // an entry limits bytes or time
}

// newHostTable makes a table of entries.
func newHostTable(entries []HostSettings) (*hostTable, error) {
	if len(entries) == 0 {
		return nil, nil
	}
	t := &hostTable{entries: slices.Clone(entries), scopes: make([]hostScope, len(entries)), met: make([]atomic.Bool, len(entries))}
	patterns := make([]string, len(entries))
	for i := range t.entries {
		h := &t.entries[i]
		patterns[i] = h.Match
		t.located = t.located || hostmatch.IsRange(h.Match) && (h.Pages != 0 || h.Bytes != 0 || h.Time != 0)
		t.counted = t.counted || h.Bytes > 0 || h.Time > 0
		if err := t.scopes[i].add(h); err != nil {
			return nil, err
		}
	}
	var err error
	t.table, err = hostmatch.Compile(patterns)
	return t, err
}

// named returns the index of the entry that matches a host (weburl.URL.Host) by name, or hostmatch.None.
func (t *hostTable) named(host string) int {
	if t == nil {
		return hostmatch.None
	}
	return t.meet(t.table.Host(host))
}

// meet records that the entry at index i matches a host of the crawl, and returns i.
func (t *hostTable) meet(i int) int {
	if i != hostmatch.None && !t.met[i].Load() {
		t.met[i].Store(true)
	}
	return i
}

// metAt records the match of the entry for the address at which a host was requested.
func (t *hostTable) metAt(host string, addr netip.Addr) {
	if t != nil && t.named(host) == hostmatch.None {
		t.meet(t.table.Addr(addr))
	}
}

// unmet returns the Match of every entry that no host of the crawl matched.
func (t *hostTable) unmet() []string { return t.whose(false) }

// matches returns the Match of every entry that matched a host, for recall.
func (t *hostTable) matches() []string { return t.whose(true) }

// whose returns the Match of every entry that matched a host of the crawl (met), or of every entry that matched no host.
func (t *hostTable) whose(met bool) (matches []string) {
	if t == nil {
		return nil
	}
	for i := range t.entries {
		if t.met[i].Load() == met {
			matches = append(matches, t.entries[i].Match)
		}
	}
	return matches
}

// recall restores which entries matched hosts in earlier runs.
func (t *hostTable) recall(matches []string) {
	if t == nil {
		return
	}
	for i := range t.entries {
		if slices.Contains(matches, t.entries[i].Match) {
			t.met[i].Store(true)
		}
	}
}

// header returns the header fields that Config.Hosts adds to a request, or nil.
func (t *hostTable) header(u weburl.URL) http.Header {
	if i := t.named(u.Host()); i != hostmatch.None {
		return t.entries[i].Header
	}
	return nil
}

// HostRequest returns the value of Fetch.Request for a Fetcher that sends the header fields of Hosts, or nil if there are none.
func (c Config) HostRequest() func(context.Context, weburl.URL) (http.Header, error) {
	t, err := newHostTable(c.Hosts)
	if err != nil { // Validate reports this error
		return c.Fetch.Request
	}
	return t.request(&c.Fetch)
}

// request returns the value of fetcher.Config.Request with the header fields of entries added. Those of fc take precedence.
func (t *hostTable) request(fc *fetcher.Config) func(context.Context, weburl.URL) (http.Header, error) {
	other, headers := fc.Request, fc.Headers
	if t == nil || !slices.ContainsFunc(t.entries, func(h HostSettings) bool { return len(h.Header) > 0 }) {
		return other
	}
	return func(ctx context.Context, u weburl.URL) (http.Header, error) {
		h := http.Header{}
		put := func(more http.Header) {
			for name, values := range more {
				h[http.CanonicalHeaderKey(name)] = values
			}
		}
		put(t.header(u))
		put(headers[u.Origin()])
		if other == nil {
			return h, nil
		}
		more, err := other(ctx, u)
		put(more)
		return h, err
	}
}

// hostScope holds the scope rules of an entry of Config.Hosts.
type hostScope struct {
	rules []compiledRule // rules about URLs
	types []compiledRule // rules about media types of responses
	none  string         // name of the rule that excludes URLs that no include matches
}

func (s *hostScope) add(h *HostSettings) error {
	s.none = ofEntry + h.Match + ": " + ruleNoInclude
	for _, r := range h.Rules {
		c, err := r.compile()
		if err != nil {
			return err
		}
		c.name = ofEntry + h.Match + ": " + c.name
		if len(c.Types) > 0 {
			s.types = append(s.types, c)
		} else {
			s.rules = append(s.rules, c)
		}
	}
	return nil
}

// scopeOf returns the scope rules that Config.Hosts has for u's host, or nil.
func (t *hostTable) scopeOf(u weburl.URL) *hostScope {
	if t == nil {
		return nil
	}
	i := t.named(u.Host())
	if i == hostmatch.None || len(t.scopes[i].rules)+len(t.scopes[i].types) == 0 {
		return nil
	}
	return &t.scopes[i]
}

// judgeKind applies the rules of a host's entry to a URL. ok is false if they leave the decision to the scope.
func (s *hostScope) judgeKind(u weburl.URL, kind frontier.Kind) (d Decision, ok bool) {
	if s == nil {
		return d, false
	}
	if d, ok = lastOf(s.rules, func(r *compiledRule) bool { return r.matches(u) && r.concerns(kind) }); ok {
		return d, true
	}
	if narrowed(s.rules) && kind != frontier.KindSeed {
		return Decision{Rule: s.none}, true
	}
	return d, false
}

// judgeType applies the rules of a host's entry to the media type of a response. ok is false if they leave the decision to the scope.
func (s *hostScope) judgeType(u weburl.URL, mediaType string) (d Decision, ok bool) {
	if s == nil {
		return d, false
	}
	if d, ok = lastOf(s.types, func(r *compiledRule) bool { return r.typed(mediaType) && r.matches(u) }); ok {
		return d, true
	}
	return Decision{Rule: s.none}, narrowed(s.types)
}

// lastOf returns the decision of the last rule that matches.
func lastOf(rules []compiledRule, matches func(*compiledRule) bool) (d Decision, ok bool) {
	for i := len(rules) - 1; i >= 0; i-- {
		if r := &rules[i]; matches(r) {
			return Decision{In: !r.Exclude, Rule: r.name, Firm: r.Exclude}, true
		}
	}
	return d, false
}

// wantsType reports whether some entry includes responses of a media type, at least for some URLs.
func (t *hostTable) wantsType(mediaType string) bool {
	return t != nil && slices.ContainsFunc(t.scopes, func(s hostScope) bool {
		return slices.ContainsFunc(s.types, func(r compiledRule) bool { return !r.Exclude && r.typed(mediaType) })
	})
}

// SeedScope returns the scope of a crawl with these seeds: that of NewSeedScope, and the rules in Hosts.
func (c Config) SeedScope(seeds ...weburl.URL) (*SeedScope, error) {
	hosts, err := newHostTable(c.Hosts)
	if err != nil {
		return nil, err
	}
	return c.seedScope(hosts, seeds...)
}

func (c *Config) seedScope(hosts *hostTable, seeds ...weburl.URL) (*SeedScope, error) {
	s, err := NewSeedScope(or(c.Scope.Kind, ScopeHost), c.Scope.Rules, seeds...)
	if err == nil {
		s.hosts = hosts
	}
	return s, err
}
