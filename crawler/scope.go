package crawler

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/amble-crawler/amble/frontier"
	"github.com/amble-crawler/amble/weburl"
)

// Scope decides which URLs belong to a crawl, and which responses are kept. Its methods must be pure; they are called concurrently. A
// Scope that does not exclude media types embeds [EveryType].
type Scope interface {
	// JudgeKind decides about a link, redirect target or seed. kind says where the URL was found.
	JudgeKind(u weburl.URL, kind frontier.Kind) Decision
	// JudgeType decides about a response by its media type (lower case, without parameters; "" if it is unknown). The visit of an
	// excluded response has the outcome OutOfScope and the reason "type", and archives do not keep the response. The response is not
	// parsed and its links are not followed, unless it is HTML and the Decision is not Firm: so a crawl that keeps only PDF files finds
	// them. Robots.txt, sitemaps and redirects are not judged.
	JudgeType(u weburl.URL, mediaType string) Decision
	// WantsType returns false if JudgeType excludes responses of a media type for every URL. Bodies of such responses are not read
	// completely.
	WantsType(mediaType string) bool
}

// EveryType implements the methods of [Scope] for responses: it keeps all of them.
type EveryType struct{}

// JudgeType implements Scope.
func (EveryType) JudgeType(weburl.URL, string) Decision { return Decision{In: true} }

// WantsType implements Scope.
func (EveryType) WantsType(string) bool { return true }

// Decision is the decision of a Scope, with the rule that decided.
type Decision struct {
	In   bool
	Rule string
	// Firm prevents Config.Scope.Beyond from including a URL. It is set if a rule forbids the URL explicitly.
	Firm bool
}

// ScopeKind is the kind of a scope: the part of the web around the seeds that a crawl may visit.
type ScopeKind string

// The kinds of scopes.
const (
	ScopeHost   ScopeKind = "host"   // the seeds' hosts; a leading "www." is ignored
	ScopeDomain ScopeKind = "domain" // the seeds' registrable domains (public suffix list)
	ScopePrefix ScopeKind = "prefix" // everything below the seeds' directories
	ScopeAny    ScopeKind = "any"    // everywhere; needs an explicit limit
)

// SeedScope is the Scope made from seeds, a kind and ordered rules: the kind decides first, then the last rule that matches overrides
// everything before it. An include rule restores URLs that an earlier rule excludes, but not those that the kind excludes. If the first
// rule is an include, URLs that no rule matches are out of scope, except seeds: include rules select the links to follow, while seeds are
// always wanted. Exclude rules apply to seeds, too.
//
// A sitemap is not a page: it is read anywhere on a host that the kind includes, unless an exclude rule matches it. The URLs that it
// lists are judged like pages.
//
// Rules with Types form a separate list, in the same order, and judge responses: a response that none of them matches is in scope, unless
// the first of them is an include.
type SeedScope struct {
	kind  ScopeKind
	name  string          // name of the kind when it is reported as a rule
	names map[string]bool // hosts or domains
	dirs  map[string]map[string]bool
	rules []compiledRule // rules about URLs
	types []compiledRule // rules about responses
	hosts *hostTable     // rules of entries of Config.Hosts
}

type compiledRule struct {
	ScopeRule
	name string
	re   *regexp.Regexp // nil matches every URL
}

// NewSeedScope makes the Scope of a crawl. The error names the invalid rule or kind.
func NewSeedScope(kind ScopeKind, rules []ScopeRule, seeds ...weburl.URL) (*SeedScope, error) {
	s := &SeedScope{kind: kind, name: "scope " + string(kind), names: map[string]bool{}, dirs: map[string]map[string]bool{}}
	switch kind {
	case ScopeHost, ScopeDomain, ScopePrefix, ScopeAny:
	default:
		return nil, fmt.Errorf("crawler: scope %q: must be host, domain, prefix or any", kind)
	}
	for _, r := range rules {
		c, err := r.compile()
		if err != nil {
			return nil, err
		}
		if len(c.Types) > 0 {
			s.types = append(s.types, c)
		} else {
			s.rules = append(s.rules, c)
		}
	}
	for _, u := range seeds {
		s.include(u)
	}
	return s, nil
}

