package main

import (
	"context"
	"encoding/json"
	"errors"

	"github.com/amble-crawler/amble/crawler"
)

// links is the part of a page's links in the state: those that were followed.
type links struct {
	Links []string `json:"links"`
}

// follower stores each page's links with its visit, and follows the stored links of an unchanged page. It is the crawl's Handler.
type follower struct{ before state }

// Handle implements crawler.Handler.
func (f follower) Handle(_ context.Context, v *crawler.Visit) error {
	switch v.Outcome {
	case crawler.NotModified:
		return f.again(v)
	case crawler.Fetched:
		return v.Emit(links{followed(v)})
	}
	return nil
}

// followed returns the URLs to which a page leads, each once.
func followed(v *crawler.Visit) (list []string) {
	seen := map[string]bool{}
	for _, l := range v.Links() {
		if url := l.URL.String(); l.Fate == crawler.FateFollow && !seen[url] {
			seen[url] = true
			list = append(list, url)
		}
	}
	return list
}

// again follows the stored links.
func (f follower) again(v *crawler.Visit) error {
	var old links
	if err := json.Unmarshal(f.before[v.URL.String()].Data[0], &old); err != nil {
		return err
	}
	for _, url := range old.Links {
		var refused *crawler.EnqueueError // a new rule excludes it
		if err := v.Enqueue(crawler.Request{URL: url}); err != nil && !errors.As(err, &refused) {
			return err
		}
	}
	return v.Emit(old)
}
