// Package crawler runs bounded, polite crawls: it claims URLs from a frontier, takes them through
// the politeness gate, fetches them, finds their links and hands the outcome of every URL to a [Handler] and
// to the sinks.
//
// The smallest crawl is
//
//	c, err := crawler.New(crawler.Config{Contact: "https://lab.university.edu/crawl"})
//	report, err := c.Run(ctx, "https://site.to.crawl/")
//
// It stays on the seed's host, reads robots.txt first, sends one request at a time with a second
// between them, follows links five deep and stops at 1,000 pages. Each of these is a field of
// [Config]; no field turns robots.txt off. Every URL that enters the crawl ends as exactly one [Visit].
//
// There are four ways to use a crawl: [Crawler.Run] with Config.Sinks writes every visit to files; [Collect]
// is a loop over values that a function makes of pages; [Crawler.Pages] is a loop over visits; and
// Config.Handler handles many visits at once, with [Mux] and [Chain].
package crawler
