// Package explain explains why a crawl requests a URL, or does not: by the URL's robots.txt, the decision of the crawl, and the record of a
// job. For the owner of a site, it lists all requests that a job made there.
//
// Reading order: judgement.go (robots.txt), page.go (the links of a page that is at hand), links.go (the output of links), explanation.go
// (everything known about one URL), story.go (what a job knows of it), recall.go (a job in a directory), account.go (for a site's owner).
package explain
