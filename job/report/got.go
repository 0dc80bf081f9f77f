package report

import (
	"cmp"
	"fmt"
	"net"
	"slices"
	"strings"

	"github.com/amble-crawler/amble/job"
	"github.com/amble-crawler/amble/job/digest"
	"github.com/amble-crawler/amble/weburl/hostmatch"
)

// resultNames are the results of URLs in the order of package digest: their class, which determines their colour on all pages, and
// their name.
var resultNames = [digest.Results]keyEntry{{"got", "fetched"}, {"broken", "broken"}, {"refused", "refused"}, {"over", "over a budget"}, {"other", "redirected, unchanged or left out"}}

// maxShown limits the URLs that the page lists for each result. Shorter lists are complete.
const maxShown = 100

// result is one kind of result, such as broken, with the list of its URLs.
type result struct {
	keyEntry
	Count  string
	Text   string // counts by cause, in a line
	Causes []cause
	Rules  []digest.Group
	Rows   []listRow
	Open   bool
	File   string // file beside the page with the complete list
	More   string
}

// cause is the reason of a result. Class marks the rows with this cause, so that a reader can filter them.
type cause struct {
	Class, Name string
	Count       int
}

// listRow is a URL in a list.
type listRow struct{ Class, URL, Cause, Detail, Via string }

// maxCauses limits the causes by which a reader can filter.
const maxCauses = 8

// results returns the results with their lists, and a text about the outcomes of other URLs.
func (s *source) results() (all []result, other string) {
	r, counts, others := s.report, s.facts.Total.Results, []string(nil)
	for n := range digest.Other {
		x := result{keyEntry: resultNames[n], Causes: s.causes(n)}
		x.Rows = s.rows(n, x.Causes)
		more := counts[n] - len(x.Rows)
		switch n {
		case digest.Got:
			x.Text = fmt.Sprintf("pages and files with content, from %s; %s received", plural(s.withPages(), "site"), bytesText(s.facts.Total.Bytes))
			x.More = withDir("all URLs: ", s.commands.URLs)
		case digest.Broken:
			x.File, x.More = job.ProblemsName, withDir("every page that links to a broken URL: ", s.commands.Check)
		case digest.Refused:
			x.File, x.Rules = job.ProblemsName, s.rules()
		case digest.Over:
			if x.More = withDir("all URLs: ", s.commands.URLs); r.Left > 0 && r.Finish.Limit() {
				counts[n] += r.Left
				x.Causes = append(x.Causes, cause{Name: "still queued when " + LimitName(r.Finish) + " was reached", Count: r.Left})
			}
		}
		if more > 0 {
			x.More = and(plural(more, "more URL")+" in visits.jsonl", x.More)
		}
		if n != digest.Got {
			x.Text = causesText(x.Causes)
		}
		x.Count, x.Open = num(counts[n]), n == digest.Broken && 0 < counts[n] && counts[n] <= 8
		all = append(all, x)
	}
	for _, c := range counted("", s.facts.Total.Outcomes).Rows {
		if digest.ResultOf(c.Name, "", 0) == digest.Other && c.Name != "deferred" {
			others = append(others, num(c.Count)+" "+strings.ReplaceAll(c.Name, "_", " "))
		}
	}
	return all, and(others...)
}

// withDir returns a text followed by a command and the directory, "" if there is no command.
func withDir(text, command string) string {
	if command == "" {
		return ""
	}
	return text + command + " DIR"
}

// causes returns the causes of a result, the most frequent first.
func (s *source) causes(of digest.Result) (all []cause) {
	at := map[string]int{}
	for i := range s.facts.Problems {
		g := &s.facts.Problems[i]
		if digest.ResultOf(g.Outcome, g.Reason, g.Status) != of {
			continue
		}
		name := problemText(g)
		k, known := at[name]
		if !known {
			k, at[name] = len(all), len(all)
			all = append(all, cause{Name: name})
		}
		all[k].Count += g.Count
	}
	slices.SortStableFunc(all, func(a, b cause) int { return cmp.Compare(b.Count, a.Count) })
	for i := range all {
		all[i].Class = fmt.Sprintf("c%d", min(i+1, maxCauses))
	}
	return all
}

// causesText lists the most frequent causes.
func causesText(causes []cause) string {
	var texts []string
	for i, c := range causes {
		if i == 3 {
			texts = append(texts, plural(len(causes)-i, "other cause"))
			break
		}
		texts = append(texts, c.Name+": "+num(c.Count))
	}
	return strings.Join(texts, "; ")
}

// rows returns the first URLs with a result, sorted by the frequency of their cause, and an example for each cause that would be missing.
func (s *source) rows(of digest.Result, causes []cause) []listRow {
	rows, at := slices.Clone(s.list.shown[of]), map[string]int{}
	for i, c := range causes {
		at[c.Name] = i
	}
	seen := map[string]bool{}
	for i := range rows {
		seen[rows[i].Cause] = true
	}
	for i := range s.facts.Problems {
		g := &s.facts.Problems[i]
		if name := problemText(g); of != digest.Got && len(rows) >= maxShown && !seen[name] && digest.ResultOf(g.Outcome, g.Reason, g.Status) == of {
			for _, e := range g.Examples {
				rows = append(rows, listRow{URL: e.URL, Cause: name, Detail: e.Detail, Via: e.Via})
			}
		}
	}
	slices.SortStableFunc(rows, func(a, b listRow) int { return cmp.Compare(at[a.Cause], at[b.Cause]) })
	for i := range rows {
		if k, known := at[rows[i].Cause]; known {
			rows[i].Class = causes[k].Class
		}
	}
	return rows
}

