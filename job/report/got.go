package report

import (
	"cmp"
	"fmt"
	"net"
	"slices"
	"strings"

	"github.com/amble-crawler/amble/job"
	"github.com/amble-crawler/amble/job/digest"
	"github.com/amble-crawler/amble/weburl"
)

// got is the outcomes of the URLs of each site.
type got struct {
	Text string
	Bars bars
	Keys []keyEntry
	More string
}

var fates = []keyEntry{
	{"ok", "fetched"}, {"bad", "answered 4xx or 5xx, or not at all"}, {"sl", "redirected or unchanged"}, {"cd", "refused by a rule or a bot wall"},
	{"mut", "known, over the site's budget"}, {"warn", "left out for another reason"},
}

// fatesOf counts the URLs of a host in the order of fates.
func fatesOf(h *digest.Host) []float64 {
	wrong := 0
	for _, n := range h.Statuses {
		wrong += n
	}
	wrong = min(wrong-h.WallErrors, h.Pages()+h.Failed())
	good := max(0, h.Pages()-max(0, wrong-h.Outcomes["failed"]))
	bad := h.Pages() + h.Failed() - good
	moved := h.Outcomes["redirected"] + h.Outcomes["not_modified"]
	over := h.OverBudget()
	rest := max(0, h.Visits-good-bad-moved-h.Refused()-over)
	return []float64{float64(good), float64(bad), float64(moved), float64(h.Refused()), float64(over), float64(rest)}
}

func (s *source) got() got {
	byVisits := slices.Clone(s.facts.Hosts)
	slices.SortStableFunc(byVisits, func(a, b digest.Host) int { return cmp.Compare(b.Visits, a.Visits) })
	var rows []barFacts
	for i := range byVisits[:min(maxBars, len(byVisits))] {
		h := &byVisits[i]
		if h.Visits > 0 {
			rows = append(rows, barFacts{h.Name, fatesOf(h), fmt.Sprintf("%s of %s", num(int(fatesOf(h)[0])), num(h.Visits))})
		}
	}
	g := got{Bars: drawBars("URLs of each site by outcome", fates, rows), Keys: fates}
	if n := len(byVisits) + s.facts.MoreHosts - len(rows); n > 0 {
		g.More = plural(n, "more site") + ": see the table below and hosts.csv."
	}
	g.Text = "Every URL that entered the crawl has one fate."
	if texts := s.gaps(); len(texts) > 0 {
		g.Text += " " + strings.Join(texts, "; ") + "."
	}
	if s.report.Left > 0 {
		g.Text += " " + plural(s.report.Left, "URL") + " " + map[bool]string{true: "had none when the crawl ended.", false: "had none so far."}[s.open == ""]
	}
	return g
}

// gaps says which sites are not seen as a whole.
func (s *source) gaps() (texts []string) {
	var cut, maps, refusing, walled, silent, left []string
	for i := range s.facts.Hosts {
		h := &s.facts.Hosts[i]
		switch state, _ := s.state(h); state {
		case stateCut:
			cut = append(cut, site(h.Name))
		case stateMapsCut:
			maps = append(maps, site(h.Name))
		case stateRefuses:
			refusing = append(refusing, site(h.Name))
		case stateWalled:
			walled = append(walled, site(h.Name))
		case stateNotEntered:
			silent = append(silent, site(h.Name))
		case stateLeftOut:
			left = append(left, site(h.Name))
		}
	}
	if len(cut) > 0 {
		texts = append(texts, fmt.Sprintf("%s cut off by the budget of %s pages a site (%s), so their totals are lower bounds", are(len(cut), len(s.facts.Hosts), "was", "were"), s.manifest.Settings["max-per-host"], some(cut, 3)))
	}
	if len(maps) > 0 {
		texts = append(texts, fmt.Sprintf("%s more sitemaps than the %s that the crawl reads of a site (%s), so pages may be missing", are(len(maps), len(s.facts.Hosts), "has", "have"), s.manifest.Settings["max-sitemaps"], some(maps, 3)))
	}
	if len(refusing) > 0 {
		texts = append(texts, fmt.Sprintf("%s every page that was known (%s)", are(len(refusing), len(s.facts.Hosts), "refuses", "refuse"), some(refusing, 3)))
	}
	if len(walled) > 0 {
		texts = append(texts, fmt.Sprintf("%s answered with challenges of a bot wall, which are no pages (%s)", are(len(walled), len(s.facts.Hosts), "is", "are"), some(walled, 3)))
	}
	if len(silent) > 0 {
		texts = append(texts, fmt.Sprintf("%s not entered, because robots.txt could not be fetched (%s)", are(len(silent), len(s.facts.Hosts), "was", "were"), some(silent, 3)))
	}
	if len(left) > 0 {
		texts = append(texts, fmt.Sprintf("%s left out by the operator (%s)", are(len(left), len(s.facts.Hosts), "was", "were"), some(left, 3)))
	}
	return texts
}

// are says how many of all sites, with a verb.
func are(n, all int, one, many string) string {
	if n == 1 {
		return fmt.Sprintf("1 of %s sites %s", num(all), one)
	}
	return fmt.Sprintf("%s of %s sites %s", num(n), num(all), many)
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

// state says what is known of a site as a whole, with the class of its tag.
func (s *source) state(h *digest.Host) (state, class string) {
	switch {
	case h.Reasons["opt_out"] > 0:
		return stateLeftOut, "w"
	case h.Reasons["challenge"] > 0 || h.Pages() == 0 && h.Rules.Wall != "":
		return stateWalled, "b"
	case h.Reasons["robots_unreachable"]+h.Reasons["robots_budget"] > 0 || h.Pages() == 0 && h.Rules.Failed > 0:
		return stateNotEntered, "w"
	case h.OverBudget() > 0:
		return stateCut, "w"
	case h.Reasons["sitemap_budget"] > 0:
		return stateMapsCut, "w"
	case h.Reasons["host_failed"]+h.Reasons["retry_after_long"]+h.Reasons["crawl_delay_long"] > 0:
		return stateGivenUp, "w"
	case h.Visits > 0 && h.Refused() == h.Visits:
		return stateRefuses, "b"
	case s.report.Left > 0 || s.open != "":
		if s.isLeftOut(h.Name) {
			return stateLeftOut, "w"
		}
		return stateUnfinished, "w"
	case h.Visits == 0:
		return stateOnlyAsked, ""
	case h.Failed() == h.Visits:
		return stateFailed, "b"
	}
	return stateComplete, "o"
}

// seenToTheEnd reports whether counts of a site in this state are those of the site, and not lower bounds.
func seenToTheEnd(state string) bool {
	switch state {
	case stateCut, stateMapsCut, stateGivenUp, stateUnfinished, stateWalled, stateNotEntered, stateLeftOut:
		return false
	}
	return true
}

// isLeftOut reports whether the operator ordered during the crawl that a host or a domain above it be left out. Its URLs may still be
// in the queue, without an outcome.
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
			if u, err := weburl.Parse("https://" + c.To + "/"); c.Key == job.ActionLeaveOut && err == nil {
				names[u.Hostname()] = true
			}
		}
	}
	return names
}
