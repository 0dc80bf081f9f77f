package main

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"maps"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/amble-crawler/amble/crawler"
	"github.com/amble-crawler/amble/extract"
	"github.com/amble-crawler/amble/weburl"
)

// site collects the pages of a crawl that may be in a sitemap. It is the crawl's Handler.
type site struct {
	seed weburl.URL
	log  io.Writer // writer for messages; nil: none

	mu      sync.Mutex
	home    weburl.URL // URL to which the seed's redirects lead
	away    weburl.URL // URL outside of the crawl to which the seed's redirects lead instead
	entries []entry
	left    map[string]int // number of pages left out, by reason
}

// entry is one page of a sitemap.
type entry struct {
	loc      string
	modified time.Time // time of the last change; zero if unknown
}

func newSite(seed weburl.URL) *site { return &site{seed: seed, left: map[string]int{}} }

// Handle implements crawler.Handler.
func (s *site) Handle(_ context.Context, v *crawler.Visit) error {
	e, why := judge(v)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.findHome(v)
	if why == "" {
		s.entries = append(s.entries, e)
	} else {
		s.left[why]++
	}
	if s.log != nil {
		fmt.Fprintln(s.log, v.URL, cmp.Or(why, "listed"))
	}
	return nil
}

// findHome records where the seed's redirects lead.
func (s *site) findHome(v *crawler.Visit) {
	if v.URL != s.seed && (len(v.Hops) == 0 || v.Hops[0] != s.seed.String()) {
		return
	}
	switch v.Outcome {
	case crawler.Fetched:
		s.home = v.URL
	case crawler.OutOfScope:
		s.away = v.URL
	}
}

// root returns the URL of the site's root directory.
func (s *site) root() (string, error) {
	switch {
	case !s.away.IsZero():
		return "", fmt.Errorf("%s leads to another site: give %s", s.seed, s.away)
	case s.home.IsZero():
		return "", fmt.Errorf("nothing written: %s could not be fetched (%s)", s.seed, s.reasons())
	}
	return s.home.Origin() + "/", nil
}

// judge returns the sitemap's entry for a visited page, or the reason why it has none.
func judge(v *crawler.Visit) (e entry, why string) {
	switch {
	case v.Outcome != crawler.Fetched:
		return e, cmp.Or(v.Reason, string(v.Outcome))
	case v.Status() != http.StatusOK:
		return e, fmt.Sprintf("status %d", v.Status())
	case !isHTML(v.Page.ContentType):
		return e, "not HTML"
	case v.Directives.NoIndex:
		return e, "noindex"
	}
	own := canonical(v)
	if own.Key() != v.URL.Key() {
		return e, "canonical elsewhere"
	}
	if len(own.String()) >= maxLoc {
		return e, "URL too long"
	}
	return entry{loc: own.String(), modified: lastModified(v.Page.Header, v.Page.FirstByte)}, ""
}

// isHTML reports whether a media type is a type of HTML pages.
func isHTML(mediaType string) bool {
	return mediaType == "text/html" || mediaType == "application/xhtml+xml"
}

// canonical returns the canonical URL that the page states, in the document or in a Link header (RFC 6596). If it states none that can be
// requested, canonical returns the page's URL.
func canonical(v *crawler.Visit) weburl.URL {
	if own := v.Canonical(); !own.IsZero() {
		return own
	}
	for _, l := range extract.LinkHeader(v.Page.Header.Values("Link")) {
		if own, err := v.URL.Resolve(l.Ref); err == nil && l.Rel&extract.Canonical != 0 {
			return own
		}
	}
	return v.URL
}

// lastModified returns the time of the Last-Modified header, or the zero time if that is not before the response: a server that generates
// pages on request often sends the time of the response.
func lastModified(h http.Header, answered time.Time) time.Time {
	t, err := http.ParseTime(h.Get("Last-Modified"))
	if err != nil {
		return time.Time{}
	}
	if date, err := http.ParseTime(h.Get("Date")); err == nil {
		answered = date
	}
	if !t.Before(answered.Truncate(time.Second)) {
		return time.Time{}
	}
	return t.UTC()
}

// list returns the entries below base, sorted. A sitemap applies only to its own directory (sitemaps.org, "Sitemap file location").
func (s *site) list(base string) []entry {
	s.mu.Lock()
	defer s.mu.Unlock()
	var list []entry
	for _, e := range s.entries {
		if strings.HasPrefix(e.loc, base) {
			list = append(list, e)
		} else {
			s.left["not below "+base]++
		}
	}
	slices.SortFunc(list, func(a, b entry) int { return strings.Compare(a.loc, b.loc) })
	s.entries = list
	return list
}

func (s *site) summary(w io.Writer) {
	s.mu.Lock()
	defer s.mu.Unlock()
	fmt.Fprintf(w, "%d pages listed\n", len(s.entries))
	if len(s.left) > 0 {
		fmt.Fprintf(w, "left out: %s\n", s.reasons())
	}
}

// reasons returns the reasons why URLs were left out, with the number of URLs for each.
func (s *site) reasons() string {
	var parts []string
	for _, why := range slices.Sorted(maps.Keys(s.left)) {
		parts = append(parts, fmt.Sprintf("%d %s", s.left[why], why))
	}
	return strings.Join(parts, ", ")
}
