package crawler

import (
	"slices"

	"github.com/amble-crawler/amble/frontier"
	"github.com/amble-crawler/amble/internal/hostmatch"
	"github.com/amble-crawler/amble/weburl"
)

// hostScope has the scope rules of an entry of Config.Hosts.
type hostScope struct {
	rules []compiledRule // for URLs
	types []compiledRule // for answers
	none  string         // the rule by which what no include matches is out
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

// scopeOf returns the rules for u's host, nil if there are none.
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

// judgeKind decides about a URL that the kind of scope includes. ok is false if no rule of the entry does.
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

// judgeType decides about an answer. ok is false if no rule of the entry does.
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

// wantsType reports whether an entry includes answers of a type, at least of some URLs.
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