// include adds to the scope the part of a seed's URL that the kind compares.
func (s *SeedScope) include(u weburl.URL) {
	switch s.kind {
	case ScopeHost:
		s.names[hostName(u)] = true
	case ScopeDomain:
		s.names[u.Domain()] = true
	case ScopePrefix:
		host, path := hostName(u), u.Path()
		if s.dirs[host] == nil {
			s.dirs[host] = map[string]bool{}
		}
		s.dirs[host][path[:strings.LastIndexByte(path, '/')+1]] = true
	}
}

// hostName returns the host and port of a URL in the form in which scopes compare them: without "www." and without a default port. So
// http and https URLs of one name have one host, because sites redirect from one scheme to the other.
func hostName(u weburl.URL) string {
	name := strings.TrimPrefix(u.Authority(), "www.")
	if bare, ok := strings.CutSuffix(name, ":80"); ok {
		return bare
	}
	return strings.TrimSuffix(name, ":443")
}

// Decide decides about u as a page: rules for certain kinds of links do not apply.
func (s *SeedScope) Decide(u weburl.URL) Decision { return s.JudgeKind(u, frontier.KindPage) }

// JudgeKind implements Scope.
func (s *SeedScope) JudgeKind(u weburl.URL, kind frontier.Kind) Decision {
	within := s.within(u)
	if d, ok := s.hosts.scopeOf(u).judgeKind(u, kind); ok && (within || d.Firm) {
		return d
	}
	for i := len(s.rules) - 1; i >= 0; i-- {
		r := &s.rules[i]
		if !r.matches(u) || !r.concerns(kind) {
			continue
		}
		if !within && !r.Exclude {
			break
		}
		return Decision{In: !r.Exclude, Rule: r.name, Firm: r.Exclude}
	}
	switch {
	case !within:
		return Decision{Rule: s.name}
	case narrowed(s.rules) && kind != frontier.KindSeed:
		return Decision{Rule: ruleNoInclude}
	}
	return Decision{In: true, Rule: s.name}
}

const (
	ruleNoInclude = "no include rule matches"
	ruleNoType    = "media type not kept"
)

// narrowed reports whether the first rule is an include. If so, URLs or responses that no rule matches are out of scope.
func narrowed(rules []compiledRule) bool { return len(rules) > 0 && !rules[0].Exclude }

// JudgeType implements Scope.
func (s *SeedScope) JudgeType(u weburl.URL, mediaType string) Decision {
	if d, ok := s.hosts.scopeOf(u).judgeType(u, mediaType); ok {
		return d
	}
	if d, ok := lastOf(s.types, func(r *compiledRule) bool { return r.typed(mediaType) && r.matches(u) }); ok {
		return d
	}
	if narrowed(s.types) {
		return Decision{Rule: ruleNoType}
	}
	return Decision{In: true, Rule: s.name}
}

// WantsType implements Scope.
func (s *SeedScope) WantsType(mediaType string) bool {
	if s.hosts.wantsType(mediaType) {
		return true
	}
	for i := len(s.types) - 1; i >= 0; i-- {
		switch r := &s.types[i]; {
		case !r.typed(mediaType):
		case !r.Exclude:
			return true
		case r.re == nil:
			return false
		}
	}
	return !narrowed(s.types) || isHTML(mediaType)
}

// within reports whether the scope kind includes u, before any rule is applied.
func (s *SeedScope) within(u weburl.URL) bool {
	switch s.kind {
	case ScopeHost:
		return s.names[hostName(u)]
	case ScopeDomain:
		return s.underSeed(u.Hostname()) && s.names[u.Domain()]
	case ScopePrefix:
		dirs, path := s.dirs[hostName(u)], u.Path()
		for i := len(path); dirs != nil && i > 0; {
			i = strings.LastIndexByte(path[:i], '/')
			if i >= 0 && dirs[path[:i+1]] {
				return true
			}
		}
		return false
	}
	return true
}

// reaches reports whether the scope kind includes u. With ScopePrefix, it is enough that a seed is on u's host.
func (s *SeedScope) reaches(u weburl.URL) bool {
	if s.kind == ScopePrefix {
		return s.dirs[hostName(u)] != nil
	}
	return s.within(u)
}

