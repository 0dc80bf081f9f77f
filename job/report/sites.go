package report

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/amble-crawler/amble/job/digest"
)

// siteRow is a line of the table of sites.
type siteRow struct {
	Name, State, Tag       string
	Pages, Requests, Bytes string
	Robots, Others         string
	Least, Ratio, Answers  string
}

// sites lists the sites with the most requests.
func (s *source) sites() (rows []siteRow, more string) {
	for i := range s.facts.Hosts[:min(maxRows, len(s.facts.Hosts))] {
		rows = append(rows, s.siteRow(&s.facts.Hosts[i]))
	}
	if n := len(s.facts.Hosts) + s.facts.MoreHosts - len(rows); n > 0 {
		more = plural(n, "more site") + " with fewer requests. "
	}
	return rows, more + "All figures: hosts.csv, beside this page."
}

func (s *source) siteRow(h *digest.Host) siteRow {
	row := siteRow{Name: site(h.Name), Pages: num(h.Pages()), Requests: num(h.Requests), Bytes: bytesText(h.Bytes), Robots: robotsText(&h.Rules), Others: others(h)}
	row.State, row.Tag = s.state(h)
	if h.Pauses.Count > 0 {
		row.Least = span(h.Pauses.Least)
		row.Ratio = times(h.Pauses.Ratio)
	}
	if h.Answers.Count > 0 {
		row.Answers = span(time.Duration(h.Answers.Quantile(0.5))) + ", " + span(time.Duration(h.Answers.Quantile(0.95)))
	}
	return row
}

// robotsText says what the last request for a robots.txt came to.
func robotsText(r *digest.RobotsState) string {
	switch {
	case r.At.IsZero():
		return "–"
	case r.Wall != "":
		return "challenge of " + r.Wall
	case r.Failed > 1:
		return fmt.Sprintf("%s, %d times", cmp.Or(statusOf(r.Status), r.Err), r.Failed)
	case r.Status == 0:
		return r.Err
	}
	return statusOf(r.Status)
}

func statusOf(status int) string {
	if status == 0 {
		return ""
	}
	return fmt.Sprint(status)
}

// others lists the answers of 4xx and 5xx, and those that never came.
func others(h *digest.Host) string {
	var texts []string
	seen := map[int]int{}
	for _, status := range slices.Sorted(maps.Keys(h.Statuses)) {
		texts = append(texts, fmt.Sprintf("%s × %d", num(h.Statuses[status]), status))
		seen[status/100] += h.Statuses[status]
	}
	if n := h.TooMany - h.Statuses[429]; n > 0 {
		texts = append(texts, fmt.Sprintf("%s × 429, repeated", num(n)))
	}
	if n := h.Classes[5] - seen[5]; n > 0 {
		texts = append(texts, fmt.Sprintf("%s × 5xx, repeated", num(n)))
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
