package explain

import (
	"cmp"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	"github.com/amble-crawler/amble/crawler"
	"github.com/amble-crawler/amble/internal/cli"
	"github.com/amble-crawler/amble/weburl"
)

// linkLine is one link, as a line of "amble explain --links --json".
type linkLine struct {
	URL  string       `json:"url"` // "" if Ref is invalid
	Ref  string       `json:"ref"` // the reference as written in the page
	Kind string       `json:"kind"`
	Tag  string       `json:"tag"`
	Attr string       `json:"attr"`
	Rel  []string     `json:"rel"`
	Text string       `json:"text"`
	Fate crawler.Fate `json:"fate"`
	Rule string       `json:"rule"`
}

// text returns the link as readable text. short formats its URL.
func (l *linkLine) text(short func(url string) string) string {
	place := l.Tag
	if l.Attr != "" {
		place += "[" + l.Attr + "]"
	}
	if len(l.Rel) > 0 {
		place += " rel=" + strings.Join(l.Rel, ",")
	}
	line := fmt.Sprintf("%-12s %-8s %-14s %s", l.Fate, l.Kind, place, cmp.Or(short(l.URL), l.Ref))
	if l.Text != "" {
		line += fmt.Sprintf("  %q", l.Text)
	}
	if l.Rule != "" {
		line += "  (" + l.Rule + ")"
	}
	return cli.Printable(strings.TrimRight(line, " "))
}

// Links writes and counts the links of a page.
type Links struct {
	Short func(url string) string // formats a URL for text

	page    string
	noLinks string
	dropped int
	fates   map[crawler.Fate]int
}

// Add writes the links of a visit, each as a line of text or of JSON.
func (p *Links) Add(w io.Writer, v *crawler.Visit, asJSON bool) {
	p.page, p.fates = v.URL.String(), map[crawler.Fate]int{}
	if v.Doc == nil {
		p.noLinks = v.Page.ContentType
		return
	}
	p.dropped = v.Doc.Dropped
	for _, l := range v.Links() {
		p.fates[l.Fate]++
		line := linkLine{
			URL: l.URL.String(), Ref: l.Ref, Kind: l.Kind.String(), Tag: l.Tag, Attr: l.Attr,
			Rel: strings.Fields(l.Rel.String()), Text: l.Text, Fate: l.Fate, Rule: l.Rule,
		}
		if l.URL.IsZero() { // an invalid URL may contain a password
			line.Ref = weburl.Redact(l.Ref)
		}
		if asJSON {
			_ = cli.PrintJSON(w, line) // a write to memory cannot fail
			continue
		}
		fmt.Fprintln(w, line.text(p.Short))
	}
}

// Text returns a summary of the links that were added.
func (p *Links) Text() string {
	if p.noLinks != "" {
		return cli.Printable(fmt.Sprintf("%s is %s: no links are read from it", p.page, p.noLinks))
	}
	n := 0
	var parts []string
	for _, f := range slices.Sorted(maps.Keys(p.fates)) {
		n += p.fates[f]
		parts = append(parts, fmt.Sprintf("%s %d", f, p.fates[f]))
	}
	text := cli.Plural(n, "link")
	if n > 0 {
		text += ": " + strings.Join(parts, ", ")
	}
	if p.dropped > 0 {
		text += fmt.Sprintf("; %d more were not read", p.dropped)
	}
	return text
}
