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

// Text returns a report as readable text. ended describes how the crawl ended; if it is "", the report's Finish does. The first line is
// passed through emphasize, unless that is nil.
func Text(r *crawler.Report, ended string, emphasize func(string) string) string {
	var b strings.Builder
	head := fmt.Sprintf("%s %s: %s", cli.Plural(r.Pages, "page"), spanText(r), finishText(r, ended))
	if emphasize != nil {
		head = emphasize(head)
	}
	fmt.Fprintln(&b, head)
	fmt.Fprintf(&b, "  %-10s %d, pages from %s, %s received", "requests", r.Requests, cli.Plural(r.Hosts, "host"), cli.Bytes(r.Bytes))
	if r.Retries > 0 {
		fmt.Fprintf(&b, ", retries %d", r.Retries)
	}
	if r.Lost > 0 {
		fmt.Fprintf(&b, ", %d lost to a kill or an error", r.Lost)
	}
	b.WriteByte('\n')
	if r.Bound.Duration > 0 && r.Elapsed.Duration >= r.Bound.Duration {
		fmt.Fprintf(&b, "  %-10s %.2f × the least that %s allows\n", "time", r.Elapsed.Seconds()/r.Bound.Seconds(), cli.Printable(r.BoundBy))
	}
	if d := r.LostToOthers.Duration; d > 0 {
		fmt.Fprintf(&b, "  %-10s %s lost to other crawls of yours, over all hosts\n", "waited", cli.Round(d))
	}
	if r.NotShared != "" {
		fmt.Fprintf(&b, "  %-10s its hosts were shared with no other crawl: %s\n", "alone", cli.Printable(r.NotShared))
	}
	if r.Requests > 0 {
		fmt.Fprintf(&b, "  %-10s %s\n", "cost", wrapped(costText(r)))
	}
	if r.Rendering != nil {
		fmt.Fprintf(&b, "  %-10s %s\n", "rendered", renderedText(r))
		row(&b, "cut short", r.Rendering.Cut, ReasonText)
		row(&b, "not loaded", r.Rendering.Refused, ReasonText)
		if n := r.Rendering.Cut[crawler.CutHost]; n > 0 {
			fmt.Fprintf(&b, "  %-10s three renderings in a row of a host were stuck: %s of such hosts not rendered\n", "warning", cli.Plural(n, "page"))
		}
	}
	row(&b, "outcomes", r.Outcomes, ReasonText)
	row(&b, "statuses", r.Statuses, nil)
	row(&b, "types", r.Types, nil)
	row(&b, "bot walls", r.Walls, nil)
	row(&b, "links", r.Links, linkText)
	row(&b, "usage", r.Usage, nil)
	row(&b, "verdicts", r.Verdicts, nil)
	for _, line := range usageLines(r) {
		fmt.Fprintf(&b, "  %-10s %s\n", line[0], line[1])
	}
	if r.Rejected > 0 {
		fmt.Fprintf(&b, "  %-10s full: no room for %s\n", "queue", cli.Plural(r.Rejected, "URL"))
	}
	if n := len(r.Unmet); n > 0 {
		fmt.Fprintf(&b, "  %-10s no host of the crawl is %s%s: these settings did nothing\n", "warning", cli.Printable(strings.Join(r.Unmet[:min(10, n)], " or ")), cli.AndMore(max(0, n-10)))
	}
	if n := len(r.HTMLRobots); n > 0 {
		fmt.Fprintf(&b, "  %-10s robots.txt of %s%s is an HTML page, and has no rules\n", "warning", cli.Printable(strings.Join(r.HTMLRobots[:min(3, n)], " and ")), cli.AndMore(max(0, n-3)))
	}
	if hosts := slices.Sorted(maps.Keys(r.SitemapsCut)); len(hosts) > 0 {
		fmt.Fprintf(&b, "  %-10s not all sitemaps of %s%s are read (max-sitemaps): %s left out\n", "warning",
			cli.Printable(strings.Join(hosts[:min(3, len(hosts))], " and ")), cli.AndMore(max(0, len(hosts)-3)), num(r.Reasons[crawler.ReasonSitemapBudget]))
	}
	if n := len(r.Sitemaps); n > 0 {
		fmt.Fprintf(&b, "  %-10s %s", "sitemaps", cli.Printable(strings.Join(r.Sitemaps[:min(3, n)], " ")))
		if n > 3 {
			fmt.Fprintf(&b, " and %d more", n-3)
		}
		b.WriteByte('\n')
	}
	return b.String() + results(r)
}

// costText describes the cost of a crawl for the sites: their work for it, and how often they were in trouble.
func costText(r *crawler.Report) string {
	text := fmt.Sprintf("to the sites: %s, %s", cli.Plural(r.Requests, "request"), cli.Bytes(r.Bytes))
	if r.Finish != "" { // unknown as long as the crawl has not ended
		text += ", " + cli.Plural(r.Connections, "connection")
	}
	if r.Server.Duration > 0 { // earlier versions did not record the server's time
		text += fmt.Sprintf(", %s of their servers' time", cli.Round(r.Server.Duration))
	}
	var trouble []string
	if r.TooMany > 0 {
		trouble = append(trouble, "429 "+howOften(r.TooMany))
	}
	if r.ServerErrors > 0 {
		trouble = append(trouble, "5xx "+howOften(r.ServerErrors))
	}
	if len(trouble) == 0 {
		return text
	}
	return text + "; they answered " + strings.Join(trouble, " and ")
}