// underSeed reports whether a host is a seed's domain or a subdomain of one. This check is cheap, and makes most look-ups in the public
// suffix list unnecessary.
func (s *SeedScope) underSeed(host string) bool {
	host = strings.TrimSuffix(host, ".")
	for {
		if s.names[host] {
			return true
		}
		dot := strings.IndexByte(host, '.')
		if dot < 0 {
			return false
		}
		host = host[dot+1:]
	}
}

// ScopeRule includes or excludes URLs, or responses. The last matching rule of a list decides.
type ScopeRule struct {
	Exclude bool `json:"exclude,omitempty" yaml:"exclude,omitempty"`
	// Pattern is a regular expression (RE2 syntax) that is matched against the whole URL. "", which needs Kinds or Types, matches every
	// URL.
	Pattern string `json:"pattern" yaml:"pattern"`
	// Kinds are the kinds of links to which the rule applies. Empty: all.
	Kinds []frontier.Kind `json:"kinds,omitempty" yaml:"kinds,omitempty"`
	// Types are media types, such as "application/pdf" or "image/*". A rule with Types judges responses, not URLs, and cannot have
	// Kinds.
	Types []string `json:"types,omitempty" yaml:"types,omitempty"`
}

// Validate returns an error if the rule is invalid.
func (r ScopeRule) Validate() error {
	_, err := r.compile()
	return err
}

// compile compiles the rule's pattern. The error contains the rule.
func (r ScopeRule) compile() (compiledRule, error) {
	c := compiledRule{ScopeRule: r, name: r.String()}
	bad := func(format string, args ...any) (compiledRule, error) {
		return c, fmt.Errorf("crawler: scope rule %q: "+format, append([]any{r.Pattern}, args...)...)
	}
	switch {
	case r.Pattern == "" && len(r.Kinds)+len(r.Types) == 0:
		return bad("no pattern, kinds or types")
	case len(r.Kinds) > 0 && len(r.Types) > 0:
		return bad("kinds are of links and types of answers: make two rules")
	}
	c.Kinds = slices.Clone(r.Kinds)
	for _, k := range r.Kinds {
		if err := checkKind(k); err != nil {
			return bad("%w", err)
		}
	}
	c.Types = make([]string, len(r.Types))
	for i, t := range r.Types {
		main, sub, _ := strings.Cut(t, "/")
		if main == "" || sub == "" || strings.ContainsAny(t, " ;,") || main == "*" && sub != "*" {
			return bad("type %q: want one such as text/html or image/*", t)
		}
		c.Types[i] = strings.ToLower(t)
	}
	if r.Pattern == "" {
		return c, nil
	}
	var err error
	if c.re, err = regexp.Compile(r.Pattern); err != nil {
		return bad("%w", err)
	}
	return c, nil
}

// String returns the rule as a person would write it: "exclude image,script of \.test/", "include
// application/pdf".
func (r ScopeRule) String() string {
	parts := []string{"include"}
	if r.Exclude {
		parts[0] = "exclude"
	}
	var of []string
	for _, k := range r.Kinds {
		of = append(of, k.String())
	}
	of = append(of, r.Types...)
	if len(of) > 0 {
		parts = append(parts, strings.Join(of, ","))
	}
	if len(of) > 0 && r.Pattern != "" {
		parts = append(parts, "of")
	}
	if r.Pattern != "" {
		parts = append(parts, r.Pattern)
	}
	return strings.Join(parts, " ")
}

// matches reports whether the rule's pattern matches u.
func (r *compiledRule) matches(u weburl.URL) bool { return r.re == nil || r.re.MatchString(u.String()) }

// concerns reports whether the rule applies to URLs that were found as links of this kind.
func (r *compiledRule) concerns(kind frontier.Kind) bool {
	return len(r.Kinds) == 0 || slices.Contains(r.Kinds, kind)
}

// typed reports whether the rule applies to a media type.
func (r *compiledRule) typed(mediaType string) bool {
	return slices.ContainsFunc(r.Types, func(t string) bool {
		if family, ok := strings.CutSuffix(t, "*"); ok {
			return t == "*/*" || strings.HasPrefix(mediaType, family)
		}
		return t == mediaType
	})
}
