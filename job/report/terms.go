package report

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/amble-crawler/amble/crawler"
	"github.com/amble-crawler/amble/internal/cli"
)

// usageLines returns the pages that were left out because their site forbids a use or asks for a payment, by host, with the price: each
// line as a name and a text.
func usageLines(r *crawler.Report) (lines [][2]string) {
	hosts, total := slices.Collect(maps.Keys(r.LeftOut)), 0
	of := func(host string) (n int) {
		for _, k := range r.LeftOut[host] {
			n += k
		}
		return n
	}
	for _, host := range hosts {
		total += of(host)
	}
	slices.SortFunc(hosts, func(a, b string) int { return cmp.Or(cmp.Compare(of(b), of(a)), cmp.Compare(a, b)) })
	for i, host := range hosts {
		if i == 0 {
			lines = append(lines, [2]string{"left out", fmt.Sprintf("%s that sites withhold by what they say about uses", cli.Plural(total, "page"))})
		}
		if i == 10 {
			lines = append(lines, [2]string{"", fmt.Sprintf("and those of %s", cli.Plural(len(hosts)-i, "other host"))})
			break
		}
		rows := counted("", r.LeftOut[host]).Rows
		var names []string
		for _, row := range rows[:min(3, len(rows))] {
			names = append(names, cli.Printable(row.Name))
		}
		lines = append(lines, [2]string{"", fmt.Sprintf("%s: %s (%s)", cli.Printable(cmp.Or(host, "other hosts")), cli.Plural(of(host), "page"), strings.Join(names, ", "))})
	}
	for i, c := range r.Cost {
		if i == 10 {
			lines = append(lines, [2]string{"", fmt.Sprintf("and %s", cli.Plural(len(r.Cost)-i, "other price"))})
			break
		}
		name := [2]string{"not paid", ""}[min(i, 1)]
		lines = append(lines, [2]string{name, fmt.Sprintf("%s: %s %s for %s, per %s",
			cli.Printable(cmp.Or(c.Host, "other hosts")), cli.Printable(c.Amount), cli.Printable(c.Currency), cli.Plural(c.Pages, "page"), cli.Printable(c.Per))})
	}
	return lines
}

// purposesOf returns the purposes in the settings of a job.
func purposesOf(settings map[string]string) []string {
	return strings.Fields(strings.ReplaceAll(cmp.Or(settings["purpose"], "research"), ",", " "))
}
