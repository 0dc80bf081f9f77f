package job

import (
	"encoding/json"
	"errors"
	"fmt"

	"github.com/amble-crawler/amble/crawler"
	"github.com/amble-crawler/amble/crawler/cache"
)

// addCache wraps the Fetcher in the cache of the directory Cache. The program's own wrapper (Crawl.AroundFetch) wraps both.
func (c *Config) addCache(x *crawler.Config) error {
	if c.Cache == "" {
		return nil
	}
	bad := func(err error) error { return &KeyError{Key: "cache", Value: fmt.Sprintf("%q", c.Cache), Err: err} }
	withHeader := len(c.Header) > 0
	for _, h := range c.Crawl.Hosts {
		withHeader = withHeader || len(h.Header) > 0
	}
	switch {
	case c.Archive:
		return bad(errors.New("an archive has what went over the wire, and for a cached page nothing does: leave out one of cache and format"))
	case x.Fetch.Cookies || x.Fetch.Jar != nil || withHeader || x.Fetch.Headers != nil || x.Fetch.Request != nil:
		return bad(errors.New("pages that a site shows to one account must not be shown to another: leave out the cookies and header fields, or the cache"))
	}
	f := &x.Fetch
	variant, err := json.Marshal([]any{x.Agent, f.Accept, f.AcceptLanguage, f.Header}) // json.Marshal sorts the names of header fields
	if err != nil {
		return bad(err)
	}
	pages, err := cache.Open(cache.Config{Dir: c.Cache, Variant: string(variant), MaxBody: int64(f.MaxBody), Problem: func(err error) {
		if c.Note != nil {
			c.Note(err.Error())
		}
	}})
	if err != nil {
		return bad(err)
	}
	outer := x.AroundFetch
	x.AroundFetch = func(f crawler.Fetcher) crawler.Fetcher {
		if f = pages.Around(f); outer != nil {
			f = outer(f)
		}
		return f
	}
	return nil
}
