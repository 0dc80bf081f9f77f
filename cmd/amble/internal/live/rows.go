package live

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"time"

	"github.com/amble-crawler/amble/crawler/plan"
	"github.com/amble-crawler/amble/internal/cli"
	"github.com/amble-crawler/amble/job/digest"
	"github.com/amble-crawler/amble/politeness"
	"github.com/amble-crawler/amble/politeness/ledger"
)

// maxRows limits the hosts shown.
const maxRows = 50

// row is a host in the table.
type row struct {
	Host         string // host name, for orders
	Name         string
	Owner        string // cluster node that owns the host
	Slug         string
	State, Class string
	Pages        string
	Share        string // fetched pages as a percentage of fetched pages and URLs left
	Left         string
	Pause        string // pause, and what causes it
	Again        string
	Least        string
	Median       string
	Trouble      string
	Open         bool // the host has URLs left, so orders have an effect
	Slower       string
}

// siteGroup is a group of hosts. They are shown one by one, or as a single line that can be opened.
type siteGroup struct {
	Slug, Title string // anchor and title of the single line; "" if the hosts are shown one by one
	Rows        []row
}

const (
	maxUnderWay = 8 // maximum number of hosts with URLs left that are shown one by one
	fewHosts    = 3 // maximum number of hosts of one state that are shown one by one
)

// grouped groups hosts by state.
func grouped(rows []row) []siteGroup {
	groups := []siteGroup{{}, {Slug: "underway"}}
	of := map[string]int{}
	for _, x := range rows {
		if !x.Open {
			of[x.State]++
		}
	}
	for _, x := range rows {
		at := 0
		switch {
		case x.Open && len(groups[0].Rows) >= maxUnderWay:
			at = 1
		case !x.Open && of[x.State] > fewHosts:
			name := slug(x.State)
			if at = slices.IndexFunc(groups, func(g siteGroup) bool { return g.Slug == name && g.Title != "" }); at < 0 {
				at, groups = len(groups), append(groups, siteGroup{Slug: name, Title: plural(of[x.State], "site") + " " + cmp.Or(x.State, "with nothing left")})
			}
		}
		groups[at].Rows = append(groups[at].Rows, x)
	}
	if groups[1].Title = plural(len(groups[1].Rows), "more site") + " under way"; len(groups[1].Rows) == 0 {
		groups = slices.Delete(groups, 1, 2)
	}
	return groups
}

// rows returns rows for the hosts that determine the end, then for those with the most requests. more is the number of hosts without a row.
func (v *view) rows(r *recent, c *Config) (rows []row, more int) {
	shown := map[string]bool{}
	for i := range v.sites {
		if len(rows) == maxRows {
			break
		}
		s := &v.sites[i]
		shown[s.Host] = true
		h, _ := c.Digest.Host(s.Host)
		h.Name = s.Host
		rows = append(rows, v.row(r, c, &h, s))
	}
	for i := range v.facts.Hosts {
		h := &v.facts.Hosts[i]
		if len(rows) == maxRows {
			break
		}
		if h.Name != "" && !shown[h.Name] {
			shown[h.Name] = true
			rows = append(rows, v.row(r, c, h, nil))
		}
	}
	return rows, max(0, len(v.facts.Hosts)+v.facts.MoreHosts-len(rows))
}

