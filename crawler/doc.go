// Package crawler runs bounded, polite crawls: it claims URLs from a frontier, takes them through
// the politeness gate, fetches them, finds their links and hands every URL's fate to a Handler and
// to the sinks.
//
// The smallest crawl is
//
//	c, err := crawler.New(crawler.Config{Contact: "https://lab.university.edu/crawl"})
//	report, err := c.Run(ctx, "https://site.to.crawl/")
//
// It stays on the seed's host, reads robots.txt first, sends one request at a time with a second
// between them, follows links five deep and stops at 1,000 pages. Every one of these is a field of
// [Config]; none of them, and no other, turns robots.txt off.
//
// # Visits
//
// Every URL that enters the crawl ends as exactly one [Visit]: fetched, redirected, refused, out of
// scope, deferred or failed, with a stable reason code and the rule that decided. A Handler, the
// sinks and [Crawler.Pages] all see the same visits. Links that scope turns away never enter the
// crawl: they are listed, with the rule, on the visit of the page that has them ([Visit.Links]).
//
// # Stopping
//
// Cancelling Run's context is a hard stop: requests in flight are broken off and their URLs stay
// queued. [Crawler.Drain] stops claiming and lets what is in flight end.
package crawler
