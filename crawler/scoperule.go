package crawler

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/amble-crawler/amble/frontier"
	"github.com/amble-crawler/amble/weburl"
)

// ScopeRule includes or excludes URLs, or answers. The last matching rule of a list decides.
type ScopeRule struct {
	Exclude bool `json:"exclude,omitempty" yaml:"exclude,omitempty"`
	// Pattern is a regular expression (RE2 syntax) that is matched against the whole URL. "": every URL,
	// for a rule with Kinds or Types.
	Pattern string `json:"pattern" yaml:"pattern"`
	// Kinds are the kinds of links that the rule applies to. Empty: all.
	Kinds []frontier.Kind `json:"kinds,omitempty" yaml:"kinds,omitempty"`
	// Types are media types, such as "application/pdf" or "image/*". A rule that has some judges answers,
	// not URLs, and cannot have Kinds.
	Types []string `json:"types,omitempty" yaml:"types,omitempty"`
}

// Validate reports what is wrong with the rule.
func (r ScopeRule) Validate() error {
	_, err := r.compile()
	return err
}

// compile prepares the rule for use; the error names the rule.
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

// concerns reports whether the rule applies to URLs that were found as links of a kind.
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
