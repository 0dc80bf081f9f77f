package main

import (
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/http"
	"slices"

	"github.com/amble-crawler/amble/crawler"
	"github.com/amble-crawler/amble/sink"
)

// kind says what has happened to a page.
type kind string

// Kinds of changes. unsure and notReached are no changes: the state of the page is unknown.
const (
	added      kind = "new"
	changed    kind = "changed"
	moved      kind = "moved"
	gone       kind = "gone"
	unsure     kind = "unsure"
	notReached kind = "not_reached"
)

// change is a page that has changed, or whose state is unknown now.
type change struct {
	Kind   kind   `json:"kind"`
	URL    string `json:"url"`
	Detail string `json:"detail,omitempty"`
}

// there reports whether the visit found a page.
func there(r sink.Record) bool {
	return crawler.Outcome(r.Outcome) == crawler.Fetched && r.Status >= 200 && r.Status < 300
}

// compare returns the differences between two states, sorted by URL. whole says whether the crawl was complete: only then can a missing
// visit show that no page links to a URL any more.
func compare(before, after state, whole bool) (list []change) {
	urls := maps.Clone(before)
	maps.Copy(urls, after)
	for _, url := range slices.Sorted(maps.Keys(urls)) {
		old, now := before[url], after[url]
		c := change{URL: url}
		_, seen := after[url]
		switch {
		case !there(old):
			c.Kind, c.Detail = appeared(now)
		case !seen && whole:
			c.Kind, c.Detail = gone, "no page links to it any more"
		case !seen:
			c.Kind = notReached
		default:
			c.Kind, c.Detail = differs(old, now)
		}
		if c.Kind != "" {
			list = append(list, c)
		}
	}
	return list
}

func appeared(now sink.Record) (kind, string) {
	if !there(now) {
		return "", ""
	}
	return added, now.Title
}

// differs returns how a page that existed before has changed, "" if it has not changed.
func differs(old, now sink.Record) (kind, string) {
	switch {
	case crawler.Outcome(now.Outcome) == crawler.Redirected:
		return moved, "to " + now.Final
	case now.Status == http.StatusNotFound || now.Status == http.StatusGone:
		return gone, fmt.Sprintf("status %d", now.Status)
	case !there(now):
		if now.Reason == "" {
			return unsure, fmt.Sprintf("status %d", now.Status)
		}
		return unsure, now.Reason
	case now.Truncated != old.Truncated:
		return unsure, "not whole: " + cmp.Or(now.Truncated, "before")
	case now.SHA256 == old.SHA256 && now.Status == old.Status:
		return "", ""
	case now.Status != old.Status:
		return changed, fmt.Sprintf("status %d, was %d", now.Status, old.Status)
	case now.Title != old.Title:
		return changed, fmt.Sprintf("title %q, was %q", now.Title, old.Title)
	}
	return changed, fmt.Sprintf("%+d bytes", now.Bytes-old.Bytes)
}

// tell reports whether any element of the list is a change.
func tell(list []change) bool {
	return slices.ContainsFunc(list, func(c change) bool { return c.Kind != unsure && c.Kind != notReached })
}

// merge returns the state for the next comparison. It is the new state, but with the old state of pages whose state is unknown now:
// otherwise they would be new when they return.
func merge(before, after state, list []change) state {
	next := maps.Clone(after)
	for _, c := range list {
		if c.Kind == unsure || c.Kind == notReached {
			next[c.URL] = before[c.URL]
		}
	}
	return next
}

// write prints the list. Titles are quoted, so that they cannot control a terminal.
func write(w io.Writer, list []change, asJSON bool) error {
	e := json.NewEncoder(w)
	for _, c := range list {
		var err error
		switch {
		case asJSON:
			err = e.Encode(c)
		case c.Kind == added:
			_, err = fmt.Fprintf(w, "%-11s %s %q\n", c.Kind, c.URL, c.Detail)
		case c.Detail == "":
			_, err = fmt.Fprintf(w, "%-11s %s\n", c.Kind, c.URL)
		default:
			_, err = fmt.Fprintf(w, "%-11s %s (%s)\n", c.Kind, c.URL, c.Detail)
		}
		if err != nil {
			return err
		}
	}
	return nil
}
