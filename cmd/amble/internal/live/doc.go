// Package live shows a crawl in a browser, while it runs or from its job directory, and accepts the operator's orders: to pause, resume,
// drain, leave a host out, or slow down. No order makes a crawl faster than its job allows.
//
// The page answers four questions: is the crawl polite, when does it end and which site determines that, is it stuck, and what are the
// results? It shows the last seconds of each site with the required pause that follows, the sites in the order in which they determine the
// end, and the URLs that were refused or failed. The server makes the page as HTML every second. A script, where the browser runs it, only
// replaces the old page with the new one.
//
// Reading order: live.go, feed.go (input), recent.go, state.go (output), rows.go, chart.go, words.go; then server.go, guard.go (access),
// stream.go.
package live
