package crawler

import (
	"fmt"
	"regexp"
	"strings"

	"github.com/amble-crawler/amble/weburl"
)

// Scope decides which URLs belong to a crawl. Decide is pure and called concurrently, for every
// link, redirect target and seed.
type Scope interface {
	Decide(u weburl.URL) Decision
}

// Decision is a Scope's answer, with the rule that gave it.
type Decision struct {
	In   bool
	Rule string
}

// ScopeKind is how far a crawl may go from its seeds.
type ScopeKind string

// The kinds of scope.
const (
	ScopeHost   ScopeKind = "host"   // the seeds' hosts; "www." in front makes no other host
	ScopeDomain ScopeKind = "domain" // the seeds' registrable domains (public suffix list)
	ScopePrefix ScopeKind = "prefix" // below the seeds' directories
	ScopeAny    ScopeKind = "any"    // everywhere; needs an explicit limit
)

// ScopeRule takes URLs in or out by a regular expression (RE2 syntax) over the whole URL.
type ScopeRule struct {
	Exclude bool   `json:"exclude,omitempty" yaml:"exclude,omitempty"`
	Pattern string `json:"pattern" yaml:"pattern"`
}

// SeedScope is the Scope made from seeds, a kind and ordered rules: the kind decides first, then the
// last rule that matches overrules everything before it. A rule cannot take in a URL the kind leaves
// out unless the kind is ScopeAny: an include narrows or restores, it never widens.
type SeedScope struct {
	kind  ScopeKind
	names map[string]bool // hosts, domains or prefixes
	rules []compiledRule
}

type compiledRule struct {
	ScopeRule
	re *regexp.Regexp
}

// NewSeedScope makes the Scope of a crawl. The error names the rule or kind that is wrong.
func NewSeedScope(kind ScopeKind, rules []ScopeRule, seeds ...weburl.URL) (*SeedScope, error) {
	s := &SeedScope{kind: kind, names: make(map[string]bool, len(seeds))}
	switch kind {
	case ScopeHost, ScopeDomain, ScopePrefix, ScopeAny:
	default:
		return nil, fmt.Errorf("crawler: scope %q: must be host, domain, prefix or any", kind)
	}
	for _, r := range rules {
		re, err := regexp.Compile(r.Pattern)
		if err != nil {
			return nil, fmt.Errorf("crawler: scope rule %q: %w", r.Pattern, err)
		}
		s.rules = append(s.rules, compiledRule{r, re})
	}
	for _, u := range seeds {
		s.names[s.name(u)] = true
	}
	return s, nil
}

// name is what of u the kind compares.
func (s *SeedScope) name(u weburl.URL) string {
	switch s.kind {
	case ScopeHost:
		return hostName(u)
	case ScopeDomain:
		return u.Domain()
	case ScopePrefix:
		p := u.Path()
		return hostName(u) + p[:strings.LastIndexByte(p, '/')+1]
	}
	return ""
}

// hostName tells hosts apart for scope: by name and, where it is not a scheme's default, port.
// http and https of one name are one host, as sites move between them by redirect.
func hostName(u weburl.URL) string {
	name := strings.TrimPrefix(u.Hostname(), "www.")
	if p := u.Port(); p != "80" && p != "443" {
		name += ":" + p
	}
	return name
}

// Decide implements Scope.
func (s *SeedScope) Decide(u weburl.URL) Decision {
	d := Decision{In: s.within(u), Rule: "scope " + string(s.kind)}
	if !d.In {
		return d
	}
	for i := len(s.rules) - 1; i >= 0; i-- {
		if r := s.rules[i]; r.re.MatchString(u.String()) {
			return Decision{In: !r.Exclude, Rule: r.String()}
		}
	}
	if s.narrowed() {
		return Decision{In: false, Rule: "no include rule matches"}
	}
	return d
}

// narrowed reports whether the rules begin with an include: then what no rule names is out.
func (s *SeedScope) narrowed() bool { return len(s.rules) > 0 && !s.rules[0].Exclude }

// String is the rule as a person would write it.
func (r ScopeRule) String() string {
	if r.Exclude {
		return "exclude " + r.Pattern
	}
	return "include " + r.Pattern
}

func (s *SeedScope) within(u weburl.URL) bool {
	if s.kind != ScopePrefix {
		return s.names[s.name(u)]
	}
	h := hostName(u) + u.Path()
	for i := len(h); i > 0; i = strings.LastIndexByte(h[:i], '/') {
		if i < len(h) && s.names[h[:i+1]] {
			return true
		}
	}
	return false
}
