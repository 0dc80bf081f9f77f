package main

import (
	"context"

	"github.com/amble-crawler/amble/fetcher"
	"github.com/amble-crawler/amble/politeness"
)

// conditional is a Fetcher that asks for a feed only in case it has changed.
type conditional struct {
	*fetcher.Fetcher
	known state // not changed while the crawl runs
}

// Fetch implements crawler.Fetcher.
func (c conditional) Fetch(ctx context.Context, p politeness.Permit) (*fetcher.Page, error) {
	if p.Purpose() != politeness.Page {
		return c.Fetcher.Fetch(ctx, p)
	}
	f := c.known[p.URL().String()]
	return c.FetchConditional(ctx, p, fetcher.Validators{ETag: f.ETag, LastModified: f.LastModified})
}
