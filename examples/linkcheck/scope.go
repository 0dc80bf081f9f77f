package main

import (
	"github.com/amble-crawler/amble/crawler"
	"github.com/amble-crawler/amble/weburl"
)

// scope is the site, and when external links are checked every other one too. What other sites link
// to stays out all the same: their links are skipped where they are found.
type scope struct {
	site     *crawler.SeedScope
	external bool
}

// Decide implements crawler.Scope.
func (s scope) Decide(u weburl.URL) crawler.Decision {
	d := s.site.Decide(u)
	if !d.In && s.external {
		return crawler.Decision{In: true, Rule: "external links are checked"}
	}
	return d
}
