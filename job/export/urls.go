package export

import (
	"bufio"
	"fmt"
	"slices"
	"strings"

	"github.com/amble-crawler/amble/sink"
	"github.com/amble-crawler/amble/weburl"
)

// Filter selects visits. A list selects visits that match any of its patterns; an empty list selects all.
type Filter struct {
	Status   []string // statuses: 404, or 4xx for 400 to 499
	Types    []string // media types: application/pdf, or image/* for all images
	Hosts    []string // host names; a name with a port matches only that port; *.site.org matches site.org and all names below it
	Outcomes []string // outcomes of visits: fetched, refused, …
}

// Validate returns an error that names the first pattern that can match nothing.
func (f *Filter) Validate() error {
	for _, s := range f.Status {
		if len(s) != 3 || s[0] < '1' || s[0] > '5' || strings.Trim(s[1:], "0123456789") != "" && s[1:] != "xx" {
			return fmt.Errorf("status %q: want one such as 404, or 4xx", s)
		}
	}
	for _, t := range f.Types {
		if major, minor, ok := strings.Cut(t, "/"); !ok || major == "" || minor == "" {
			return fmt.Errorf("type %q: want one such as application/pdf or image/*", t)
		}
	}
	return nil
}

// Match reports whether the filter selects a visit.
func (f *Filter) Match(v *sink.Record) bool {
	anyOf := func(patterns []string, match func(string) bool) bool {
		return len(patterns) == 0 || slices.ContainsFunc(patterns, match)
	}
	return anyOf(f.Status, func(s string) bool {
		return fmt.Sprint(v.Status) == s || s[1:] == "xx" && fmt.Sprint(v.Status/100) == s[:1]
	}) && anyOf(f.Types, func(t string) bool {
		return strings.EqualFold(v.Type, t) || strings.HasSuffix(t, "/*") && len(v.Type) >= len(t) && strings.EqualFold(v.Type[:len(t)-1], t[:len(t)-1])
	}) && anyOf(f.Outcomes, func(o string) bool { return v.Outcome == o }) && anyOf(f.Hosts, func(h string) bool {
		u, err := weburl.Parse(v.URL)
		if err != nil {
			return false
		}
		h = strings.ToLower(h)
		below, wild := strings.CutPrefix(h, "*.")
		return h == u.Hostname() || h == u.Hostname()+":"+u.Port() || wild && (below == u.Hostname() || strings.HasSuffix(u.Hostname(), "."+below))
	})
}

// URLs returns the kind urls: the URLs of the visits that a filter selects, one per line, in the order of the crawl. If a URL has
// several visits, the last one counts. It needs some 40 bytes of memory for each URL.
func URLs(f Filter) Kind {
	return Kind{
		Name: "urls", Doc: "a list of URLs, one a line", Suffix: "-urls.txt",
		Write: func(x *Export) error {
			last, n := map[weburl.Key]int{}, 0
			for v, err := range x.Visits() {
				if err != nil {
					return err
				}
				last[keyOf(v)] = n
				n++
			}
			n = 0
			return x.WriteFile(x.Path, func(w *bufio.Writer) error {
				for v, err := range x.Visits() {
					if err != nil {
						return err
					}
					if last[keyOf(v)] == n && f.Match(v) {
						if _, err := w.WriteString(v.URL + "\n"); err != nil {
							return err
						}
					}
					n++
				}
				return nil
			})
		},
	}
}

// keyOf identifies the URL of a visit.
func keyOf(v *sink.Record) weburl.Key {
	u, err := weburl.Parse(v.URL)
	if err != nil {
		return weburl.Key{}
	}
	return u.Key()
}
