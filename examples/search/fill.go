package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"sync"
	"time"

	"github.com/amble-crawler/amble/crawler"
	"github.com/amble-crawler/amble/examples/cmdline"
	"github.com/amble-crawler/amble/robots"
)

// crawlOptions configures the crawl.
type crawlOptions struct {
	cmdline.Crawl
	maxDepth int
}

// config returns the configuration of the crawl: HTML pages, except those that their sites exclude from search.
func (o crawlOptions) config(c crawler.Config) crawler.Config {
	o.Set(&c)
	c.Limits.Depth = cmp.Or(crawler.Limit(o.maxDepth), crawler.Unlimited)
	c.Politeness.RefuseUsage = []string{robots.UseSearch}
	c.Fetch.Wanted = isHTML
	return c
}

// fill crawls the seeds and adds their pages to the index in dir. whole reports whether the crawl was complete, and not ended by a limit or
// an interrupt.
func (p program) fill(ctx context.Context, dir string, seeds []string, o crawlOptions) (whole bool, err error) {
	keep := context.WithoutCancel(ctx) // pages fetched before an interrupt are written
	x, err := create(keep, dir)
	if err != nil {
		return false, err
	}
	defer func() { err = errors.Join(err, x.close()) }()
	f := &filler{index: x}
	cfg := o.config(p.base)
	cfg.Handler = f
	c, err := crawler.New(cfg)
	if err != nil {
		return false, err
	}
	defer context.AfterFunc(ctx, c.Drain)()
	rep, err := c.Run(keep, seeds...)
	if err = errors.Join(err, f.err); err != nil {
		return false, err
	}
	if rep.Pages == 0 {
		return false, errors.New("no page could be fetched")
	}
	n, err := x.size(keep)
	fmt.Fprintf(p.stderr, "%d pages fetched (%s): %d put into the index, %d taken out, %d left out; the index has %d\n",
		rep.Pages, rep.Finish, f.put, f.removed, f.left, n)
	return rep.Finish == crawler.FinishDone, err
}

// filler adds pages to an index. It is the crawl's Handler.
type filler struct {
	mu                 sync.Mutex
	index              *index
	put, removed, left int
	err                error // error of writing to the index
}

// Handle implements crawler.Handler.
func (f *filler) Handle(ctx context.Context, v *crawler.Visit) error {
	e, keep := read(v)
	f.mu.Lock()
	defer f.mu.Unlock()
	var err error
	switch {
	case f.err != nil:
	case keep:
		f.put++
		err = f.index.put(ctx, e)
	case unwanted(v):
		var was bool
		if was, err = f.index.remove(ctx, v.URL.String()); was {
			f.removed++
		} else {
			f.left++
		}
	default:
		f.left++
	}
	if err != nil {
		f.err = err
		return crawler.Stop // pages that cannot be stored are not requested
	}
	return nil
}

// read returns the index entry for a visit; keep is false if the page must not be in the index.
func read(v *crawler.Visit) (e entry, keep bool) {
	if v.Outcome != crawler.Fetched || v.Status() != http.StatusOK || v.Doc == nil || v.SameAs != "" || v.Directives.NoIndex {
		return e, false
	}
	body, err := v.Page.Text()
	if err != nil {
		return e, false
	}
	return entry{url: v.URL.String(), title: v.Doc.Title, text: text(body), fetched: v.Page.Ended.UTC().Format(time.RFC3339)}, true
}

// unwanted reports whether a page must be removed from the index. A response of a bot wall is no reason, because it says nothing about the
// page.
func unwanted(v *crawler.Visit) bool {
	if v.Page != nil && v.Page.Wall != "" {
		return false
	}
	return v.Outcome == crawler.Refused || v.Directives.NoIndex || v.Status() == http.StatusNotFound || v.Status() == http.StatusGone
}

// isHTML reports whether a media type is a type of HTML pages.
func isHTML(mediaType string) bool {
	return mediaType == "text/html" || mediaType == "application/xhtml+xml"
}
