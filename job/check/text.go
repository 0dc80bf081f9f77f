package check

import (
	"fmt"
	"io"
	"maps"
	"net/http"
	"slices"
	"strings"

	"github.com/amble-crawler/amble/internal/cli"
	"github.com/amble-crawler/amble/job/report"
	"github.com/amble-crawler/amble/weburl"
)

// The maximum number of URLs of a group, and of pages of a URL, that WriteText prints unless all is set.
const (
	maxURLs  = 8
	maxPages = 3
)

// WriteText prints the findings for a person, grouped by reason, and a summary as the last lines. Unless all is set, long groups
// and lists of pages are cut; each says how many entries are missing.
func (r *Result) WriteText(w io.Writer, all bool) error {
	var b strings.Builder
	for rest := r.Findings; len(rest) > 0; {
		n := 1
		for n < len(rest) && rest[n].Reason == rest[0].Reason && rest[n].Level == rest[0].Level {
			n++
		}
		writeGroup(&b, rest[:n], all)
		rest = rest[n:]
	}
	r.writeSummary(&b)
	_, err := io.WriteString(w, b.String())
	return err
}

// writeGroup prints the findings of one reason.
func writeGroup(b *strings.Builder, group []Finding, all bool) {
	fmt.Fprintf(b, "%s (%s)\n", group[0].Heading(), cli.Nums(len(group), "URL"))
	shown := len(group)
	if !all {
		shown = min(shown, maxURLs)
	}
	for i := 0; i < shown; {
		folder, n := sharedFolder(group[i:shown])
		indent := "  "
		if folder != "" {
			fmt.Fprintf(b, "  %s\n", cli.Printable(folder))
			indent = "    "
		}
		for range n {
			writeFinding(b, &group[i], folder, indent, all)
			i++
		}
	}
	if shown < len(group) {
		fmt.Fprintf(b, "  and %s\n", cli.Nums(len(group)-shown, "more URL"))
	}
	b.WriteByte('\n')
}

// writeFinding prints a URL with its pages. The URL is relative to the folder printed above it, unless folder is "".
func writeFinding(b *strings.Builder, f *Finding, folder, indent string, all bool) {
	fmt.Fprintf(b, "%s%s\n", indent, cli.Printable(strings.TrimPrefix(f.URL, folder)))
	for _, to := range f.Redirects {
		fmt.Fprintf(b, "%s  redirects to %s\n", indent, cli.Printable(to))
	}
	pages := len(f.Pages)
	if !all {
		pages = min(pages, maxPages)
	}
	for _, p := range f.Pages[:pages] {
		name, in := strings.CutPrefix(p.URL, folder)
		if !in || folder == "" || name == "" {
			name = shortened(p.URL, f.URL)
		}
		fmt.Fprintf(b, "%s  on %s%s\n", indent, cli.Printable(name), p.label())
	}
	if pages < len(f.Pages) {
		fmt.Fprintf(b, "%s  and on %s\n", indent, cli.Nums(len(f.Pages)-pages, "more page"))
	}
}

// sharedFolder returns the folder that several consecutive findings at the start of group share, if their URLs are too long for a
// terminal of 80 columns, and the number of findings to print under it. Without a shared folder the number is 1.
func sharedFolder(group []Finding) (folder string, n int) {
	const room = 78
	folder = group[0].URL[:strings.LastIndexByte(group[0].URL, '/')+1]
	long := false
	for n < len(group) && strings.HasPrefix(group[n].URL, folder) && len(group[n].URL) > len(folder) {
		long = long || len(group[n].URL) > room
		n++
	}
	if n < 2 || !long || strings.Count(folder, "/") < 3 {
		return "", 1
	}
	return folder, n
}

// label returns the text of the link or, if it has none, the kind of the reference, such as "image"; "" for an anchor.
func (p *Page) label() string {
	switch {
	case p.Text != "":
		return fmt.Sprintf(": %q", p.Text)
	case p.Kind == "" || p.Kind == "anchor":
		return ""
	}
	return " (" + p.Kind + ")"
}

// shortened leaves out the origin of a page if it is that of the URL above it.
func shortened(page, above string) string {
	p, err := weburl.Parse(page)
	if u, err2 := weburl.Parse(above); err == nil && err2 == nil && p.Origin() == u.Origin() {
		return p.PathQuery()
	}
	return page
}

// Heading returns the reason and the level of a finding in words.
func (f *Finding) Heading() string {
	why := f.Why()
	switch f.Level {
	case Broken:
		return "Broken: " + why
	case Undecided:
		return "Undecided: " + why
	}
	return strings.ToUpper(why[:1]) + why[1:]
}

// Why returns the reason in words.
func (f *Finding) Why() string {
	switch f.Reason {
	case reasonFragment:
		return "the page has no element of that name"
	case reasonRedirect:
		return "redirects to mend"
	case reasonMixed:
		return "mixed content, which browsers block on a page by https"
	case reasonRobots:
		return "not checked, because robots.txt forbids it"
	case weburl.ReasonSyntax:
		return "not a URL"
	}
	if strings.HasPrefix(f.Reason, "http_") {
		return strings.TrimSpace(fmt.Sprintf("%d %s", f.Status, http.StatusText(f.Status)))
	}
	return report.ReasonText(f.Reason)
}

// writeSummary prints the figures of the check.
func (r *Result) writeSummary(b *strings.Builder) {
	count := map[Level]int{}
	redirects := 0
	for i := range r.Findings {
		count[r.Findings[i].Level]++
		if r.Findings[i].Reason == reasonRedirect {
			redirects++
		}
	}
	fmt.Fprintf(b, "%s with links to %s: ", cli.Nums(r.Pages, "page"), cli.Nums(r.Links, "URL"))
	if count[Broken] == 0 {
		b.WriteString("none is broken")
	} else {
		fmt.Fprintf(b, "%s broken", cli.Num(count[Broken]))
	}
	for _, more := range []struct {
		n    int
		what string
	}{
		{count[Undecided], "undecided"}, {redirects, "redirected"}, {count[Mend] - redirects, "by http on a page by https"},
		{count[Unknown], "forbidden by robots.txt"},
	} {
		if more.n > 0 {
			fmt.Fprintf(b, ", %s %s", cli.Num(more.n), more.what)
		}
	}
	b.WriteByte('\n')
	if len(r.Unchecked) > 0 {
		b.WriteString("not requested:")
		for i, why := range slices.Sorted(maps.Keys(r.Unchecked)) {
			fmt.Fprintf(b, "%s %s %s", []string{"", ","}[min(i, 1)], cli.Num(r.Unchecked[why]), unrequested(why))
		}
		b.WriteByte('\n')
	}
	for _, note := range r.Notes {
		fmt.Fprintln(b, note)
	}
}

// unrequested returns in words why a URL was not requested.
func unrequested(why string) string {
	switch why {
	case "follow":
		return "left in the queue"
	case "nofollow":
		return "marked nofollow"
	case "resource":
		return "images and other resources"
	}
	return report.ReasonText(why)
}