// row returns the row of a host. s is nil if no URLs are known to be left.
func (v *view) row(r *recent, c *Config, h *digest.Host, s *plan.Site) row {
	x := row{Host: h.Name, Name: clip(cli.Printable(h.Name), 60), Slug: slug(h.Name), Trouble: trouble(h)}
	pages, share := h.Pages(), 0
	if h.Answers.Count > 0 {
		x.Median = "under 1 ms"
		if ms := time.Duration(h.Answers.Quantile(0.5)).Milliseconds(); ms > 0 {
			x.Median = num(int(ms)) + " ms"
		}
	}
	var info politeness.HostInfo
	if c.Crawler != nil {
		info = c.Crawler.Gate().Host(h.Name)
	}
	if pages > 0 {
		share = 100
	}
	if s != nil {
		share = 100 * pages / max(1, pages+s.URLs)
		x.Open, x.Left = true, num(s.URLs)
		x.Pause, x.Least = delayText(info.Delay)+", "+setBy(info.Clause), span(s.Least)
		x.Slower = (2 * max(info.Delay, time.Second)).String()
		if s.Due.After(v.now) {
			x.Again = span(s.Due.Sub(v.now))
			if digest.HeldBy(s.Waits) {
				x.Pause = setBy(s.Waits)
			}
		}
	}
	x.Pages, x.Share = num(pages), strconv.Itoa(share)
	x.State, x.Class = hostState(r, h, s, &info, v)
	return x
}

// hostState describes the present state of a host.
func hostState(r *recent, h *digest.Host, s *plan.Site, info *politeness.HostInfo, v *view) (text, class string) {
	last := r.hosts[h.Name]
	switch {
	case info.GivenUp != "":
		return "given up: " + causeText(info.GivenUp), "refused"
	case info.OptedOut, h.Reasons[politeness.ReasonOptOut] > 0: // the URLs left can only be those of an opted-out host
		return "left out", "refused"
	case v.state.Running && last != nil && last.flying > 0:
		return "answering", ""
	case s != nil && s.Due.After(v.now):
		return waitState(s, h)
	case s != nil:
		return "ready", ""
	case h.OverBudget() > 0:
		return "budget reached", "over"
	case h.Reasons[politeness.ReasonChallenge] > 0 || h.Rules.Wall != "" && h.Pages() == 0:
		return "bot wall", "refused"
	case h.Reasons[politeness.ReasonRobotsUnreachable] > 0:
		return "not entered: robots.txt", "refused"
	case h.Pages() == 0 && h.Refused() > 0:
		return "refuses robots", "refused"
	case !v.state.Running || v.p.Started.IsZero():
		return "", ""
	}
	return "complete", ""
}

func waitState(s *plan.Site, h *digest.Host) (text, class string) {
	switch s.Waits {
	case ledger.ClauseRobots:
		return "robots.txt " + statusText(h.Rules.Status), "wait"
	case ledger.ClauseRetryAfter, ledger.ClauseRedirect, ledger.ClauseRateLimit:
		return "told to wait", "wait"
	case ledger.ClauseBackoff:
		return "backs off", "wait"
	}
	return "rests", ""
}

// trouble lists the responses of the host that are not pages.
func trouble(h *digest.Host) string {
	text := ""
	add := func(n int, what string) {
		if n > 0 {
			text += fmt.Sprintf("%s%s × %s", map[bool]string{true: ", "}[text != ""], num(n), what)
		}
	}
	add(h.TooMany, "429")
	statuses := make([]int, 0, len(h.Statuses))
	for s := range h.Statuses {
		if s != 429 && s < 500 {
			statuses = append(statuses, s)
		}
	}
	slices.SortFunc(statuses, func(a, b int) int { return cmp.Or(h.Statuses[b]-h.Statuses[a], a-b) })
	for _, s := range statuses[:min(2, len(statuses))] {
		add(h.Statuses[s], fmt.Sprint(s))
	}
	add(h.Classes[5], "5xx")
	add(digest.Sum(h.Walls), "bot wall")
	add(h.Classes[0]-h.Cut, "no answer")
	return text
}

// slug converts a text to an element ID. Different texts get different IDs.
func slug(s string) string {
	b := make([]byte, 0, 2*len(s))
	for i := range len(s) {
		switch c := s[i]; {
		case c >= 'a' && c <= 'z', c >= '0' && c <= '9':
			b = append(b, c)
		default:
			b = fmt.Appendf(b, "_%02x", c)
		}
	}
	return string(b)
}
