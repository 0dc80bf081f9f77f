package report

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/amble-crawler/amble/crawler"
	"github.com/amble-crawler/amble/internal/cli"
	"github.com/amble-crawler/amble/job/digest"
)

// results returns the result of a crawl in plain words, with a line each for fetched, broken, refused and over-budget URLs.
func results(r *crawler.Report) string {
	const most = 5
	var b strings.Builder
	line := func(name string, parts []string) {
		for i, part := range parts {
			if i == most {
				part = num(len(parts)-most) + " more kinds"
			}
			fmt.Fprintf(&b, "  %-10s %s\n", name, wrapped(part))
			if name = ""; i == most {
				return
			}
		}
	}
	got := num(r.ContentPages()) + " pages and files with content"
	if r.ContentPages() == 1 {
		got = "1 page or file with content"
	}
	line("fetched", []string{got})
	var broken, refused, over, other []string
	for _, status := range slices.Sorted(maps.Keys(r.Statuses)) {
		if n := r.Statuses[status] - r.WallStatuses[status]; status >= 400 && n > 0 {
			broken = append(broken, fmt.Sprintf("status %d: %s", status, num(n)))
		}
	}
	for _, reason := range cli.ByCount(r.Reasons) {
		text := fmt.Sprintf("%s (%s): %s", ReasonText(reason), cli.Printable(reason), num(r.Reasons[reason]))
		switch key := digest.LimitOf(reason); {
		case digest.ResultOf("", reason, 0) == digest.Refused:
			refused = append(refused, text)
		case broke(reason):
			broken = append(broken, text)
		case key != "":
			over = append(over, fmt.Sprintf("%s (%s, set by %s): %s", ReasonText(reason), reason, key, num(r.Reasons[reason])))
		default:
			other = append(other, text)
		}
	}
	if n := r.Links[crawler.FateLimit]; n > 0 {
		over = append(over, "links beyond those that are read of a page (link_limit, set by max-links): "+num(n))
	}
	if r.Left > 0 && r.Finish.Limit() {
		over = append(over, fmt.Sprintf("still queued when %s was reached: %s", LimitName(r.Finish), num(r.Left)))
	}
	line("broken", broken)
	line("refused", refused)
	line("over", over)
	line("other", other)
	return b.String()
}

// broke reports whether a reason means that a URL had no usable response.
func broke(reason string) bool {
	for _, begin := range []string{"dns_", "connect_", "tls_", "header_", "redirect_loop", "redirect_bad", "unreachable", "reset", "no_answer", "malformed", "idle_", "fetch_", "encoding"} {
		if strings.HasPrefix(reason, begin) {
			return true
		}
	}
	return false
}

// wrapped breaks a text between words, for the column of values on a terminal with 80 columns.
func wrapped(text string) string {
	const width, indent = 67, "\n             "
	var b strings.Builder
	column := 0
	for i, word := range strings.Fields(text) {
		n := len([]rune(word))
		switch {
		case i == 0:
		case column+1+n > width:
			b.WriteString(indent)
			column = 0
		default:
			b.WriteByte(' ')
			column++
		}
		b.WriteString(word)
		column += n
	}
	return b.String()
}
