package main

import (
	"github.com/amble-crawler/amble/crawler"
	"github.com/amble-crawler/amble/weburl"
)

// scope is the site and, if external links are checked, every other site. The links of other sites remain out of
// scope: they are skipped where they are found.
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
