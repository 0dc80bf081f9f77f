package report

import (
	"fmt"
	"net/http"
	"slices"
	"strings"

	"github.com/amble-crawler/amble/job/digest"
)

// problem is a kind of problem.
type problem struct {
	Count    int
	What     string
	Where    string
	Examples []digest.Example
	More     string
}

// problems lists the kinds of problems, the largest first.
func (s *source) problems() (list []problem, more string) {
	groups := slices.DeleteFunc(slices.Clone(s.facts.Problems), func(g digest.Group) bool {
		return g.Reason == "host_budget" || g.Reason == "sitemap_budget" || g.Outcome == "refused" && g.Reason == "robots_disallow" // shown elsewhere
	})
	for i := range groups[:min(mostProblems, len(groups))] {
		g := &groups[i]
		p := problem{Count: g.Count, What: problemText(g), Where: plural(g.Hosts, "site"), Examples: g.Examples}
		if g.Hosts == 1 && len(g.Examples) > 0 {
			p.Where = site(g.Examples[0].Host)
		}
		if n := g.Count - len(g.Examples); n > 0 {
			p.More = "and " + num(n) + " more in problems.csv"
		}
		list = append(list, p)
	}
	if n := len(groups) - len(list); n > 0 {
		more = plural(n, "more kind") + " in problems.csv."
	}
	return list, more
}

// problemText names a kind of problem.
func problemText(g *digest.Group) string {
	switch {
	case g.Status > 0:
		text := fmt.Sprintf("%d %s", g.Status, strings.ToLower(http.StatusText(g.Status)))
		if g.Outcome != "fetched" {
			text += ", " + strings.ReplaceAll(g.Outcome, "_", " ")
		}
		return strings.TrimSpace(text)
	case g.Reason == "":
		return strings.ReplaceAll(g.Outcome, "_", " ")
	}
	return ReasonText(g.Reason) + " (" + strings.ReplaceAll(g.Outcome, "_", " ") + ")"
}

// rules lists the rules that refused URLs, those of robots.txt first that refused the most.
func (s *source) rules() (list []digest.Group, more string) {
	list = s.facts.Rules
	if n := len(list) - mostRules; n > 0 {
		list, more = list[:mostRules], plural(n, "more rule")+"."
	}
	return list, more
}