// withPages returns the number of sites with at least one page.
func (s *source) withPages() (n int) {
	for i := range s.facts.Hosts {
		if s.facts.Hosts[i].Pages() > 0 {
			n++
		}
	}
	return max(n, s.report.Hosts)
}

// gaps returns sentences about the sites that the crawl has not seen completely, with the reasons.
func (s *source) gaps() (texts []string) {
	set := s.manifest.Settings
	for _, g := range [...]struct{ state, one, many, what, then string }{
		{stateCut, "was", "were", "cut off by the budget of " + set["max-per-host"] + " pages a site", ", so their totals are lower bounds"},
		{stateMapsCut, "has", "have", "more sitemaps than the " + set["max-sitemaps"] + " that the crawl reads of a site", ", so pages may be missing"},
		{stateRefuses, "refuses", "refuse", "every page that was known", ""},
		{stateWalled, "is", "are", "answered with challenges of a bot wall, which are no pages", ""},
		{stateNotEntered, "was", "were", "not entered, because robots.txt could not be fetched", ""},
		{stateLeftOut, "was", "were", "left out by the operator", ""},
	} {
		hosts, verb := s.sitesIn(g.state), g.many
		if len(hosts) == 1 {
			verb = g.one
		}
		if len(hosts) > 0 {
			texts = append(texts, fmt.Sprintf("%s of %s sites %s %s (%s)%s", num(len(hosts)), num(len(s.facts.Hosts)), verb, g.what, some(hosts, 3), g.then))
		}
	}
	return texts
}

// sitesIn returns the names of the sites in one of these states.
func (s *source) sitesIn(states ...string) (names []string) {
	for i := range s.facts.Hosts {
		if state, _ := s.state(&s.facts.Hosts[i]); slices.Contains(states, state) {
			names = append(names, site(s.facts.Hosts[i].Name))
		}
	}
	return names
}

// States of a site.
const (
	stateComplete   = "complete"
	stateLeftOut    = "left out"
	stateCut        = "cut at budget"
	stateMapsCut    = "sitemaps cut at budget"
	stateRefuses    = "refuses"
	stateWalled     = "bot wall"
	stateNotEntered = "robots.txt: not entered"
	stateGivenUp    = "given up"
	stateFailed     = "failed"
	stateUnfinished = "not finished"
	stateOnlyAsked  = "no page known"
)

// state returns the state of a site, with the class of its tag.
func (s *source) state(h *digest.Host) (state, class string) {
	switch {
	case h.Reasons["opt_out"] > 0:
		return stateLeftOut, "refused"
	case h.Reasons["challenge"] > 0 || h.Pages() == 0 && h.Rules.Wall != "":
		return stateWalled, "refused"
	case h.Reasons["robots_unreachable"]+h.Reasons["robots_budget"] > 0 || h.Pages() == 0 && h.Rules.Failed > 0:
		return stateNotEntered, "refused"
	case h.OverBudget() > 0:
		return stateCut, "over"
	case h.Reasons["sitemap_budget"] > 0:
		return stateMapsCut, "over"
	case h.Reasons["host_failed"]+h.Reasons["retry_after_long"]+h.Reasons["crawl_delay_long"] > 0:
		return stateGivenUp, "refused"
	case h.Visits > 0 && h.Refused() == h.Visits:
		return stateRefuses, "refused"
	case s.report.Left > 0 || s.open != "":
		if s.isLeftOut(h.Name) {
			return stateLeftOut, "refused"
		}
		return stateUnfinished, ""
	case h.Visits == 0:
		return stateOnlyAsked, ""
	case h.Failed() == h.Visits:
		return stateFailed, "broken"
	}
	return stateComplete, ""
}

// censoring lists the states in which the counts of a site are lower bounds.
var censoring = []string{stateCut, stateMapsCut, stateGivenUp, stateUnfinished, stateWalled, stateNotEntered, stateLeftOut}

// isLeftOut reports whether the operator ordered during the crawl to leave out a host or a domain above it. Its URLs may still be in
// the queue, without an outcome.
func (s *source) isLeftOut(host string) bool {
	name, _, _ := net.SplitHostPort(host)
	for ; name != "" && len(s.leftOut) > 0; _, name, _ = strings.Cut(name, ".") {
		if s.leftOut[name] {
			return true
		}
	}
	return false
}

// leftOut returns the names in all orders to leave out a host.
func leftOut(m *job.Manifest) map[string]bool {
	names := map[string]bool{}
	for _, run := range m.Runs {
		for _, c := range run.Changes {
			if c.Key == job.ActionLeaveOut {
				names[hostmatch.Below(c.To)] = true
			}
		}
	}
	return names
}
