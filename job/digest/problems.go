package digest

import (
	"cmp"
	"slices"
	"strings"

	"github.com/amble-crawler/amble/sink"
)

// Group counts visits of one kind, with examples.
type Group struct {
	Outcome string
	Reason  string
	Status  int    // 4xx or 5xx, or 0
	Rule    string // the rule that decided the outcome, as written
	Where   string // where the rule is, such as "line 2 of https://site.example/robots.txt"

	Count    int
	Hosts    int       // distinct hosts, counted up to a hundred
	Examples []Example // the first ones, at most three
}

// Example is a URL in a Group.
type Example struct{ Host, URL, Via, Detail string }

const (
	maxExamples = 3
	maxPlaces   = 100 // maximum number of hosts counted in a group
)

// groups holds Groups by the properties that distinguish them.
type groups map[string]*group

type group struct {
	Group
	hosts map[string]bool
}

// IsProblem reports whether an operator should know about a visit.
func IsProblem(v *sink.Record) bool {
	switch v.Outcome {
	case "fetched":
		return v.Status >= 400
	case "redirected", "not_modified", "out_of_scope":
		return false
	}
	return true
}

// Result classifies a URL for a reader who wants its page.
type Result int

// The results of a visit. Each visit has exactly one.
const (
	Got     Result = iota // fetched, with content
	Broken                // a 4xx or 5xx status, or no usable response
	Refused               // refused by the site, by its robots.txt or its statements, or by an order of the operator
	Over                  // left out because a budget was used up
	Other                 // redirected, unchanged, out of scope, a trap, …
	Results               // the number of results
)

// ResultOf returns the result of a visit with this outcome, reason ("" for none) and status (0 for none).
func ResultOf(outcome, reason string, status int) Result {
	switch reason {
	case "robots_disallow", challenge, "usage_signal", "payment", "opt_out", "no_contact", "robots_unreachable", "retry_after_long",
		"crawl_delay_long", "host_failed", "address_refused", "port_refused":
		return Refused
	}
	switch {
	case outcome == "refused":
		return Refused
	case status >= 400:
		return Broken
	}
	if LimitOf(reason) != "" {
		return Over
	}
	switch outcome {
	case "fetched":
		return Got
	case "failed":
		return Broken
	}
	return Other
}

// LimitOf returns the key of the limit because of which a URL was left out, by its reason. It is "" for other reasons.
func LimitOf(reason string) (key string) { return limits[reason] }

// limits maps reasons for which a URL is left out to the keys of limits.
var limits = map[string]string{
	"host_budget": "max-per-host", "sitemap_budget": "max-sitemaps", "robots_budget": "max-robots-requests",
	"retry_budget": "retries", "redirect_limit": "max-redirects", "render_resources": "max-resources",
}

// challenge is the reason of visits to which a bot wall responded.
const challenge = "challenge"

// ProblemStatus returns the status of a visit if the status makes it a problem, or 0. It is the Status of its [Group].
func ProblemStatus(v *sink.Record) int {
	if v.Status >= 400 && v.Reason != challenge {
		return v.Status
	}
	return 0
}

// where returns the location of a rule from a visit's detail: line and file, without the time at which it was read.
func where(detail string) string {
	line, _, ok := strings.Cut(strings.TrimPrefix(detail, "refused: "), ` "`)
	if _, file, found := strings.Cut(detail, `" of `); ok && found {
		file, _, _ = strings.Cut(file, " ")
		return line + " of " + file
	}
	return ""
}

// add adds a visit to the group with the same properties as kind.
func (g groups) add(kind Group, host string, v *sink.Record) {
	key := strings.Join([]string{kind.Outcome, kind.Reason, string(rune(kind.Status)), kind.Rule, kind.Where}, "\x00")
	known := g[key]
	if known == nil && len(g) >= maxGroups {
		key, kind = "", Group{Outcome: "other"}
		known = g[key]
	}
	if known == nil {
		known = &group{Group: kind, hosts: map[string]bool{}}
		g[key] = known
	}
	known.Count++
	isNew := !known.hosts[host]
	if isNew && len(known.hosts) < maxPlaces {
		known.hosts[host] = true
		known.Hosts++
	}
	if len(known.Examples) < maxExamples && (isNew || known.Count <= maxExamples) {
		known.Examples = append(known.Examples, Example{host, cut(v.URL), cut(v.Via), cut(cmp.Or(v.Error, v.Detail))})
	}
}

// sorted returns the groups, the largest first.
func (g groups) sorted() []Group {
	all := make([]Group, 0, len(g))
	for _, one := range g {
		c := one.Group
		c.Examples = slices.Clone(c.Examples)
		all = append(all, c)
	}
	slices.SortFunc(all, func(a, b Group) int {
		return cmp.Or(b.Count-a.Count, cmp.Compare(a.Outcome, b.Outcome), cmp.Compare(a.Reason, b.Reason), a.Status-b.Status, cmp.Compare(a.Rule, b.Rule), cmp.Compare(a.Where, b.Where))
	})
	return all
}

// cut returns a copy of a text, of bounded length, so that the original can be freed.
func cut(s string) string {
	if len(s) > maxText {
		s = strings.ToValidUTF8(s[:maxText], "") + "…"
	}
	return strings.Clone(s)
}
