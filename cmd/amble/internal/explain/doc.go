// Package explain explains why a URL is requested, or not: its robots.txt, the decision of a crawl, the record of a job, and, for the
// owner of a site, all requests of a job there.
//
// Reading order: judgement.go (robots.txt), page.go (the links of a page at hand), links.go (how they are printed), explanation.go (all
// that is known about one URL), story.go (the part that a job knows), recall.go (a job in a directory), account.go (for the owner of a
// site).
package explain
