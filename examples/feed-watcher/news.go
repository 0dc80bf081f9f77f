package main

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"sync"

	"github.com/amble-crawler/amble/crawler"
	"github.com/amble-crawler/amble/extract"
)

// item is an entry of a feed.
type item struct {
	Feed  string `json:"feed"`
	URL   string `json:"url"`
	Title string `json:"title,omitempty"`
}

// news collects the new entries of feeds. It is the crawl's Handler.
type news struct {
	known state // state before this run
	all   bool

	mu    sync.Mutex
	items []item
	read  state // feeds read in this run
	errs  []error
}

// Handle implements crawler.Handler. It follows no links of feeds.
func (n *news) Handle(_ context.Context, v *crawler.Visit) error {
	switch {
	case v.Outcome == crawler.Redirected, v.Outcome == crawler.NotModified:
		return nil
	case v.Outcome != crawler.Fetched || v.Status() != http.StatusOK:
		n.fail(fmt.Errorf("%s: %s", v.URL, cmp.Or(v.Reason, fmt.Sprintf("status %d", v.Status()))))
	case v.Doc != nil && v.Page.IsHTML():
		return nil // a page, whose feeds are among its links
	case v.Doc == nil || !slices.ContainsFunc(v.Doc.Links, isEntry) && v.Doc.Title == "":
		n.fail(fmt.Errorf("%s: neither a page nor a feed", v.URL))
	default:
		n.feed(v)
	}
	return crawler.SkipLinks
}

func isEntry(l extract.Link) bool { return l.Kind == extract.Entry }

func (n *news) fail(err error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.errs = append(n.errs, err)
}

// feed records the entries of a feed, and which of them are new. It copies texts, since otherwise the whole feed would stay in memory.
func (n *news) feed(v *crawler.Visit) {
	at := v.URL.String()
	old, again := n.known[at]
	known := map[string]bool{}
	for _, u := range old.Entries {
		known[u] = true
	}
	now := feed{ETag: strings.Clone(v.Validators.ETag), LastModified: strings.Clone(v.Validators.LastModified)}
	var items []item
	for _, l := range v.Links() {
		if !isEntry(l.Link) || l.URL.IsZero() {
			continue
		}
		u := l.URL.String()
		now.Entries = append(now.Entries, u)
		if !known[u] && (again || n.all) {
			items = append(items, item{at, u, strings.Clone(l.Text)})
		}
		known[u] = true
	}
	now.keep(old.Entries)
	n.mu.Lock()
	defer n.mu.Unlock()
	n.read[at] = now
	n.items = append(n.items, items...)
}

// write prints the new entries, in the order of each feed. An entry that is in several feeds is printed once. Titles are quoted, so that
// they cannot control a terminal.
func (n *news) write(w io.Writer, asJSON bool) error {
	n.mu.Lock()
	defer n.mu.Unlock()
	slices.SortStableFunc(n.items, func(a, b item) int { return strings.Compare(a.Feed, b.Feed) })
	e, printed := json.NewEncoder(w), map[string]bool{}
	for _, i := range n.items {
		if printed[i.URL] {
			continue
		}
		printed[i.URL] = true
		var err error
		if asJSON {
			err = e.Encode(i)
		} else {
			_, err = fmt.Fprintf(w, "%s %q\n", i.URL, i.Title)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// failed returns an error that lists the feeds that could not be read.
func (n *news) failed() error {
	n.mu.Lock()
	defer n.mu.Unlock()
	return errors.Join(n.errs...)
}