// howOften returns n as an adverb: once, 12 times.
func howOften(n int) string {
	if n == 1 {
		return "once"
	}
	return num(n) + " times"
}

// renderedText describes how many pages were rendered, and what their rendering cost the sites.
func renderedText(r *crawler.Report) string {
	c := r.Rendering
	return fmt.Sprintf("%s, which wanted %s; %d answered, with %s to the sites",
		cli.Plural(c.Pages, "page"), cli.Plural(c.Wanted, "URL"), c.Answered, cli.Plural(r.Resources, "request"))
}

// spanText returns the duration of a crawl and, if it was resumed, the whole period.
func spanText(r *crawler.Report) string {
	if r.Runs <= 1 {
		return "in " + cli.Round(r.Elapsed.Duration).String()
	}
	if over := r.Ended.Sub(r.Started); over >= r.Elapsed.Duration {
		return fmt.Sprintf("in %s, in %d runs over %s", cli.Round(r.Elapsed.Duration), r.Runs, cli.Round(over))
	}
	return fmt.Sprintf("in %s, in %d runs", cli.Round(r.Elapsed.Duration), r.Runs) // the clock was set back between the runs
}

// finishText describes how a crawl ended: the text ended or, if it is "", a text for the report's Finish.
func finishText(r *crawler.Report, ended string) string {
	left := cli.Plural(r.Left, "URL") + " left"
	switch {
	case ended != "":
		return ended + ", " + left
	case r.Finish == crawler.FinishDone:
		return "done, " + leftText(r)
	case r.Stopped != "":
		return fmt.Sprintf("stopped because %s, %s", cli.Printable(r.Stopped), left)
	case finishWords(r.Finish) != "":
		return finishWords(r.Finish) + ", " + left
	case r.Finish.Limit():
		return fmt.Sprintf("limit %s reached, %s", LimitName(r.Finish), left)
	}
	return fmt.Sprintf("%s, %s", r.Finish, left)
}

// leftText describes the URLs that a finished crawl did not request.
func leftText(r *crawler.Report) string {
	var texts []string
	for _, c := range [...]struct{ reason, what, why string }{
		{crawler.ReasonHostBudget, "URL", "the budgets of their hosts were used up"},
		{crawler.ReasonSitemapBudget, "sitemap", "their hosts have more than max-sitemaps"},
		{crawler.ReasonRobotsBudget, "URL", "as many robots.txt files were requested as max-robots-requests and max-per-host allow"},
	} {
		if n := r.Reasons[c.reason]; n > 0 {
			texts = append(texts, fmt.Sprintf("%s left out: %s", cli.Plural(n, c.what), c.why))
		}
	}
	return cmp.Or(strings.Join(texts, "; "), "nothing left")
}

// LimitName returns a limit by the name of its key.
func LimitName(f crawler.Finish) string { return strings.ReplaceAll(string(f), "_", "-") }

// wallsText counts challenges by the name of their wall.
func wallsText(walls map[string]int) string {
	var texts []string
	for _, wall := range slices.Sorted(maps.Keys(walls)) {
		texts = append(texts, num(walls[wall])+" of "+wall)
	}
	return cmp.Or(and(texts...), "none")
}

// linkText returns words for a link's fate.
func linkText(fate string) string {
	switch crawler.Fate(fate) {
	case crawler.FateFollow:
		return "in scope"
	case crawler.FateResource:
		return "images, styles and other parts of pages"
	case crawler.FateInvalid:
		return "no URLs that can be requested"
	case crawler.FateTrap:
		return "endless paths and queries"
	case crawler.FateLimit:
		return "beyond those that are read of a page"
	case crawler.FateFull:
		return "no room in the queue"
	}
	return ReasonText(fate)
}

// row prints counts, the largest first. text returns a key in words; nil: the keys are words.
func row[K cmp.Ordered](b *strings.Builder, name string, counts map[K]int, text func(string) string) {
	const most = 8
	if len(counts) == 0 {
		return
	}
	keys := cli.ByCount(counts)
	parts := make([]string, 0, most)
	for _, k := range keys[:min(most, len(keys))] {
		key := cmp.Or(fmt.Sprint(k), "unknown")
		if text != nil {
			key = text(key)
		}
		parts = append(parts, fmt.Sprintf("%s %d", cli.Printable(key), counts[k]))
	}
	line := strings.Join(parts, ", ")
	if n := len(keys); n > most {
		line += fmt.Sprintf(" and %d more", n-most)
	}
	fmt.Fprintf(b, "  %-10s %s\n", name, wrapped(line))
}
