package report

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/amble-crawler/amble/job/digest"
)

// siteGroup is a group of sites with the same result, shown as one row.
type siteGroup struct {
	State, Tag string
	Name       string
	Bar        []barPart
	Text       string
	Rows       []siteRow
}

// siteRow is a site in the table.
type siteRow struct {
	Order                string // class for sorting the table
	Name, State, Tag     string
	Bar                  []barPart
	Got, Requests, Bytes string
	Trouble              string
	Least, Answers       string
}

// fewSites is the maximum number of sites of one kind that are shown one by one.
const fewSites = 3

// siteTable holds the sites grouped by result.
type siteTable struct {
	Few    []siteRow // sites of kinds with few sites
	Groups []siteGroup
	Keys   []keyEntry
	Sorted bool // there are enough rows to sort
	More   string
}

// kind describes the result of a site for a reader, with the class of its tag.
func (s *source) kind(h *digest.Host) (state, class string) {
	state, class = s.state(h)
	switch {
	case h.Early > 0:
		return state + ", requested too early", "broken"
	case state == stateComplete && h.Results[digest.Broken] > 0:
		return "complete, some broken", "broken"
	}
	return state, class
}

// sites lists the sites with the most requests by kind, the worst kinds first.
func (s *source) sites() (x siteTable) {
	hosts, groups, at, largest := s.facts.Hosts[:min(maxRows, len(s.facts.Hosts))], []siteGroup(nil), map[string]int{}, 1
	sums, members := []digest.Host(nil), 0
	var used [digest.Results]bool
	for i := range hosts {
		largest = max(largest, hosts[i].Visits)
	}
	for i := range hosts {
		h := &hosts[i]
		state, tag := s.kind(h)
		k, known := at[state]
		if !known {
			k, at[state] = len(groups), len(groups)
			groups, sums = append(groups, siteGroup{State: state, Tag: tag}), append(sums, digest.Host{})
		}
		row := s.siteRow(h, largest)
		row.Order = fmt.Sprintf("o%d", i)
		groups[k].Rows = append(groups[k].Rows, row)
		members = max(members, len(groups[k].Rows))
		sum := &sums[k]
		sum.Requests, sum.Bytes, sum.Visits = sum.Requests+h.Requests, sum.Bytes+h.Bytes, sum.Visits+h.Visits
		for n, count := range h.Results {
			sum.Results[n] += count
			used[n] = used[n] || count > 0
		}
	}
	order := make([]int, len(groups)) // kinds with a problem come first
	for k := range order {
		order[k] = k
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(min(1, len(groups[b].Tag)), min(1, len(groups[a].Tag))) })
	for _, k := range order {
		g, sum := &groups[k], &sums[k]
		if len(g.Rows) <= fewSites {
			for _, row := range g.Rows {
				row.State, row.Tag = g.State, g.Tag
				x.Few = append(x.Few, row)
			}
			continue
		}
		g.Name = plural(len(g.Rows), "site")
		g.Bar = resultBar(sum, sum.Visits)
		g.Text = fmt.Sprintf("%s of %s fetched, %s, %s", num(sum.Results[digest.Got]), plural(sum.Visits, "URL"), plural(sum.Requests, "request"), bytesText(sum.Bytes))
		x.Groups = append(x.Groups, *g)
	}
	for n, key := range resultNames {
		if used[n] {
			x.Keys = append(x.Keys, key)
		}
	}
	x.Sorted = members > fewSites || len(x.Few) > fewSites
	if n := len(s.facts.Hosts) + s.facts.MoreHosts - len(hosts); n > 0 {
		x.More = plural(n, "more site") + " with fewer requests. "
	}
	return x
}

// resultBar draws the results of a site's URLs as a bar.
func resultBar(h *digest.Host, all int) []barPart {
	classes, sizes := make([]string, len(resultNames)), make([]float64, len(resultNames))
	for i, key := range resultNames {
		classes[i], sizes[i] = key.Class, float64(h.Results[i])
	}
	return drawBar(classes, sizes, float64(all))
}

func (s *source) siteRow(h *digest.Host, largest int) siteRow {
	row := siteRow{Name: site(h.Name), Bar: resultBar(h, largest), Requests: num(h.Requests), Bytes: bytesText(h.Bytes), Trouble: others(h)}
	row.Got = fmt.Sprintf("%s of %s", num(h.Results[digest.Got]), num(h.Visits))
	if text := robotsText(&h.Rules); text != "200" && text != "404" && text != "–" {
		row.Trouble = and(slices.DeleteFunc([]string{"robots.txt: " + text, row.Trouble}, func(t string) bool { return t == "" })...)
	}
	if h.Pauses.Count > 0 {
		row.Least = span(h.Pauses.Least)
	}
	if h.Answers.Count > 0 {
		row.Answers = span(time.Duration(h.Answers.Quantile(0.5)))
	}
	return row
}

// sortKeys are the keys by which the table of sites can be sorted. Its default order is by requests.
var sortKeys = [...]struct {
	Name    string
	compare func(a, b *digest.Host) int
}{
	{"name", func(a, b *digest.Host) int { return cmp.Compare(a.Name, b.Name) }},
	{"fetched", func(a, b *digest.Host) int { return cmp.Compare(b.Results[digest.Got], a.Results[digest.Got]) }},
	{"broken", func(a, b *digest.Host) int { return cmp.Compare(b.Results[digest.Broken], a.Results[digest.Broken]) }},
	{"slowest", func(a, b *digest.Host) int { return cmp.Compare(b.Answers.Quantile(0.5), a.Answers.Quantile(0.5)) }},
}

// sortStyle returns the style that sorts the sites without a script: for each key, the position of each row.
func (s *source) sortStyle() string {
	var b strings.Builder
	hosts := s.facts.Hosts[:min(maxRows, len(s.facts.Hosts))]
	for k := range sortKeys {
		order := make([]int, len(hosts))
		for i := range order {
			order[i] = i
		}
		slices.SortStableFunc(order, func(x, y int) int { return sortKeys[k].compare(&hosts[x], &hosts[y]) })
		for place, i := range order {
			fmt.Fprintf(&b, "section:has(.by%d:checked) .o%d{order:%d}", k, i, place)
		}
	}
	return b.String()
}

// robotsText describes the last response for a robots.txt.
func robotsText(r *digest.RobotsState) string {
	switch {
	case r.At.IsZero():
		return "–"
	case r.Wall != "":
		return "challenge of " + r.Wall
	}
	text := r.Err
	if r.Status > 0 {
		text = fmt.Sprint(r.Status)
	}
	if r.Failed > 1 {
		text += fmt.Sprintf(", %d times", r.Failed)
	}
	return text
}

// others lists the responses of 4xx and 5xx, and the requests without a response.
func others(h *digest.Host) string {
	var texts []string
	for _, status := range slices.Sorted(maps.Keys(h.Statuses)) {
		texts = append(texts, fmt.Sprintf("%s × %d", num(h.Statuses[status]), status))
	}
	for _, text := range repeated(h) {
		texts = append(texts, text+", repeated")
	}
	for _, wall := range slices.Sorted(maps.Keys(h.Walls)) {
		texts = append(texts, fmt.Sprintf("%s × challenge of %s", num(h.Walls[wall]), wall))
	}
	if h.Classes[0] > 0 {
		texts = append(texts, plural(h.Classes[0], "request")+" without answer")
	}
	if len(texts) > 5 {
		texts = append(texts[:5], "…")
	}
	return and(texts...)
}
