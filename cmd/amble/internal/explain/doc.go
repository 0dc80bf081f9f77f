// Package explain says why a URL is requested, or not: what robots.txt says about it, what a crawl would do with it, what
// a job did with it, and, for the owner of a site, what a job did there.
//
// Reading order: judgement.go (robots.txt), page.go (the links of a page at hand), links.go (how they are printed),
// explanation.go (all that is known about one URL), story.go (the part that a job knows), recall.go (a job in a
// directory), account.go (for the owner of a site).
package explain
