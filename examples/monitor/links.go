package main

import (
	"context"
	"encoding/json"
	"errors"

	"github.com/amble-crawler/amble/crawler"
)

// links is a part of the state: the links of a page that were followed.
type links struct {
	Links []string `json:"links"`
}

// follower stores the links of each page with its visit, and follows the stored links of a page that is unchanged. It is the crawl's
// Handler.
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

// followed returns the URLs of the page's links that were followed, each once.
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

// again follows the stored links of an unchanged page.
func (f follower) again(v *crawler.Visit) error {
	var old links
	if err := json.Unmarshal(f.before[v.URL.String()].Data[0], &old); err != nil {
		return err
	}
	for _, url := range old.Links {
		var refused *crawler.EnqueueError // a new rule excludes the URL
		if err := v.Enqueue(crawler.Request{URL: url}); err != nil && !errors.As(err, &refused) {
			return err
		}
	}
	return v.Emit(old)
}
