// Package crawler runs bounded, polite crawls: it claims URLs from a frontier, takes them through
// the politeness gate, fetches them, finds their links and hands the outcome of every URL to a Handler and
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
// Every URL that enters the crawl ends as exactly one [Visit]: fetched, redirected, refused, out of scope,
// deferred or failed, with a stable reason code and the rule that decided. A Handler, the sinks and
// [Crawler.Pages] all see the same visits. Links that the scope rejects never enter the crawl: they are
// listed, with the rule, in the visit of the page that contains them ([Visit.Links]).
//
// # Four ways to use a crawl
//
//   - [Crawler.Run] with Config.Sinks, when the results are files: every visit is written, and nothing
//     needs to be programmed.
//   - [Collect], when the results are values: a loop over what a function makes of pages.
//   - [Crawler.Pages], when a program looks at visits one by one: a loop over visits.
//   - Config.Handler, when many are to be handled at once. [Mux] gives different pages to different
//     Handlers, [Chain] puts middleware around one.
//
// # What a Handler may do
//
// A [Handler] may add URLs with priority and metadata ([Visit.Enqueue]), add results to the visit's record
// ([Visit.Emit]), skip the page's links ([SkipLinks]), end the crawl ([Stop]) or request another attempt
// ([Retry]). All of it is part of the visit's end and counts as a whole or not at all: a Handler that
// fails, panics or is cancelled halfway leaves nothing behind, and one that is called again repeats
// nothing. For effects elsewhere, for example in a database, the Handler itself must ensure the same.
//
// # Stopping
//
// Cancelling Run's context is a hard stop: requests in flight are broken off and their URLs stay queued.
// [Crawler.Drain] stops claiming and lets requests in flight end, and so does leaving a loop over Pages or
// Collect.
//
// # Control
//
// [Crawler.Pause] and [Crawler.Resume] stop and continue claiming, [Crawler.LeaveOut] leaves a host alone from
// then on, [Crawler.Slower] lengthens its pauses. Nothing makes a crawl faster than its Config says.
//
// # Watching
//
// [Trace] has a function for every step of a URL, [SlogTrace] logs them, [Crawler.Progress] returns the
// counts of done and queued URLs at any time, and the [Report] that Run returns sums up the crawl.
//
// # Reading the source
//
// Files call downwards in this order. crawler.go and config.go are what a program sees; run.go makes the
// parts and starts the workers; ending.go says when they stop, control.go what
// an operator changes meanwhile. The life of a URL is in worker.go, answer.go
// and finish.go, and reservation.go holds what it counts until it is final. Each part below can be read
// alone:
//
//   - judging links: links.go finds them, judge.go decides (with scope.go, traps.go, crowds.go, beyond.go, room.go);
//   - duplicates.go: pages with the same content, or nearly;
//   - output.go and record.go: the sinks; commit.go makes them and the frontier durable together;
//   - checkpoint.go: what a resumed crawl must know; rulebook.go, pins.go and conditional.go keep values there;
//   - budgets: budget.go (pages), report.go (counts), retries.go, inflight.go (memory), cuts.go (truncated bodies).
package crawler
