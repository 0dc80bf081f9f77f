package main

import (
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/amble-crawler/amble/crawler"
	"github.com/amble-crawler/amble/weburl"
)

// report is the result of a check. Its JSON form is the program's output with -json.
type report struct {
	Started time.Time      `json:"started"`
	Ended   time.Time      `json:"ended"`
	Finish  crawler.Finish `json:"finish"`         // "done" if the whole site was seen
	Left    int            `json:"left,omitempty"` // URLs that were not reached
	Pages   int            `json:"pages"`          // of the site, whose links were extracted
	Links   int            `json:"links"`          // different URLs to which they link
	Good    int            `json:"good"`

	Broken    []problem      `json:"broken"`
	Unsure    []problem      `json:"unsure"`    // could not be decided
	Unchecked map[string]int `json:"unchecked"` // links by the reason why they were not checked
}

// problem is a link that is broken or could not be decided.
type problem struct {
	URL       string   `json:"url"`
	Status    int      `json:"status,omitempty"`
	Reason    string   `json:"reason"`
	Detail    string   `json:"detail,omitempty"`
	Redirects []string `json:"redirects,omitempty"`
	On        []place  `json:"on"`
}

// report judges every link by the results of the crawl.
func (l *links) report(sum *crawler.Report) *report {
	l.mu.Lock()
	defer l.mu.Unlock()
	r := &report{
		Started: sum.Started.UTC(), Ended: sum.Ended.UTC(), Finish: sum.Finish, Left: sum.Left, Pages: l.pages,
		Links: len(l.links) + len(l.invalid), Broken: []problem{}, Unsure: []problem{}, Unchecked: map[string]int{},
	}
	for key, x := range l.links {
		r.add(l, key, x)
	}
	for _, x := range l.invalid {
		if x.rule == weburl.ReasonSyntax {
			r.Broken = append(r.Broken, problem{URL: x.url, Reason: x.rule, On: x.on})
		} else {
			r.Unchecked[x.rule]++
		}
	}
	r.sort()
	return r
}

func (r *report) add(l *links, key weburl.Key, x *link) {
	f, hops := l.follow(key)
	p := problem{URL: x.url, Status: f.status, Reason: f.reason, Detail: f.detail, Redirects: hops, On: x.on}
	switch f.verdict {
	case good:
		r.Good++
	case broken:
		r.Broken = append(r.Broken, p)
	case unsure:
		r.Unsure = append(r.Unsure, p)
	case unchecked:
		r.Unchecked[whyNot(x, f)]++
	}
}

// whyNot returns why a link was not checked: the reason of the crawl, or the link's own fate.
func whyNot(x *link, f finding) string {
	switch {
	case f.reason != reasonNotReached || x.fate == crawler.FateFollow:
		return f.reason
	case x.fate == crawler.FateScope:
		return reasonExternal
	case x.fate == crawler.FateInvalid:
		return x.rule
	}
	return string(x.fate)
}

// sort makes the report the same for every crawl of the same site.
func (r *report) sort() {
	for _, list := range [][]problem{r.Broken, r.Unsure} {
		slices.SortFunc(list, func(a, b problem) int { return strings.Compare(a.URL, b.URL) })
		for _, p := range list {
			slices.SortFunc(p.On, func(a, b place) int {
				return strings.Compare(a.Page+" "+a.Element, b.Page+" "+b.Element)
			})
		}
	}
}

func (r *report) json(w io.Writer) error {
	enc := json.NewEncoder(w)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	return enc.Encode(r)
}

// mostPlaces is how many pages the text lists for one link. The JSON form lists all of them.
const mostPlaces = 10

func (r *report) text(w io.Writer) error {
	var b strings.Builder
	for _, p := range r.Broken {
		p.text(&b)
	}
	if len(r.Unsure) > 0 {
		b.WriteString("Could not be decided:\n\n")
	}
	for _, p := range r.Unsure {
		p.text(&b)
	}
	fmt.Fprintf(&b, "pages %d, links %d: %d good, %d broken, %d could not be decided", r.Pages, r.Links, r.Good, len(r.Broken), len(r.Unsure))
	for i, why := range slices.Sorted(maps.Keys(r.Unchecked)) {
		b.WriteString([]string{"; not checked: ", ", "}[min(i, 1)])
		fmt.Fprintf(&b, "%d %s", r.Unchecked[why], why)
	}
	b.WriteByte('\n')
	if r.Finish != crawler.FinishDone {
		fmt.Fprintf(&b, "not the whole site: ended by %s with %d URLs left\n", r.Finish, r.Left)
	}
	_, err := io.WriteString(w, b.String())
	return err
}

func (p problem) text(b *strings.Builder) {
	if p.Reason == weburl.ReasonSyntax {
		fmt.Fprintf(b, "%q\n", p.URL) // text of a page, not a valid URL
	} else {
		fmt.Fprintln(b, p.URL)
	}
	for _, to := range p.Redirects {
		fmt.Fprintf(b, "    redirects to %s\n", to)
	}
	fmt.Fprintf(b, "    %s\n", p.why())
	for i, at := range p.On {
		if i == mostPlaces {
			fmt.Fprintf(b, "    and in %d more places\n", len(p.On)-i)
			break
		}
		if at.Page == "" {
			fmt.Fprintln(b, "    the URL to begin with")
			continue
		}
		fmt.Fprintf(b, "    on %s (%s)\n", at.Page, at.Element)
	}
	b.WriteByte('\n')
}

// why returns the reason in words: a status with its name, any other as its code.
func (p problem) why() string {
	if strings.HasPrefix(p.Reason, "http_") {
		return strings.TrimSpace(fmt.Sprintf("%d %s", p.Status, http.StatusText(p.Status)))
	}
	return p.Reason
}
